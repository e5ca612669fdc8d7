// SPDX-License-Identifier: Apache-2.0
// The view of a customer's nodes, and what can be done with them: buy, extend, sell, release, replace, console. Each
// asks what the command asks, with the same quote and a key, and shows the command.
'use strict';

{
const CURVE = 30, CONSOLE_LINES = 500, PAGE = 60, SAMPLES = 12, LEASES = 200, LEASE_PAGES = 20;
const groups = new Map();
let list = null, offset = 0, more = false, shownMost = PAGE;

const nowAt = () => Math.floor(Date.now() / 1000) + offset;
// The first minute that can be bought; a request in the last seconds of a minute may arrive in the next.
const firstMinute = () => Math.floor((nowAt() + 3) / 60) * 60 + 60;

function whole(text, most) {
	const n = Number(text);

	if (!/^\d+$/.test(text) || n < 1 || n > most)
		throw new Error(`give a number of nodes from 1 to ${most}`);
	return n;
}

function stateOf(n) {
	const states = { awaiting_allocation: n.start_at ? 'pending' : 'starting', terminated: 'ended',
		failed: 'failed' };

	return states[n.status] || (n.host_down ? 'host down' : n.ssh ? 'running' : 'starting');
}

// ---- What each action asks -----------------------------------------------------------------------------

// What a quote says, for the dialog. `most`: what it costs at the limit.
function quoteRows(q, gpus, most, verb) {
	const rows = [['time', `${when(q.start_at, nowAt())} to ${when(q.end_at || q.start_at, nowAt())}`]];
	const instead = (q.alternatives || []).map((a) => [a.kind === 'price' ?
		`${perHour(a.limit_price_dollars_per_node_hour, gpus)} would do` : plain(a.message),
		a.kind === 'price' ? { price: (Math.ceil(perUnit(a.limit_price_dollars_per_node_hour,
			gpus) * 10000) / 10000).toFixed(4) } :
			a.kind === 'nodes' ? { nodes: String(a.node_count) } : {}]);

	if (q.price_dollars_per_node_hour)
		rows.push(['price', perHour(q.price_dollars_per_node_hour, gpus) + ' now']);
	if (q.cost_dollars)
		rows.push([verb === 'sell' ? 'brings' : 'cost', dollars(q.cost_dollars) + ' now' +
			(most ? `, up to ${dollars(most)} at your limit` : '')]);
	if (q.available_after_dollars)
		rows.push(['balance', cash(q.available_after_dollars) + ' available afterwards']);
	return { rows, instead, why: q.fills || q.rests ? '' : plain(q.message || 'nobody sells that now') };
}

// Keys of other kinds do not get far: what is named private by mistake must not leave this machine.
function userData(text) {
	const keys = text.split('\n').map((l) => l.trim()).filter(Boolean);

	if (!keys.length)
		throw new Error('paste a public SSH key: without one nobody can sign in on the nodes');
	if (text.includes('PRIVATE KEY'))
		throw new Error('that is a private key; paste the public one, from a file that ends in .pub');
	for (const k of keys)
		if (!/^(ssh-(ed25519|rsa)|ecdsa-sha2-\S+|sk-\S+@openssh\.com) [A-Za-z0-9+/=]+( .*)?$/.test(k))
			throw new Error('a line of it is not a public SSH key');
	return btoa(String.fromCharCode(...new TextEncoder().encode('#cloud-config\nssh_authorized_keys: ' +
		JSON.stringify(keys) + '\n')));
}

function buyOrder(v) {
	const type = typeBy(v.type), length = seconds(v.duration), start = firstMinute();

	if (!length)
		throw new Error('give a duration, such as 90m, 24h or 7d');
	return { side: 'buy', instance_sku: v.type,
		allocation_schedule_delta: [{ start_at: start, end_at: start + length, node_count: whole(v.nodes,
			1000) }],
		limit_price_dollars_per_node_hour: nodePrice(v.price, type?.gpus) };
}

function costAtLimit(o) {
	const d = o.allocation_schedule_delta[0];

	return d.node_count * Number(o.limit_price_dollars_per_node_hour) * (d.end_at - d.start_at) / 3600;
}

// Bodies of one key are the same each time: a request that is sent again is known by both.
const bodies = new Map();
function once(key, make) {
	if (!bodies.has(key))
		bodies.set(key, make());
	return bodies.get(key);
}

async function place(v, key) {
	const data = userData(v.key), order = once(key, () => buyOrder(v)), nodes =
		order.allocation_schedule_delta[0].node_count;
	const pool = await ask('POST', '/v2/pools', { name: v.name, workspace: 'default' }, key + '-pool');
	let got;

	try {
		got = await ask('POST', '/v2/orders', { ...order, pool: pool.id }, key + '-order');
	} catch (e) {
		if (e.status)
			await ask('DELETE', '/v2/pools/' + pool.id).catch(() => null);
		throw e;
	}
	if (got.status !== 'filled') {
		await ask('DELETE', '/v2/pools/' + pool.id).catch(() => null);
		throw Object.assign(new Error(`nothing was bought: the order is ${got.status}`), { status: 409 });
	}
	const image = (await ask('GET', '/v2/images?limit=1&workspace=sfc%3Aworkspace%3Asfcompute%3Apublic')).data[0];

	for (let i = 0; i < nodes; i++)
		await ask('POST', '/v2/instances', { name: `${v.name}-${i}`, pool: pool.id, image: image.id,
			instance_sku: v.type,
			cloud_init_user_data: data }, `${key}-node-${i}`);
	location.hash = '#nodes';
	return `Bought ${count(nodes, 'node')} as ${plain(v.name)} for ${dollars(got.np_filled_total_dollars)}.`;
}

function buyTyped(v) {
	const type = word(typedType(typeBy(v.type) || { instance_sku: v.type }));

	const size = `-n ${word(v.nodes)} -d ${word(v.duration)}`;

	return `nanopod buy -t ${type} ${size} -p ${word(v.price)} --name ${word(v.name)}`;
}

function buy(sku, at) {
	const type = typeBy(sku), types = state.data?.types.filter((t) => t.on_sale) || [];

	action({ title: 'Buy nodes', go: 'Buy', fields: [
		{ name: 'type', label: 'Type', value: sku || types[0]?.instance_sku || '', options: types.map((t) =>
			[t.instance_sku, t.type]) },
		{ name: 'nodes', label: 'Nodes', value: '1', kind: 'number' },
		{ name: 'duration', label: 'For', value: SPANS[at ?? 1].typed, hint: '90m, 24h, 7d' },
		{ name: 'price', label: 'Pay at most, per ' + unitOf(type ? type.gpus : types[0]?.gpus),
			value: (type || types[0])?.windows[at ?? 1].limit || '' },
		{ name: 'name', label: 'Name', value: 'r-' + newKey().slice(-6) },
		{ name: 'key', label: 'Your public SSH keys', value: '', kind: 'long',
			hint: 'cat ~/.ssh/*.pub; one a line' },
	], typed: (v) => buyTyped(v),
	plan: async (v) => {
		const order = buyOrder(v), most = costAtLimit(order), gpus = typeBy(v.type)?.gpus;
		const p = quoteRows(await ask('POST', '/np/v1/quote', order), gpus, most, 'buy');

		if (!p.why)
			try {
				userData(v.key);
			} catch (e) {
				p.why = e.message;
			}
		return { ...p, go: `Buy for up to ${dollars(most)}` };
	},
	act: place });
}

function extend(g) {
	const l = g.last, gpus = typeBy(l.instance_sku.id)?.gpus || 0;
	const body = (v) => {
		if (!seconds(v.duration))
			throw new Error('give a duration, such as 90m, 24h or 7d');
		return { duration_seconds: seconds(v.duration), limit_price_dollars_per_node_hour: nodePrice(v.price,
			gpus) };
	};

	action({ title: ['Extend ', name(g.name)], go: 'Extend', fields: [
		{ name: 'duration', label: 'For how much longer', value: '12h', hint: '90m, 24h, 7d' },
		{ name: 'price', label: 'Pay at most, per ' + unitOf(gpus),
			value: (Math.ceil(perUnit(l.price_dollars_per_node_hour, gpus) * 1.1 * 100) / 100).toFixed(2) },
	], typed: (v) => `nanopod extend ${word(g.name)} -d ${word(v.duration)} -p ${word(v.price)}`,
	plan: async (v) => {
		const b = body(v), q = await ask('POST', `/np/v1/pools/${g.id}/extend`, { ...b, dry_run: true });
		const most = q.node_count * Number(b.limit_price_dollars_per_node_hour) * b.duration_seconds / 3600;
		const p = quoteRows(q, gpus, most, 'buy');

		p.rows.unshift(['nodes', `${count(q.node_count, 'node')}, on the same machines`]);
		return { ...p, go: `Extend for up to ${dollars(most)}` };
	},
	act: async (v, key) => {
		const o = await ask('POST', `/np/v1/pools/${g.id}/extend`, body(v), key);

		return `Extended ${plain(g.name)} by ${v.duration} for ${dollars(o.np_filled_total_dollars)}.`;
	} });
}

function sell(g) {
	const l = g.last, gpus = typeBy(l.instance_sku.id)?.gpus || 0, most = g.leases.filter((x) =>
		x.end_at === l.end_at).length;
	const body = (v) => ({ pool: g.id, side: 'sell', instance_sku: l.instance_sku.id,
		allocation_schedule_delta: [{ start_at: firstMinute(), end_at: l.end_at, node_count: whole(v.nodes,
			most) }],
		limit_price_dollars_per_node_hour: nodePrice(v.price, gpus), allow_standing: true,
			allow_partial: true });

	action({ title: ['Sell the rest of ', name(g.name)], go: 'Offer', fields: [
		{ name: 'nodes', label: 'Nodes', value: String(most), kind: 'number' },
		{ name: 'price', label: 'Ask at least, per ' + unitOf(gpus),
			value: perUnit(l.price_dollars_per_node_hour, gpus).toFixed(2) },
	], typed: (v) => `nanopod sell ${word(g.name)} -n ${word(v.nodes)} -p ${word(v.price)}`,
	plan: async (v) => {
		const q = await ask('POST', '/np/v1/quote', body(v)), p = quoteRows(q, gpus, 0, 'sell');

		p.rows.push(['then', q.fills ? 'what is sold stops at once; what nobody buys stays on sale' :
			'it waits in the book for a buyer, and your nodes run until then']);
		return { ...p, go: q.fills ? `Sell for at least ${dollars(q.cost_dollars)}` : 'Offer' };
	},
	act: async (v, key) => {
		const o = await ask('POST', '/v2/orders', once(key, () => body(v)), key);

		return o.status === 'filled' ? `Sold for ${dollars(o.np_filled_total_dollars)}.` :
			'It is on sale. Money lists the order.';
	} });
}

function release(g) {
	const body = (v) => v.nodes ? { node_count: whole(v.nodes, 1000) } : {};

	action({ title: ['Release ', name(g.name)], go: 'Release', danger: true, fields: [
		{ name: 'nodes', label: 'Nodes', value: '', kind: 'number', hint: 'empty: all' },
	], typed: (v) => `nanopod release ${word(g.name)}` + (v.nodes ? ` -n ${word(v.nodes)}` : ''),
	plan: async (v) => {
		const q = await ask('POST', `/np/v1/pools/${g.id}/release`, { ...body(v), dry_run: true });

		return { rows: [['from', when(q.from, nowAt())], ['nodes', q.nodes.length ?
			[...q.nodes.slice(0, 12).flatMap((n, i) =>
			[i ? ', ' : '', name(n.name)]), q.nodes.length > 12 ? ' …' : '',
				': stop then, and their disks are lost'] : 'none stops'],
		['refund', `${cash(q.refund_dollars)} of ${cash(q.paid_dollars)}`], ['rule', plain(q.rule)]],
		go: `Release ${count(q.node_count, 'node')}` };
	},
	act: async (v, key) => {
		const q = await ask('POST', `/np/v1/pools/${g.id}/release`, body(v), key);

		return `Released ${count(q.node_count, 'node')}; refunded ${cash(q.refund_dollars)}.`;
	} });
}

function replace(n) {
	action({ title: ['Replace ', name(n.name)], go: 'Replace', danger: true, fields: [],
		typed: () => 'nanopod replace ' + word(n.name),
		plan: async () => ({ rows: [['node', n.id + ', ' + stateOf(n)], ['then',
			'it stops now, and everything on its disk is ' +
			'lost; a new node of the same type and image starts in its place'], ['cost',
				'nothing: the time is already paid']] }),
		act: async (v, key) => {
			const body = await once(key, async () => {
				const was = (await ask('GET',
					`/v2/instances?id=${n.id}&include=cloud_init_user_data`)).data[0];

				return { image: was.image.id || was.image.name, name: was.name,
					...(was.cloud_init_user_data ?
						{ cloud_init_user_data: was.cloud_init_user_data } : {}) };
			});

			await ask('POST', `/v2/instances/${n.id}/replace`, body, key);
			return `A new ${plain(n.name)} starts.`;
		} });
}

function linesOf(chunk) {
	const bytes = Uint8Array.from(atob(chunk.data), (c) => c.charCodeAt(0));
	/* eslint-disable-next-line no-control-regex */
	const text = new TextDecoder().decode(bytes).replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/\r/g, '');

	return text.replace(/\n$/, '').split('\n').map((l) => clock(chunk.timestamp_realtime * 1000).slice(0, 8) +
		'  ' + plain(l));
}

