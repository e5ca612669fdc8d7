// SPDX-License-Identifier: Apache-2.0
// The view of who runs the market, with a token of scope admin: the market in numbers, who is away, accounts; and of
// one
// account what is wrong there and why its orders failed. It changes nothing: money and accounts are for the command.
'use strict';

{
const PAGE = 50, ORDERS = 20;
const OPEN = ['pending', 'standing', 'partially_filled'];
// As the refusals of the market say it, in few words.
const REASONS = { no_capacity: 'not so many nodes are on sale in that time', price_too_low:
	'what is on sale costs more than the limit',
	hosts_sold: 'the same machines are not for sale in that time', not_owned:
		'the reservation does not own that much',
	insufficient_funds: 'the balance does not cover it', over_max_total:
		'it would cost more than the maximum total', over_cap:
		'it costs more than may be spent in this month',
	limit_reached: 'it exceeds a limit of the market', no_buyer: 'nobody buys it at that price', expired:
		'its time is over',
	no_room: 'the machine no longer holds what it has on sale', suspended: 'the account is suspended' };
let list = null;

function reasonOf(o) {
	const code = o.np_reason;

	if (code)
		return Object.hasOwn(REASONS, code) ? REASONS[code] : plain(code).replaceAll('_', ' ');
	if (OPEN.includes(o.status))
		return 'nobody has traded all of it yet';
	return o.status === 'cancelled' ? 'withdrawn' : '';
}

// A share of time; null: there was none to sell.
function shareOf(span) {
	const all = span.sold_seconds + span.on_sale_seconds;

	return all ? span.sold_seconds / all : null;
}

// Rounded down: 100 % is all of it.
function shareText(share) {
	return share === null ? '–' : Math.floor(share * 100 + 1e-9) + ' %';
}

if (typeof module !== 'undefined')
	module.exports = { reasonOf, shareOf, shareText };

const sentence = (text) => text[0].toUpperCase() + text.slice(1) + '.';
const hours = (seconds) => (seconds / 3600).toFixed(seconds < 360000 ? 1 : 0) + ' node-hours';

function numbers(rows) {
	return make('dl', { class: 'plan' }, ...rows.flatMap(([k, v]) =>
		[make('dt', {}, k), make('dd', { class: 'n' }, v)]));
}

function quiet(text, code) {
	return make('p', { class: 'quiet' }, text, code ? make('code', {}, code) : '');
}

function periodRows(p) {
	return p ? [['turnover', cash(p.turnover_dollars)], ['fees earned', cash(p.fees_dollars)],
		['credited', cash(p.credited_dollars)], ['node time', hours(p.node_seconds)]] :
		[['not counted yet', 'in a moment']];
}

function bar(share) {
	const form = { x: 0, y: 0, height: 8, rx: 1 };
	const svg = draw('svg', { class: 'share', viewBox: '0 0 64 8', width: 64, height: 8, 'aria-hidden': 'true' },
		draw('rect', { class: 'all', width: 64, ...form }));

	if (share)
		svg.append(draw('rect', { class: 'bar', width: Math.max(1, share * 64), ...form }));
	return svg;
}

function typesPart(o) {
	const heads = [['Type'], ['Hosts up', 'n'], ['Sold now', 'n'], ['On sale', 'n wide'], ['Sold, next day', 'n'],
		['Sold, next week', 'n wide'], [make('span', { class: 'unseen' }, 'Next week'), 'wide']];

	return part('Types', o.types.length ? tableOf(heads, o.types.map((t) => [name(t.type || t.instance_sku),
		`${t.hosts_up} of ${t.hosts}`, String(t.sold), String(t.on_sale), shareText(shareOf(t.day)),
		shareText(shareOf(t.week)), bar(shareOf(t.week))])) :
		quiet('No types of nodes yet: ', 'nanopod admin sku add'));
}

function awayPart(o) {
	const heads = [['What'], ['Account'], ['Since', 'wide'], ['Nodes', 'n'], ['Sold', 'n'], ['Why', 'wide']];

	return part('Away', o.away.length ? tableOf(heads, o.away.map((x) => [
		[x.kind === 'machine' ? 'silent machine: ' : 'host down: ', name(x.name || x.id)],
		name(x.account_name || x.account), x.since ? when(x.since, o.now) : 'not known', String(x.hosts),
		String(x.sold), name(x.reason || '')])) : quiet('No machine is silent, and no host is down.'),
	o.away_total > o.away.length ? quiet(`${o.away_total - o.away.length} more: `, 'nanopod admin overview') : '');
}

function accountsPart(accounts) {
	const heads = [['Name'], ['State'], ['Available', 'n'], ['Held', 'n wide'], ['Paid ahead', 'n wide'],
		[make('span', { class: 'unseen' }, 'Do'), 'acts']];
	const more = button('Show more accounts', () => {
		list.most += PAGE;
		refresh();
	}, { 'data-of': 'more' });

	return part('Accounts', tableOf(heads, accounts.data.map((a) => [name(a.name), a.state,
		cash(a.balances.available_dollars), cash(a.balances.held_dollars), cash(a.balances.escrow_dollars),
		button('Look into it', () => look(a), { 'data-of': a.id })])), accounts.has_more ? more : '');
}

// ---- One account: what is wrong, and why its orders failed ----------------------------------------

function orderLine(o, now) {
	const d = o.allocation_schedule_delta[0] || {}, gpus = typeBy(o.instance_sku?.id)?.gpus, why = reasonOf(o);

	return make('li', {}, make('p', {}, o.side + ' ', name(o.instance_sku?.alias || ''),
		` × ${d.node_count ?? '–'} for `, name(o.pool?.name || '–'),
		`, ${when(d.start_at ?? 0, 0)} to ${when(d.end_at ?? 0, 0)}, limit `,
		perHour(o.limit_price_dollars_per_node_hour, gpus)),
	make('p', {}, make('b', {}, o.status.replaceAll('_', ' ')), why ? `: ${why}` : '',
		make('span', { class: 'quiet' }, `, placed ${when(o.created_at, now)}`)));
}

function alertLine(a) {
	return make('li', { 'data-is': a.severity }, make('p', {}, make('b', {}, a.severity), ` ${a.subject.kind} `,
		name(a.subject.name || a.subject.id), ': ', name(a.text)));
}

function alertPart(found) {
	const { list: all, unjudged } = alertsOf(found, ['account', 'reservation', 'machine', 'host', 'node']);
	const but = unjudged ? `${unjudged} of its machines and nodes cannot be judged.` : '';

	return part('Alerts', all.length ? make('div', { class: 'alerts' },
		make('ul', {}, ...all.slice(0, ALERTS_SHOWN).map(alertLine))) : '', all.length ? quiet(but) :
		quiet(but ? 'None, but ' + but : 'None.'));
}

async function readAccount(a) {
	const path = `/v2/orders?limit=${ORDERS}&sort_by=-created_at&account=${encodeURIComponent(a.id)}`;
	const [orders, found] = await Promise.all([ask('GET', path), readAlerts(a.id)]), now = Date.now() / 1000;

	return [numbers([['state', a.state], ['available', cash(a.balances.available_dollars)],
		['held for orders', cash(a.balances.held_dollars)],
		['paid ahead for nodes', cash(a.balances.escrow_dollars)]]), alertPart(found),
	part('Its last orders', orders.data.length ? make('ul', { class: 'orders' }, ...orders.data.map((o) =>
		orderLine(o, now))) : quiet('No orders.'))];
}

async function look(a) {
	const dialog = by('deed'), body = make('div', {}, quiet('Reading …')), lines = typed('deed-typed');

	putTyped(lines.code, ['orders --all', 'alerts', 'events'].map((what) =>
		`nanopod ${what} --account ${word(a.name)}`).join('\n'));
	dialog.replaceChildren(make('h2', { id: 'deed-title' }, 'Account ', name(a.name)), body,
		make('h3', {}, 'Type this instead'), lines.box,
		make('div', { class: 'buttons' }, button('Close', () => dialog.close())));
	dialog.classList.add('broad');
	dialog.addEventListener('close', () => dialog.classList.remove('broad'), { once: true });
	dialog.showModal();
	try {
		body.replaceChildren(...await readAccount(a));
	} catch (e) {
		body.replaceChildren(make('p', { class: 'trouble' }, sentence(e.message)));
	}
}

// Many accounts are more than a list can show; one is found by its name or id.
function finder() {
	const input = make('input', { id: 'find', type: 'search', autocomplete: 'off', spellcheck: 'false' });
	const why = make('p', { class: 'wrong', role: 'alert' }), find = async () => {
		put(why, '');
		try {
			look(await ask('GET', '/np/v1/accounts/' + encodeURIComponent(input.value.trim())));
		} catch (e) {
			put(why, sentence(e.message));
		}
	};

	input.addEventListener('keydown', (e) => e.key === 'Enter' && input.value.trim() && find());
	return make('section', { class: 'part' }, make('p', { class: 'find' },
		make('label', { for: 'find' }, 'Account, by name or id'), input,
		button('Look into it', () => input.value.trim() && find())), why);
}

// ---- The market -----------------------------------------------------------------------------------

async function readAccounts(most) {
	const all = { data: [], has_more: false };

	for (let after = ''; ;) {
		const got = await ask('GET', `/np/v1/accounts?limit=${PAGE}${after}`);

		all.data.push(...got.data);
		all.has_more = got.has_more;
		if (!got.has_more || all.data.length >= most)
			return all;
		after = '&starting_after=' + got.cursor;
	}
}

function numberParts(o) {
	const { nodes, machines, hosts, orders, money } = o, late = nodes.longest_start_seconds;

	return [part('Today, UTC', numbers(periodRows(o.today))), part('This month, UTC', numbers(periodRows(o.month))),
		part('Money of all accounts', numbers([['available', cash(money.available_dollars)],
			['held for orders', cash(money.held_dollars)], ['paid ahead', cash(money.escrow_dollars)]])),
		part('Now', numbers([
			['nodes', `${nodes.running} running, ${nodes.starting} starting, ${nodes.pending} pending`],
			['slowest start', late ? span(late) + ' overdue' : 'none overdue'],
			['machines', `${machines.up} up, ${machines.silent} silent, ${machines.joined} not heard yet`],
			['hosts', `${hosts.up} up (${hosts.draining} draining), ${hosts.down} down`],
			['open orders', `${orders.buy} to buy, ${orders.sell} to sell`]]))];
}

async function read(root) {
	const most = list?.root === root ? list.most : PAGE;
	const [o, accounts] = await Promise.all([ask('GET', '/np/v1/overview'), readAccounts(most)]);
	const sold = o.types.reduce((n, t) => n + t.sold, 0), all = o.hosts.up + o.hosts.down;

	if (list?.root !== root) {
		list = { root, most, beat: 0, body: make('div') };
		root.replaceChildren(list.body, finder());
	}
	replaceAll(list.body, make('p', { class: 'sum' },
		`${count(o.accounts.total, 'account')}, ${o.accounts.buying} buying; ` +
		`${sold} of ${count(all, 'host')} sold now (${shareText(all ? sold / all : null)}), for ` +
		`${dollars(o.money.running_per_hour_dollars)} per hour.`),
	make('div', { class: 'columns' }, ...numberParts(o)),
	typesPart(o), awayPart(o), accountsPart(accounts), make('p', { class: 'quiet part' },
		'This page changes nothing here. Money, accounts and types: ', make('code', {}, 'nanopod admin'),
		'; alerts of everybody: ', make('code', {}, 'nanopod alerts'), ' on the socket of the market.'));
}

// Others' events do not come to the operator's page: it reads again each half minute.
function samples() {
	if (list && ++list.beat % 3 === 0)
		refresh();
}

if (typeof module === 'undefined')
	views.market = { read, samples };
}
