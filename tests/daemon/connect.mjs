// SPDX-License-Identifier: Apache-2.0
// Stripe Connect for tests: a stand-in, made from the contract that Stripe publishes. What goes wrong is in the file $MODE:
//     down    nothing is done, and the line is cut       cut     it is done, and the line is cut
//     hang    it is done, and no answer comes            slow    the answer comes once the file says something else
//     409, 429, 500, 401   nothing is done               poor, unready   refused for good
//     forget               well, but all keys are forgotten, as Stripe does after a day
// A GET is never refused, but in the modes down and 401. Each request is a line of stdout.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';

const say = text => process.stdout.write(text + '\n');
const mode = () => readFileSync(process.env.MODE, 'utf8').trim();
const made = new Map(), transfers = [], accounts = [];

function refusal(word) {
	const error = (status, type, code, message) => [status, { error: { type, code, message } }];
	return { 409: error(409, 'idempotency_error', 'idempotency_key_in_use', 'Another request with this key is under way.'),
		429: error(429, 'invalid_request_error', 'rate_limit', 'Too many requests.'),
		500: error(500, 'api_error', undefined, 'Something went wrong.'),
		401: error(401, 'invalid_request_error', undefined, 'Invalid API Key provided.'),
		poor: error(400, 'invalid_request_error', 'balance_insufficient', 'You have insufficient available funds.'),
		unready: error(400, 'invalid_request_error', 'insufficient_capabilities_for_transfer',
			'Your destination account needs to have the capability transfers enabled.') }[word];
}

function act(path, form) {
	const meta = Object.fromEntries(Object.entries(form).filter(([k]) => k.startsWith('metadata[')).map(([k, v]) => [k.slice(9, -1), v]));
	if (path === '/v1/accounts') {
		if (form.type !== 'express' || form['capabilities[transfers][requested]'] !== 'true')
			return [400, { error: { type: 'invalid_request_error', message: 'Missing required param' } }];
		accounts.push({ id: 'acct_' + (accounts.length + 1), object: 'account', metadata: meta });
		return [200, accounts.at(-1)];
	}
	if (path === '/v1/account_links')
		return accounts.some(a => a.id === form.account) && form.type === 'account_onboarding' && form.refresh_url && form.return_url
			? [200, { object: 'account_link', url: 'https://connect.stripe.example/setup/' + form.account, expires_at: 1800000300 }]
			: [400, { error: { type: 'invalid_request_error', message: 'No such account' } }];
	if (path !== '/v1/transfers' || form.currency !== 'usd' || !/^[1-9][0-9]*$/.test(form.amount) ||
		!accounts.some(a => a.id === form.destination))
		return [400, { error: { type: 'invalid_request_error', message: 'No such destination' } }];
	transfers.push({ id: 'tr_' + (transfers.length + 1), object: 'transfer', amount: Number(form.amount), amount_reversed: 0, currency: 'usd',
		destination: form.destination, transfer_group: form.transfer_group, metadata: meta });
	return [200, transfers.at(-1)];
}

createServer((q, r) => {
	let body = '';
	q.on('data', d => { body += d; });
	q.on('end', () => {
		const url = new URL(q.url, 'http://x'), key = q.headers['idempotency-key'], form = Object.fromEntries(new URLSearchParams(body));
		const word = mode(), send = ([status, o]) => { r.writeHead(status, { 'content-type': 'application/json' }); r.end(JSON.stringify(o)); };
		say(JSON.stringify({ method: q.method, path: url.pathname, key, mode: word, form }));
		if (word === 'down')
			return q.socket.destroy();
		if (word === 'forget')
			made.clear();
		if (word === '401' || q.headers.authorization !== 'Bearer sk_test_market')
			return send(refusal('401'));
		if (q.method === 'GET')
			return send([200, { object: 'list', has_more: false,
				data: transfers.filter(t => t.transfer_group === url.searchParams.get('transfer_group')) }]);
		if (refusal(word))
			return send(refusal(word));
		if (made.has(key) && made.get(key).body !== body)
			return send([400, { error: { type: 'idempotency_error', message: 'Keys can only be used with the same parameters' } }]);
		if (!made.has(key))
			made.set(key, { body, answer: act(url.pathname, form) });
		if (word === 'cut')
			return q.socket.destroy();
		if (word === 'slow') {
			const wait = setInterval(() => { if (mode() !== 'slow') { clearInterval(wait); send(made.get(key).answer); } }, 50);
			return;
		}
		if (word !== 'hang')
			send(made.get(key).answer);
	});
}).listen(0, '127.0.0.1', function ready() { say('ready http://127.0.0.1:' + this.address().port); });