async function openConsole(n) {
	const pre = make('pre', { class: 'console', role: 'log', tabindex: '0',
		'aria-label': 'Console of ' + plain(n.name) }), t = typed('deed-typed');
	const note = make('p', { class: 'quiet' }, 'Reading …'), dialog = by('deed');
	let last = 0, lines = [];

	put(t.code, `nanopod console ${word(n.name)}`);
	dialog.replaceChildren(make('h2', { id: 'deed-title' }, 'Console of ', name(n.name)), pre, note,
		make('h3', {}, 'Type this instead'), t.box, make('div', { class: 'buttons' }, button('Close', () =>
			dialog.close())));
	dialog.showModal();
	while (dialog.open && pre.isConnected) {
		try {
			const path = `/v2/instances/${n.id}/logs?limit=200&sort_by=`;
			const got = (await ask('GET', path + (last ? `seqnum&seqnum_after=${last}` : '-seqnum'))).data;
			const end = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;

			if (!last)
				got.reverse();
			last = got.at(-1)?.seqnum || last;
			if (got.length) {
				lines = lines.concat(got.flatMap(linesOf)).slice(-CONSOLE_LINES);
				put(pre, lines.join('\n'));
				if (end)
					pre.scrollTop = pre.scrollHeight;
			}
			put(note, lines.length ? 'Following.' : 'It has written nothing yet.');
		} catch (e) {
			put(note, e.message + '; trying again.');
		}
		await new Promise((go) => setTimeout(go, 2000));
	}
}

