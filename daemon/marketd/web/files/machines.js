// SPDX-License-Identifier: Apache-2.0
// The view of who rents machines out: sites, their machines, the nodes that these are sold as, their GPUs. What is sold
// and what is used are two things: a cell says the one, a curve the other. What nobody measures is told as not known.
'use strict';

{
const PAGE = 24, SAMPLES = 12, HOSTS = 60, HOST_PAGES = 16, REPORT_PAGES = 5; // rows of an answer, answers
const BRIEFS = 400; // machines come with their nodes: of so many an answer has less than 100 kB
const DAYS = 30, SPANS_MOST = 8, OLD = 60, HOT = 87;
const CELL = 13, ACROSS = 64; // of the strip of nodes: pixels, cells in a row
const EVERY = 3, EARNED_EVERY = 300000; // samples: in beats of the stream; what was earned: in ms
const cards = new Map();
let list = null, offset = 0, beat = 0, shownMost = PAGE, earned = null;

const nowAt = () => Math.floor(Date.now() / 1000) + offset;
const firstMinute = () => Math.floor((nowAt() + 3) / 60) * 60 + 60;
// As the command takes it, whatever zone it is typed in.
const iso = (at) => new Date(at * 1000).toISOString().slice(0, 16) + 'Z';

// ---- Texts ----------------------------------------------------------------------------------------

// What is sold of a node now: a word of `nanopod host list`, or what its time is.
function saleOf(h, now) {
	const piece = h.schedule.find((p) => p.start_at <= now && (!p.end_at || now < p.end_at));

	if (h.state !== 'up')
		return h.state;
	if (piece?.state === 'sold')
		return 'sold';
	return h.drain && h.drain.from <= now ? 'drained' : piece?.state === 'on_sale' ? 'on sale' : 'not offered';
}

function soldUntil(h) {
	return h.schedule.reduce((most, p) => p.state === 'sold' && p.end_at > most ? p.end_at : most, 0);
}

// Time whose price can be set, in whole pieces: [{ start, end (0: none), orders }…]. What is on sale, for no longer
// than it
// is; else what is not offered. What a drain took back is not for sale.
function unsold(h, earliest) {
	const spans = [], state = h.schedule.some((p) => p.state === 'on_sale') ? 'on_sale' : 'idle';

	for (const p of h.schedule) {
		const start = Math.max(p.start_at, earliest), last = spans.at(-1);

		if (p.state !== state || (p.end_at && p.end_at <= start))
			continue;
		if (last && last.end === start && last.end)
			last.end = p.end_at || 0;
		else
			spans.push({ start, end: p.end_at || 0, orders: [] });
		if (p.order)
			spans.at(-1).orders.push(p.order);
	}
	return spans;
}

// Values of a sample are those of its last step, which may be long ago.
function fresh(sample, now) {
	return Boolean(sample?.at && now - sample.at <= OLD + 10);
}

const number = (v, show) => (v === undefined || v === null ? '–' : show(v));
const percent = (v) => Math.round(v * 100) + ' %';

// "65.1 of 79.1 GiB": the unit once where it is the same.
function ofAll(v, all) {
	const [a, b] = [v, all].map((x) => (x === undefined ? '' : bytes(x))), unit = b.slice(b.indexOf(' '));

	return !a ? '–' : !b ? a : (a.endsWith(unit) ? a.slice(0, -unit.length) : a) + ' of ' + b;
}

// Of each GPU the hosts whose running nodes have it; []: the machine says nothing of any.
function holders(sample, hosts) {
	const list = [];

	for (const x of sample.gpu_hosts || []) {
		const host = hosts.find((h) => h.id === x.host);

		if (host)
			(list[x.gpu] ||= []).push(host);
	}
	return list;
}

function machineFacts(a, sample, now) {
	const text = [], m = sample?.measures || {};

	if (a.health && a.health !== 'ok')
		text.push(a.health);
	if (a.status?.driver)
		text.push('driver ' + plain(a.status.driver));
	if (!fresh(sample, now))
		text.push(sample?.at ? `last sample ${ago(now - sample.at)}: use is not known` :
			'no samples: use is not known');
	else {
		const watts = sample.gpus.map((g) => g.power);

		text.push('CPU ' + number(m.cpu, percent), 'memory ' + ofAll(m.memory, m.memory_total),
			'disk ' + ofAll(m.disk, m.disk_total));
		if (watts.some((w) => w !== undefined))
			text.push('GPUs ' + (watts.includes(undefined) ? 'at least ' : '') +
				Math.round(watts.reduce((sum, w) => sum + (w || 0), 0)) + ' W');
	}
	if (a.state !== 'up')
		text.unshift(a.last_seen_at ? `${a.state}, heard ${ago(now - a.last_seen_at)}` :
			`${a.state}, not heard yet`);
	return text.join(' · ');
}

// How many GPUs each node has: its type says it, in the book or on its machine; undefined: neither does.
function gpusOf(h, brief) {
	return brief ? brief.resources?.gpu?.count ?? typeBy(h.instance_sku.id)?.gpus ?? 0 :
		typeBy(h.instance_sku.id)?.gpus;
}

function tally(hosts, now) {
	const found = new Map();

	for (const h of hosts)
		found.set(saleOf(h, now), (found.get(saleOf(h, now)) || 0) + 1);
	return ['sold', 'on sale', 'not offered', 'drained', 'down', 'retired'].filter((s) => found.has(s)).map((s) =>
		`${found.get(s)} ${s}`).join(', ');
}

if (typeof module !== 'undefined')
	module.exports = { agentsAtOnce, offered, saleOf, soldUntil, unsold, fresh, ofAll, holders,
		machineFacts, gpusOf, tally };

// ---- Actions --------------------------------------------------------------------------------------

function drain(h) {
	const at = (v) => {
		const seconds = v.at ? Math.floor(new Date(v.at).getTime() / 60000) * 60 : 0;

		if (v.at && !Number.isFinite(seconds))
			throw new Error('give a day and a time');
		return seconds;
	};
	const body = (v) => ({ ...(v.at ? { at: at(v) } : {}), ...(v.reason ? { reason: v.reason } : {}) });

	action({ title: ['Take ', name(h.name), ' out of service'], go: 'Drain', fields: [
		{ name: 'at', label: 'End what is sold at', value: '', kind: 'datetime-local',
			hint: 'empty: let it run out' },
		{ name: 'reason', label: 'Why', value: '', hint: 'buyers whose time ends early see it' },
	], typed: (v) => `nanopod host drain ${word(h.name)}` + (at(v) ? ' --at ' + iso(at(v)) : '') +
		(v.reason ? ' --reason ' + word(v.reason) : ''),
	plan: async (v) => {
		const q = await ask('POST', `/np/v1/hosts/${h.id}/drain`, { ...body(v), dry_run: true });

		return { danger: q.ends_leases && q.leases > 0, go: 'Drain', rows: [['from', when(q.from, nowAt()) +
			': no more of it is sold'], ['sold', q.sold_until ? (q.ends_leases ?
			`${count(q.leases, 'lease')} ends early; ${cash(q.refund_dollars)} goes back to buyers` :
			`until ${when(q.sold_until, nowAt())}, which runs out`) : 'nothing after that'],
		...(Number(q.hourly_dollars) ? [['earns', `${dollars(q.hourly_dollars)} per hour now, before fees`]] :
			[]),
		['offers', 'are withdrawn from then on; after an undrain, offer it again']] };
	},
	act: async (v, key) => {
		const q = await ask('POST', `/np/v1/hosts/${h.id}/drain`, body(v), key);

		return `${plain(h.name)} is sold no more from ${when(q.from, nowAt())} on.`;
	} });
}

function undrain(h) {
	action({ title: ['Put ', name(h.name), ' back into service'], go: 'Undrain', fields: [], typed: () =>
		'nanopod host undrain ' + word(h.name),
	plan: async () => ({ rows: [['from', 'now on'], ['then',
		'offer it again: offers that the drain withdrew do not come back by themselves']] }),
	act: async () => {
		await ask('POST', `/np/v1/hosts/${h.id}/undrain`);
		return `${plain(h.name)} is in service.`;
	} });
}

// Bodies of one key are the same each time.
const bodies = new Map();
function once(key, make) {
	if (!bodies.has(key))
		bodies.set(key, make());
	return bodies.get(key);
}

async function offerSpans(h, spans, price, key) {
	let offered = 0;

	try {
		for (const [i, s] of spans.entries()) {
			await ask('POST', `/np/v1/hosts/${h.id}/offers`, { price_dollars_per_node_hour: price,
				start_at: s.start, ...(s.end ? { end_at: s.end } : {}) }, `${key}-${i}`);
			offered++;
		}
	} catch (e) {
		if (offered)
			e.message += `; on sale are ${offered} of ${count(spans.length, 'part')}`;
		throw e;
	}
}

// What is typed, as the market takes it.
function priceOf(v, gpus) {
	if (gpus === undefined)
		throw new Error('how many GPUs its type has is not known here; type the command');
	return nodePrice(v.price, gpus);
}

function offer(h, gpus) {
	const pieces = () => unsold(h, firstMinute());

	action({ title: ['Offer ', name(h.name)], go: 'Offer', fields: [
		{ name: 'price', label: 'Ask at least, per ' + unitOf(gpus), value: '' },
	], typed: (v) => pieces().map((s, i, all) => `nanopod host offer ${word(h.name)} -p ${word(v.price)}` +
		(all.length > 1 || s.start > firstMinute() ? ' --from ' + iso(s.start) : '') +
		(s.end ? ' --until ' + iso(s.end) : '')).join('\n'),
	plan: async (v) => {
		const spans = pieces();

		if (!spans.length || spans.length > SPANS_MOST)
			throw new Error(spans.length ? 'its time is in many pieces; type the commands' :
				'it has no time to sell');
		return { rows: [['price', perHour(priceOf(v, gpus), gpus)], ...spans.map((s) => ['time',
			`${when(s.start, 0)} to ${s.end ? when(s.end, 0) : 'when you withdraw it'}`]),
		['then', 'you must deliver what is sold: buyers get back time in which the machine is away']],
		go: `Offer at ${perHour(priceOf(v, gpus), gpus)}` };
	},
	act: async (v, key) => {
		await offerSpans(h, once(key, pieces), priceOf(v, gpus), key);
		return `${plain(h.name)} is on sale at ${perHour(priceOf(v, gpus), gpus)}.`;
	} });
}

// In place: the offer keeps its time, and what is sold of it stays sold.
function reprice(h, gpus) {
	const on = h.schedule.find((p) => p.price_dollars_per_node_hour)?.price_dollars_per_node_hour;
	const body = (v) => ({ hosts: [h.id], price_dollars_per_node_hour: priceOf(v, gpus) });

	action({ title: ['Change the price of ', name(h.name)], go: 'Change', fields: [
		{ name: 'price', label: 'Ask at least, per ' + unitOf(gpus), value: on ?
			String(Number(perUnit(on, gpus).toFixed(4))) : '' },
	], typed: (v) => `nanopod host price ${word(h.name)} -p ${word(v.price)}`,
	plan: async (v) => {
		const q = await ask('POST', '/np/v1/prices', { ...body(v), dry_run: true });

		return { rows: [['price now', [...new Set(q.data.map((o) => perHour(o.was_dollars_per_node_hour,
			gpus)))].join(', ')], ['price then', perHour(priceOf(v, gpus), gpus)],
		['sold', 'what is sold stays sold, at its price'],
		['then', 'among offers of that price it comes last']],
		why: q.data.some((o) => o.changed) ? '' : 'that is its price',
		go: `Ask for ${perHour(priceOf(v, gpus), gpus)}` };
	},
	act: async (v, key) => {
		await ask('POST', '/np/v1/prices', body(v), key);
		return `${plain(h.name)} costs ${perHour(priceOf(v, gpus), gpus)}.`;
	} });
}

function setFloor(h, gpus) {
	const had = h.floor_dollars_per_node_hour;
	const body = (v) => ({ hosts: [h.id], price_dollars_per_node_hour: v.price ? priceOf(v, gpus) : '0.000000' });

	action({ title: ['Lowest price of ', name(h.name)], go: 'Set', fields: [
		{ name: 'price', label: 'Never ask for less than, per ' + unitOf(gpus), value: had ?
			String(Number(perUnit(had, gpus).toFixed(4))) : '', hint: 'empty: no floor' },
	], typed: (v) => `nanopod host floor ${word(h.name)} -p ${v.price ? word(v.price) : 'none'}`,
	plan: async (v) => {
		await ask('PUT', '/np/v1/floors', { ...body(v), dry_run: true });
		return { rows: [['floor now', had ? perHour(had, gpus) : 'none'],
			['floor then', v.price ? perHour(priceOf(v, gpus), gpus) : 'none'],
			['then', v.price ? 'no offer of it can cost less; what is sold stays sold' :
				'offers of it may have any price']] };
	},
	act: async (v) => {
		await ask('PUT', '/np/v1/floors', body(v));
		return v.price ? `${plain(h.name)} costs ${perHour(priceOf(v, gpus), gpus)} at least.` :
			`${plain(h.name)} has no floor.`;
	} });
}

// ---- Drawing --------------------------------------------------------------------------------------

function cell(sale) {
	return make('span', { class: 'mark-' + sale.replace(' ', '-'), 'aria-hidden': 'true' });
}

function proofOf(h) {
	const v = h.verification;

	return !v.asked && v.state === 'unverified' ? '' : v.state + (v.state === 'verified' && v.until ?
		` until ${when(v.until, nowAt())}` : '') + (v.reason ? ': ' + plain(v.reason) : '');
}

// At what price, and from when on where that is later.
function offered(h, gpus, now) {
	const on = h.schedule.find((p) => p.price_dollars_per_node_hour);

	return !on ? '' : `on sale ${on.start_at > now ? `from ${when(on.start_at, now)} ` : ''}at ${
		perHour(on.price_dollars_per_node_hour, gpus)}`;
}

// What there is to say of a node beside its name.
function hostFacts(h, gpus) {
	const now = nowAt(), until = soldUntil(h);
	const did = earned?.hosts.get(h.id);

	return [plain(h.instance_sku.alias),
		until ? `sold until ${when(until, now)}` : '',
		offered(h, gpus, now),
		h.floor_dollars_per_node_hour ? `floor ${perHour(h.floor_dollars_per_node_hour, gpus)}` : '',
		did ? `earned ${micros(did)}` : '',
		proofOf(h),
		h.state === 'down' && h.down_reason ? plain(h.down_reason) : '',
		h.drain && h.drain.from > now ? `drains at ${when(h.drain.from, now)}` : '',
		h.drain?.reason ? plain(h.drain.reason) : ''].filter(Boolean).join(' · ');
}

function hostActs(h, gpus) {
	const spans = h.drain ? [] : unsold(h, firstMinute()), orders = spans.some((s) => s.orders.length), list = [];

	if (spans.length)
		list.push(button(orders ? 'Price …' : 'Offer …', () => (orders ? reprice : offer)(h, gpus),
			{ 'data-of': 'offer' + h.id }));
	list.push(button('Floor …', () => setFloor(h, gpus), { 'data-of': 'floor' + h.id }));
	list.push(button(h.drain ? 'Undrain …' : 'Drain …', () => (h.drain ? undrain(h) : drain(h)),
		{ 'data-of': 'drain' + h.id }));
	return list;
}

function hostRow(h, brief) {
	const sale = saleOf(h, nowAt()), gpus = gpusOf(h, brief);

	return make('tr', {}, make('td', { class: 'state-cell' }, cell(sale), sale),
		make('td', { class: 'name' }, name(h.name), make('span', { class: 'facts' },
			make('bdi', {}, hostFacts(h, gpus)))),
		make('td', { class: 'acts' }, ...hostActs(h, gpus)));
}

function hostTable(hosts, briefs) {
	return make('table', { class: 'hosts' }, make('thead', { class: 'unseen' }, make('tr', {}, ...['State', 'Node',
		'Do'].map((text) => make('th', { scope: 'col' }, text)))), make('tbody', {},
		...hosts.map((h) => hostRow(h, briefs?.get(h.id)))));
}

// g: what was measured last of it; curve: its use; names: of the nodes that have it.
function gpuRow(i, sale, g, curve, names) {
	const td = (kind, ...inside) => make('td', { class: kind }, ...inside), trouble = [];
	const limit = g.power !== undefined && g.power_limit ? ' of ' + Math.round(g.power_limit) : '';

	if (g.throttled)
		trouble.push('slowed');
	if (g.xid)
		trouble.push('Xid ' + Math.round(g.xid));
	if (g.memory_errors)
		trouble.push(count(Math.round(g.memory_errors), 'error'));
	return make('tr', {}, make('th', { scope: 'row' }, sale ? cell(sale) : '', `GPU ${i}`),
		td('curve-cell', curve.some((v) => v !== null) ? useCurve(curve, 1, `Use of GPU ${i} in 15 minutes`) :
			make('span', { class: 'quiet' }, 'not known')),
		td('n', number(g.use, percent)),
		td('n wide', ofAll(g.memory, g.memory_total)),
		td(g.temperature >= HOT ? 'n hot' : 'n', number(g.temperature, (v) => Math.round(v) + ' °C')),
		td('n', number(g.power, (v) => String(Math.round(v))), make('span', { class: 'wide' }, limit),
			g.power === undefined ? '' : ' W'),
		td('', ...names.map((n) => make('bdi', { class: 'whose' }, plain(n))), make('span', { class: 'hot' },
			trouble.join(', '))));
}

// A row a GPU. Whose each is, the machine says while nodes run; else it is known where all of them are one node's.
function gpuRows(c) {
	const now = nowAt(), s = c.sample, good = fresh(s, now), each = c.hosts.map((h) =>
		gpusOf(h, c.briefs.get(h.id)) || 0);
	const owners = c.hosts.filter((h, i) => each[i]), want = each.reduce((a, b) => a + b, 0);
	const have = Math.max(want, s?.gpus.length || 0);
	const sale = owners.length === 1 && want === have ? saleOf(owners[0], now) : '';

	const told = good ? holders(s, c.hosts) : [];

	c.shared = owners.length > 1 && !told.length;
	return Array.from({ length: have }, (x, i) => gpuRow(i, told[i]?.length ? saleOf(told[i][0], now) : sale,
		(good && s.gpus[i]) || {}, s?.use[i] || [], (told[i] || []).map((h) => h.name)));
}

function drawSample(c) {
	const rows = gpuRows(c);

	put(c.facts, machineFacts(c.agent, c.sample, nowAt()));
	c.table.hidden = !rows.length;
	c.body.replaceChildren(...rows);
	put(c.note, c.shared ? 'Which of these GPUs each of its nodes has is not known: its machine does not say.' :
		'');
}

function makeCard(id) {
	const c = { id, title: make('bdi'), mark: make('span'), facts: make('span', { class: 'quiet' }), body:
		make('tbody'),
		why: make('p', { class: 'said' }), hosts_box: make('div'), note: make('p', { class: 'quiet small' }) };

	c.table = make('table', { class: 'gpus' }, make('colgroup', {}, ...['gpu', 'use', 'now', 'memory', 'heat',
		'power', 'trouble']
		.map((kind) => make('col', { class: 'gpu-' + kind }))), make('thead', { class: 'unseen' }, make('tr',
			{}, ...['GPU', 'Use', 'Now',
		'Memory', 'Heat', 'Power', 'Node and trouble'].map((text) => make('th', { scope: 'col' }, text)))),
	c.body);
	c.box = make('section', { class: 'group machine' }, make('header', {},
		make('h3', { class: 'state-cell' }, c.mark, c.title), c.facts), c.why, c.hosts_box, c.table, c.note);
	return c;
}

function updateCard(c, a, sample, hosts) {
	Object.assign(c, { agent: a, sample, hosts, briefs: new Map(a.hosts.map((h) => [h.id, h])) });
	c.mark.className = a.state === 'up' ? a.health && a.health !== 'ok' ? 'mark-starting' : 'mark-running' :
		a.state === 'silent' ? 'mark-failed' : 'mark-not-offered';
	put(c.title, plain(a.name));
	put(c.why, plain(a.status?.message || ''));
	c.why.hidden = !a.status?.message;
	c.hosts_box.replaceChildren(hosts.length ? hostTable(hosts, c.briefs) : make('p', { class: 'quiet small' },
		'It is sold as no nodes yet: ', make('code', {}, 'nanopod host offer')));
	drawSample(c);
}

// One coloured cell a node.
function strip(hosts) {
	const now = nowAt(), width = Math.min(ACROSS, hosts.length) * CELL;
	const height = Math.ceil(hosts.length / ACROSS) * CELL, svg = draw('svg', { class: 'strip', width, height,
		viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': tally(hosts, now) });

	hosts.forEach((h, i) => {
		const sale = saleOf(h, now), x = i % ACROSS * CELL + 1.5, y = Math.floor(i / ACROSS) * CELL + 1.5;

		svg.append(draw('rect', { class: 'cell-' + sale.replace(' ', '-'), x, y, width: CELL - 4,
			height: CELL - 4, rx: 1.5 }, draw('title', {}, plain(h.name) + ': ' + sale)));
	});
	return svg;
}

function siteOf(hosts) {
	const p = hosts.map((h) => typeBy(h.instance_sku.id)?.properties).find((x) => x?.region ||
		x?.availability_zone);

	return p ? [p.region, p.availability_zone].filter(Boolean).join(' / ') : '';
}

// ---- Reading --------------------------------------------------------------------------------------

// Days are the market's, in UTC.
async function readEarned() {
	if (earned && Date.now() - earned.at < EARNED_EVERY)
		return;
	const now = nowAt(), today = now - now % 86400, hosts = new Map();
	const got = await pages(`/np/v1/report?limit=1000&from=${today - (DAYS - 1) * 86400}&to=${today + 86400}`,
		REPORT_PAGES);
	let sum = 0;

	for (const r of got.data)
		if (r.kind === 'earning') {
			sum += r.amount_micros;
			hosts.set(r.host, (hosts.get(r.host) || 0) + r.amount_micros);
		}
	earned = { at: Date.now(), hosts, sum, more: got.more };
}

function readSamples() {
	return pages(`/np/v1/samples?machines=true&limit=${SAMPLES}`, Math.ceil(shownMost / SAMPLES));
}

function begin(root) {
	cards.clear();
	earned = null;
	shownMost = PAGE;
	list = { root, sum: make('p', { class: 'sum' }), money: make('p', { class: 'quiet small' }), sites: make('div'),
		bare: make('div'), none: make('p', { class: 'none' }, 'No machines here yet. On one that you want to ' +
			'rent out: ', make('code', {}, 'nanopod host join URL')),
		more: button('Show more machines', () => {
			shownMost += PAGE;
			refresh();
		}) };
	root.replaceChildren(list.sum, list.money, alertBox('machine', 'host'), list.none, list.sites, list.bare,
		list.more);
}

function drawSites(agents, hosts, samples) {
	const sites = new Map(), of = (id) => hosts.filter((h) => h.agent === id);

	for (const a of agents) {
		const its = of(a.id), site = siteOf(its);

		if (!cards.has(a.id))
			cards.set(a.id, makeCard(a.id));
		updateCard(cards.get(a.id), a, samples.get(a.id), its);
		sites.set(site, [...(sites.get(site) || []), a.id]);
	}
	for (const id of cards.keys())
		if (!agents.some((a) => a.id === id))
			cards.delete(id);
	return [...sites].map(([site, ids]) => {
		const its = hosts.filter((h) => ids.includes(h.agent));

		return make('section', { class: 'site' }, make('header', {},
			make('h2', {}, name(site || 'No site given')), make('span', { class: 'quiet' },
				`${count(ids.length, 'machine')}; nodes: ${tally(its, nowAt()) || 'none'}`),
			its.length > 1 ? strip(its) : ''),
		make('div', { class: 'machines' }, ...ids.map((id) => cards.get(id).box)));
	});
}

// By the machine that has most nodes.
function agentsAtOnce(hosts) {
	const each = new Map();

	for (const h of hosts)
		if (h.agent)
			each.set(h.agent, (each.get(h.agent) || 0) + 1);
	return Math.max(1, Math.min(PAGE, Math.floor(BRIEFS / Math.max(1, ...each.values()))));
}

async function read(root) {
	const hosts = await pages(`/np/v1/hosts?limit=${HOSTS}`, HOST_PAGES), size = agentsAtOnce(hosts.data);
	const [agents, samples] = await Promise.all([
		pages(`/np/v1/agents?limit=${size}`, Math.ceil(shownMost / size)), readSamples()]);

	if (list?.root !== root)
		begin(root);
	offset = samples.now - Math.floor(Date.now() / 1000);
	await readEarned();
	const now = nowAt(), bare = hosts.data.filter((h) => !h.agent);
	const by_agent = new Map(samples.data.map((s) => [s.agent, s]));

	put(list.sum, (agents.more ? 'The first ' : '') + count(agents.data.length, 'machine') + ', ' +
		(hosts.more ? 'the first ' : '') + count(hosts.data.length, 'node') +
		(hosts.data.length ? ': ' + tally(hosts.data, now) : '') + '.');
	put(list.money, `Earned in ${DAYS} days, after the market's fee: ` + (earned.more ? 'at least ' :
		'') + micros(earned.sum) +
		'. It is booked each hour.');
	list.none.hidden = agents.data.length + hosts.data.length > 0;
	list.more.hidden = !agents.more;
	keepFocus(root, () => {
		list.sites.replaceChildren(...drawSites(agents.data, hosts.data, by_agent));
		drawBare(bare);
	});
}

function drawBare(bare) {
	list.bare.replaceChildren(...(bare.length ? [make('section', { class: 'site' }, make('header', {}, make('h2',
		{},
		'Without a machine'), make('span', { class: 'quiet' },
			'No agent tells anything of them: whether they run, and what ' +
		'they do, is not known.')), make('section', { class: 'group' }, hostTable(bare, null)))] : []));
}

// The stream's samples are of nodes that one rents; those of machines are asked for.
async function samples(root) {
	beat = (beat + 1) % EVERY;
	if (beat || !list || list.root !== root)
		return;
	const got = await readSamples().catch(() => null);

	for (const s of got?.data || [])
		if (cards.has(s.agent) && list.root === root) {
			cards.get(s.agent).sample = s;
			drawSample(cards.get(s.agent));
		}
	if (got)
		offset = got.now - Math.floor(Date.now() / 1000);
}

if (typeof module === 'undefined')
	views.machines = { read, samples };
}
