// SPDX-License-Identifier: Apache-2.0
// Stripe for tests. What signs webhooks is Stripe's own npm package, in $STRIPE_ROOT. The server that makes pages to pay is a
// stand-in, made from the contract that Stripe publishes, and the events have the members of that contract.
//     sign TIME SECRET… <BODY    prints the header Stripe-Signature
//     server                     POST /v1/checkout/sessions on a free port, where 888.00 waits until 889.00 is asked for; each request is a line of stdout
//     orders                     four events of a payment in all orders, each sent twice
//     refunds PAYMENT COUNT      that many refunds of a payment, each sent twice
//     sequences COUNT SEED       random payments, each event until the market takes it, though the market ends now and then
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [verb, ...words] = process.argv.slice(2);
const say = text => process.stdout.write(text + '\n');
let Stripe;
if (process.env.STRIPE_ROOT) {
	const require = createRequire(process.env.STRIPE_ROOT + '/package.json');
	const loaded = await import(pathToFileURL(require.resolve('stripe')));
	Stripe = loaded.Stripe ?? loaded.default;
}

function header(payload, secrets, timestamp) {
	const all = secrets.map(secret => new Stripe('sk_test_none').webhooks.generateTestHeaderString({ payload, secret, timestamp }));
	return [all[0], ...all.slice(1).map(h => h.split(',').find(p => p.startsWith('v1=')))].join(',');
}

/* ---- The stand-in ---- */

function serve() {
	const made = new Map(), held = [];
	const server = createServer((q, r) => {
		let body = '';
		q.on('data', d => { body += d; });
		q.on('end', () => {
			const key = q.headers['idempotency-key'], form = Object.fromEntries(new URLSearchParams(body));
			const answer = (status, o) => { r.writeHead(status, { 'content-type': 'application/json' }); r.end(JSON.stringify(o)); };
			const refuse = (status, message) => answer(status, { error: { type: 'invalid_request_error', message } });
			say(JSON.stringify({ key, version: q.headers['stripe-version'], form }));
			if (q.method !== 'POST' || q.url !== '/v1/checkout/sessions')
				return refuse(404, 'Unrecognized request URL');
			if (q.headers.authorization !== 'Bearer sk_test_market')
				return refuse(401, 'Invalid API Key provided');
			if (q.headers['content-type'] !== 'application/x-www-form-urlencoded' || form.mode !== 'payment' ||
				!form.success_url || form['line_items[0][price_data][currency]'] !== 'usd' ||
				!(Number(form['line_items[0][price_data][unit_amount]']) >= 50) ||
				!form['line_items[0][price_data][product_data][name]'] || form['line_items[0][quantity]'] !== '1')
				return refuse(400, 'Missing required param');
			if ('adaptive_pricing[enabled]' in form && !(q.headers['stripe-version'] >= '2024-11-20'))
				return refuse(400, 'Received unknown parameter: adaptive_pricing');
			if (form['line_items[0][price_data][unit_amount]'] === '66600')
				return refuse(400, 'This \u001b[31mamount is not liked');
			if (form['line_items[0][price_data][unit_amount]'] === '77700')
				return answer(500, { error: { type: 'api_error', message: 'down' } });
			if (form['line_items[0][price_data][unit_amount]'] === '88800' && !held.open)
				return held.push(() => refuse(400, 'let go'));
			if (form['line_items[0][price_data][unit_amount]'] === '88900') {
				held.open = true;
				held.forEach(f => f());
			}
			if (made.has(key) && made.get(key).body !== body)
				return refuse(400, 'Keys for idempotent requests can only be used with the same parameters');
			if (!made.has(key))
				made.set(key, { body, id: 'cs_test_' + (made.size + 1) });
			const id = made.get(key).id;
			answer(200, { id, object: 'checkout.session', url: 'https://checkout.stripe.example/c/pay/' + id, expires_at: 1800086400,
				amount_total: Number(form['line_items[0][price_data][unit_amount]']), currency: 'usd', payment_status: 'unpaid' });
		});
	});
	server.listen(0, '127.0.0.1', () => say('ready http://127.0.0.1:' + server.address().port));
}

/* ---- Events ---- */

let events = 0;
const event = (type, object) => ({ id: 'evt_' + (++events), object: 'event', api_version: '2024-06-20', type, created: 1800000000,
	livemode: false, data: { object } });
const ours = account => ({ nanopod_market: process.env.MARKET_ID, ...(account && { nanopod_account: account }) });
const paid = (n, cents, account) => event('checkout.session.completed', { id: 'cs_' + n, object: 'checkout.session', mode: 'payment',
	payment_status: 'paid', amount_total: cents, currency: 'usd', payment_intent: 'pi_' + n,
	metadata: ours(account) });
const refunded = (n, cents, account) => event('charge.refunded', { id: 'ch_' + n, object: 'charge', payment_intent: 'pi_' + n,
	amount_refunded: cents, currency: 'usd', metadata: ours(account) });
const dispute = (n, cents, type, status) => event('charge.dispute.' + type, { id: 'dp_' + n, object: 'dispute', charge: 'ch_' + n,
	payment_intent: 'pi_' + n, amount: cents, currency: 'usd', status });