// ---- One node: its row -----------------------------------------------------------------------------------

const meanOf = (values) => {
	const known = values.filter((v) => v !== null && v !== undefined);

	return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
};

function makeNode() {
	const cell = (kind) => make('td', kind ? { class: kind } : {}), r = { curve: null };

	r.state = cell('state-cell');
	r.name = make('bdi');
	r.note = make('span', { class: 'facts' });
	r.curve = cell('curve-cell');
	r.use = cell('n');
	r.memory = cell('n wide');
	r.address = cell('wide address');
	r.acts = make('td', { class: 'acts' }, button('Console', () => openConsole(r.node)),
		may('nodes', me.who) ? button('Replace …', () => replace(r.node)) : '');
	r.row = make('tr', {}, r.state, make('td', { class: 'name' }, r.name, r.note), r.curve, r.use, r.memory,
		r.address, r.acts);
	return r;
}

function drawUse(r) {
	const last = r.points.at(-1) ?? r.points.at(-2), known = r.points.filter((v) => v !== null);
	const most = r.gpus ? 1 : Math.max(1, ...known);
	const text = last === null || last === undefined ? '–' : r.gpus ? Math.round(last * 100) + ' %' :
		last.toFixed(2);
	const what = r.gpus ? `${r.gpus} GPU${r.gpus > 1 ? 's' : ''}` : 'cores';

	r.curve.replaceChildren(known.length ? useCurve(r.points, most, `Use in 15 minutes, of ${what}`) :
		make('span', { class: 'quiet' }, 'no samples'));
	r.use.replaceChildren(text, ' ', make('span', { class: 'quiet' }, text === '–' ? '' : what));
	put(r.memory, r.bytes === null || r.bytes === undefined ? '–' : bytes(r.bytes));
}

