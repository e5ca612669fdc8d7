// SPDX-License-Identifier: Apache-2.0
// The view of a customer's money: balance, what was spent, orders that wait, tokens.
'use strict';

{
// The words of 'nanopod statement'.
const KINDS = { credit: 'Credits', debit: 'Taken back', refund: 'Refunds', earning: 'Earned by selling',
	usage: 'Node time', forfeit: 'Released, not refunded', fee: 'Fees',
	granted: 'Paid by grants', plan: 'Plan', included: 'Included in the plan', plan_sold: 'Plans sold',
	sponsored: 'Paid for others', payout: 'Paid out' };
const DAYS = 30;

function cancel(o) {
	action({ title: ['Cancel the order ', name(o.id)], go: 'Cancel the order', danger: true, fields: [],
		typed: () => 'nanopod cancel ' + word(o.id),
		plan: async () => ({ rows: [['order',
			`${o.side} ${count(o.allocation_schedule_delta[0].node_count, 'node')}`],
			['then', 'it leaves the book; what it already traded stays']] }),
		act: async () => {
			await ask('DELETE', '/v2/orders/' + o.id);
			return 'The order is cancelled.';
		} });
}

function revoke(t) {
	const own = t.id === me.who.token.id;

	action({ title: ['Revoke the token ', name(t.name || t.id)], go: 'Revoke', danger: true, fields: [],
		typed: () => 'nanopod token revoke ' + word(t.id),
		plan: async () => ({ rows: [['token', t.id], ['then', own ? 'you are signed out here' :
			'whoever has it is refused from now on, and browsers that it signed in are signed out']] }),
		act: async () => {
			await ask('DELETE', '/np/v1/tokens/' + t.id);
			return 'The token is revoked.';
		} });
}

// What the amount of a top-up is in dollars with cents; throws where it is none.
function topupAmount(text) {
	if (!/^\d{1,6}(\.\d{1,2})?$/.test(text) || Number(text) < 0.5)
		throw new Error('give dollars and cents, from 0.50 to 999999.99');
	return Number(text).toFixed(2);
}

// The payment service's own page; its answer goes to the market, not to this page.
function topup() {
	action({ title: 'Add money', go: 'Pay', fields: [{ name: 'amount', label: 'Dollars', value: '50' }],
		typed: (v) => 'nanopod topup ' + word(v.amount),
		plan: async (v) => ({ rows: [['amount', cash(topupAmount(v.amount))],
			['then', 'you pay on the page of the payment service, which then tells the market']] }),
		act: async (v, key) => {
			const t = await ask('POST', '/np/v1/topups', { amount_dollars: topupAmount(v.amount),
				return_url: location.origin + '/' }, key);

			if (!/^https?:\/\//.test(t.url))
				throw new Error('the market names no page to pay');
			location.assign(t.url);
			return 'The page of the payment service opens.';
		} });
}

// What was paid and taken in, by kind; the market counts days in UTC.
function sums(rows) {
	const found = new Map();

	for (const r of rows)
		found.set(r.kind, (found.get(r.kind) || 0) + r.amount_micros);
	return [...found].filter(([, micros]) => micros).sort((a, b) => a[1] - b[1]);
}

function kindOf(kind) {
	return Object.hasOwn(KINDS, kind) ? KINDS[kind] : plain(kind);
}

async function read(root) {
	const now = Math.floor(Date.now() / 1000), today = now - now % 86400, tokens = may('tokens', me.who);
	const [b, market, report, orders, keys] = await Promise.all([ask('GET', '/np/v1/balance'),
		ask('GET', '/np/v1'),
		ask('GET', `/np/v1/report?from=${today - (DAYS - 1) * 86400}&to=${today + 86400}`),
		ask('GET', '/v2/orders?limit=30&sort_by=-created_at&np_fills=false'),
		tokens ? ask('GET', '/np/v1/tokens?limit=100') : null]);
	const proven = market.personhood ? await ask('GET', '/np/v1/personhood') : null;

	if (proven)
		await loadView('personhood');
	const burn = Number(b.burn_dollars_per_hour), open = ['pending', 'standing', 'partially_filled'];
	const lasts = burn ? `; that is enough for ${span(Number(b.available_dollars) / burn * 3600)}` : '';

	replaceAll(root, make('p', { class: 'sum' },
		`${cash(b.available_dollars)} available, ${dollars(burn)} per hour${lasts}.`),
		make('dl', { class: 'plan' }, ...[['available', cash(b.available_dollars)], ['held for orders',
			cash(b.held_dollars)],
			['paid ahead for nodes', cash(b.escrow_dollars)]].flatMap(([k, v]) => [make('dt', {}, k),
				make('dd', { class: 'n' }, v)])),
		...(market.topups ? [make('p', {}, button('Add money …', topup))] : []),
		part(`In ${DAYS} days`, sums(report.data).length ? tableOf([['What'], ['Amount', 'n']],
			sums(report.data).map(([kind, n]) =>
			[kindOf(kind), micros(n)])) : make('p', { class: 'quiet' }, 'Nothing was paid.'),
		make('p', { class: 'quiet' }, 'By day and reservation: ', make('code', {}, 'nanopod report'))),
		part('Orders', orders.data.length ? tableOf([['Placed', 'wide'], ['Order'], ['Reservation'], ['Nodes',
			'n'], ['Limit', 'n wide'], ['Status'], [make('span', { class: 'unseen' }, 'Do'), 'acts']],
			orders.data.map((o) => [when(o.created_at, now), [o.side + ' ',
				name(o.instance_sku?.alias || '')], name(o.pool?.name || ''),
				String(o.allocation_schedule_delta[0]?.node_count ?? ''),
					dollars(o.limit_price_dollars_per_node_hour),
				o.status.replace('_', ' '), open.includes(o.status) && may('trade', me.who) ?
					button('Cancel …', () => cancel(o), { 'data-of': o.id }) : ''])) : make('p',
						{ class: 'quiet' }, 'No orders.')),
		...(keys ? [part('Tokens', tableOf([['Name'], ['Scopes', 'wide'], ['Made', 'wide'], ['Ends'],
			[make('span', { class: 'unseen' }, 'Do'), 'acts']], keys.data.map((t) =>
			[name(t.name || t.id), t.scopes.join(', '), when(t.created_at, now), t.expires_at ?
				when(t.expires_at, now) : 'never',
				button('Revoke …', () => revoke(t), { 'data-of': t.id })])),
		make('p', { class: 'quiet' }, 'A new one is shown once, so it is made where it is used: ', make('code',
			{}, 'nanopod token create NAME')))] : []),
		...(proven ? [views.personhood.draw(proven, now)] : []));
}

if (typeof module !== 'undefined')
	module.exports = { sums, kindOf, topupAmount };
else
	views.money = { read };
}