/* Until it is taken: the market may be on its way back, on another port. */
async function send(e) {
	const body = JSON.stringify(e);
	for (let tries = 0; tries < 3000; tries++) {
		try {
			const r = await fetch(readFileSync(process.env.URL_FILE, 'utf8').trim() + '/np/v1/stripe', { method: 'POST', body,
				signal: AbortSignal.timeout(10000), // a market that was killed may leave a request without an end
				headers: { 'stripe-signature': header(body, ['whsec_one'], Number(process.env.STRIPE_NOW)) } });
			await r.arrayBuffer();
			if (r.status === 204)
				return;
			if (r.status < 500 && r.status !== 429)
				throw new Error('status ' + r.status + ' for ' + body);
		} catch (why) {
			if (String(why.message).startsWith('status'))
				throw why;
		}
		await new Promise(done => setTimeout(done, 20));
	}
	throw new Error('never taken: ' + body);
}

function permutations(list) {
	return list.length < 2 ? [list] : list.flatMap((x, i) => permutations(list.toSpliced(i, 1)).map(rest => [x, ...rest]));
}

/* 50.00 paid, 12.34 refunded, 20.00 disputed and won: 37.66 a payment. */
async function orders(account) {
	let n = 0;
	for (const order of permutations([0, 1, 2, 3])) {
		const four = [paid(++n, 5000, account), refunded(n, 1234, account), dispute(n, 2000, 'created', 'needs_response'),
			dispute(n, 2000, 'closed', 'won')];
		for (const i of order) {
			await send(four[i]);
			await send(four[i]);
		}
	}
	say(String(n));
}

/* ---- Random sequences ---- */

function random(seed) {
	let x = BigInt(seed) * 2862933555777941757n + 3037000493n & 0xffffffffffffffffn;
	return below => {
		x ^= x << 13n & 0xffffffffffffffffn;
		x ^= x >> 7n;
		x ^= x << 17n & 0xffffffffffffffffn;
		return Number(x >> 11n) % below;
	};
}

/* What Stripe took of a payment in the end, in cents. */
function sequence(n, below, account) {
	const cents = 50 + below(200000), list = [paid(n, cents, account)];
	let left = cents, refund = 0;
	if (below(4) === 0)
		list.push({ ...paid(n, cents, account), type: 'checkout.session.async_payment_succeeded' });
	for (let i = below(3); i > 0; i--) {
		refund += below(cents - refund + 1);
		if (refund)
			list.push(refunded(n, refund, below(2) ? account : undefined));
	}
	left -= refund;
	if (left && below(3) === 0) {
		const part = 1 + below(left), end = ['open', 'won', 'lost', 'warning_closed'][below(4)];
		list.push(dispute(n, part, 'created', end === 'warning_closed' ? 'warning_needs_response' : 'needs_response'));
		list.push(dispute(n, part, 'updated', end === 'warning_closed' ? 'warning_under_review' : 'under_review'));
		if (end !== 'open')
			list.push(dispute(n, part, 'closed', end));
		left -= end === 'open' || end === 'lost' ? part : 0;
	}
	for (let i = list.length - 1; i > 0; i--) {
		const k = below(i + 1);
		[list[i], list[k]] = [list[k], list[i]];
	}
	for (let i = below(3); i > 0; i--)
		list.push(list[below(list.length)]);
	return { list, left };
}

async function sequences(count, seed, accounts) {
	const below = random(seed), sums = Object.fromEntries(accounts.map(a => [a, 0]));
	let next = 0;
	const work = async () => {
		while (next < count) {
			const n = 'seq' + next++, account = accounts[below(accounts.length)], { list, left } = sequence(n, below, account);
			sums[account] += left;
			for (const e of list)
				await send(e);
		}
	};
	const alive = setInterval(() => {}, 1000); // such requests and their timeouts keep no process
	await Promise.all(Array.from({ length: 8 }, work));
	clearInterval(alive);
	for (const a of accounts)
		say(a + ' ' + (sums[a] / 100).toFixed(2));
}

/* 0.50 each, in an order of their own, each sent twice; Stripe's metadata is not in them. */
async function refunds(n, count) {
	const below = random(count), list = [];
	for (let i = 1; i <= count; i++)
		list.splice(below(list.length + 1), 0, { ...event('refund.created', { id: 're_' + n + i, object: 'refund', charge: 'ch_' + n,
			payment_intent: 'pi_' + n, amount: 50, currency: 'usd', status: 'succeeded' }), api_version: '2025-03-31.basil' });
	for (const e of [...list, ...list])
		await send(e);
	say(String(list.length));
}

if (verb === 'sign')
	say(header(readFileSync(0, 'utf8'), words.slice(1), Number(words[0])));
else if (verb === 'server')
	serve();
else if (verb === 'orders')
	await orders(words[0]);
else if (verb === 'refunds')
	await refunds(words[0], Number(words[1]));
else
	await sequences(Number(words[0]), Number(words[1]), words.slice(2));