function updateNode(r, n, sample) {
	const s = stateOf(n), user = n.ssh ? (n.ssh.user ? n.ssh.user + '@' : '') + n.ssh.hostname + ':' + n.ssh.port :
		'';

	r.node = n;
	r.state.replaceChildren(make('span', { class: 'mark-' + s.replace(' ', '-'), 'aria-hidden': 'true' }), s);
	put(r.name, plain(n.name));
	put(r.note, plain(n.status_message || (n.start_at ? 'starts at ' + when(n.start_at, nowAt()) : '')));
	put(r.address, plain(user) || '–');
	if (sample && !r.points) {
		const use = sample.use.length ? sample.use[0].map((x, i) => meanOf(sample.use.map((u) => u[i]))) :
			sample.cpu;

		r.gpus = sample.gpus.length;
		r.points = use.length ? use : Array(CURVE).fill(null);
		r.bytes = sample.measures.memory;
	}
	r.points ??= Array(CURVE).fill(null);
	r.gpus ??= n.gpus.length;
	drawUse(r);
}

// ---- One reservation --------------------------------------------------------------------------------------

function makeGroup(id) {
	const g = { id, rows: new Map(), leases: [], nodes: [] };

	g.title = make('bdi');
	g.text = make('span', { class: 'quiet' });
	g.body = make('tbody');
	g.acts = make('span', { class: 'acts' }, button('Extend …', () => extend(g)), button('Sell …', () => sell(g)),
		button('Release …', () => release(g)));
	g.box = make('section', { class: 'group' }, make('header', {}, make('h2', {}, g.title), g.text,
		may('trade', me.who) ? g.acts : ''), make('table', { class: 'nodes' },
		make('colgroup', {}, ...['state', 'name', 'curve', 'n', 'n', 'address', 'acts'].map((kind) =>
			make('col', { class: 'of-' + kind }))),
		make('thead', { class: 'unseen' }, make('tr', {}, ...['State', 'Node', 'Use', 'Now', 'Memory',
			'Address', 'Do'].map((text) => make('th', { scope: 'col' }, text)))), g.body));
	return g;
}

function updateGroup(g, samples) {
	const now = nowAt(), running = g.nodes.filter((n) => stateOf(n) === 'running').length, l = g.last;
	const active = g.leases.filter((x) => x.start_at <= now), burn = active.reduce((n, x) => n +
		Number(x.price_dollars_per_node_hour), 0);

	put(g.title, plain(g.name));
	put(g.text, [g.nodes.length ? `${running} of ${count(g.nodes.length, 'node')} running` : 'no nodes',
		l ? plain(l.instance_sku.alias) : '', l ? (!active.length ? `from ${when(l.start_at, now)}, ` : '') +
		`until ${when(l.end_at, now)}, ${span(l.end_at - now)} left` : 'its time is over', burn ?
			`${dollars(burn)} per hour` : '']
		.filter(Boolean).join(' · '));
	g.acts.hidden = !l;
	const seen = new Set(g.nodes.map((n) => n.id));

	for (const [id, r] of g.rows)
		if (!seen.has(id)) {
			r.row.remove();
			g.rows.delete(id);
		}
	for (const n of g.nodes) {
		if (!g.rows.has(n.id)) {
			g.rows.set(n.id, makeNode());
			g.body.append(g.rows.get(n.id).row);
		}
		updateNode(g.rows.get(n.id), n, samples.get(n.id));
	}
}

function gather(nodes, leases) {
	const found = new Map(), of = (pool) => {
		if (!found.has(pool.id))
			found.set(pool.id, { name: pool.name, nodes: [], leases: [] });
		return found.get(pool.id);
	};

	for (const n of nodes)
		of(n.reservation).nodes.push(n);
	for (const l of leases)
		if (l.pool && !l.sold_on && l.end_at > nowAt())
			of(l.pool).leases.push(l);
	return found;
}

async function read(root) {
	const [nodes, samples, leases, balance] = await Promise.all([
		pages(`/np/v1/nodes?limit=${PAGE}`, Math.ceil(shownMost / PAGE)),
		pages(`/np/v1/samples?limit=${SAMPLES}`, Math.ceil(shownMost / SAMPLES)),
		pages(`/np/v1/leases?limit=${LEASES}`, LEASE_PAGES), ask('GET', '/np/v1/balance')]);
	const found = gather(nodes.data, leases.data), by_node = new Map(samples.data.map((s) => [s.node, s]));
	const running = nodes.data.filter((n) => stateOf(n) === 'running').length;

	offset = samples.now - Math.floor(Date.now() / 1000);
	more = nodes.more;
	if (list?.root !== root) {
		groups.clear();
		shownMost = PAGE;
		list = { root, sum: make('p', { class: 'sum' }), groups: make('div'), none: make('div', {
			class: 'none' },
			make('p', {}, 'You have no nodes. Buy some here, or type: '), make('code', {},
				'nanopod buy -t TYPE -n 1 -d 1h -p PRICE')), more: button('Show more nodes', () => {
			shownMost += PAGE;
			refresh();
		}) };
		root.replaceChildren(make('div', { class: 'headline' }, list.sum, may('trade', me.who) ?
			button('Buy nodes …', () => buy(), { class: 'main' }) : ''),
			alertBox('account', 'reservation', 'node'), list.none, list.groups, list.more);
	}
	put(list.sum, count(running, 'node') + ' running' + (more ? ` of the first ${nodes.data.length}` : '') +
		`, ${dollars(balance.burn_dollars_per_hour)} per hour; ${cash(balance.available_dollars)} available.`);
	list.none.hidden = found.size > 0;
	list.more.hidden = !more;
	for (const [id, g] of groups)
		if (!found.has(id)) {
			g.box.remove();
			groups.delete(id);
		}
	for (const [id, f] of found) {
		if (!groups.has(id)) {
			groups.set(id, makeGroup(id));
			list.groups.append(groups.get(id).box);
		}
		const g = Object.assign(groups.get(id), f);

		g.last = f.leases.reduce((a, l) => (!a || l.end_at > a.end_at ? l : a), null);
		updateGroup(g, by_node);
	}
}

function samples(root, data) {
	for (const g of groups.values())
		for (const [id, r] of g.rows) {
			const s = data.nodes[id];

			/* A point is 30 seconds: three samples. */
			r.beat = ((r.beat ?? 0) + 1) % 3;
			if (r.beat === 0)
				r.points = [...r.points, null].slice(-CURVE);
			r.points[r.points.length - 1] = (s ? (s[2].length ? meanOf(s[2]) : s[0]) : null) ??
				r.points.at(-1);
			if (s) {
				r.gpus = s[2].length;
				r.bytes = s[1];
			}
			drawUse(r);
		}
}

if (typeof module !== 'undefined')
	module.exports = { stateOf, userData, linesOf };
else
	views.nodes = { read, samples, buy };
}
