// SPDX-License-Identifier: Apache-2.0
// The page of a market: what is for sale, for everybody. One request every ten seconds; rows are changed in place, so
// that nothing moves under a pointer or a keyboard. All text from the market becomes text nodes, never markup.
'use strict';

const EVERY = 10000, SLOWEST = 60000, PATIENCE = 15000, LONGEST = 600;
const WORDS = { infiniband: 'InfiniBand', roce: 'RoCE', pcie: 'PCIe' };
const SPANS = [{ word: '1 hour', typed: '1h' }, { word: '1 day', typed: '24h' }, { word: '1 week', typed: '7d' }];

// ---- Texts: functions of their arguments alone, for tests, too ----------------------------------

// What cannot be seen, or turns the text around it, is written out.
function plain(text) {
	return String(text ?? '').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu,
		(c) => '<' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '>');
}

// Dollars for people, rounded up: who types what he read as a limit must be able to buy. The market's smallest step of
// a price, $0.00006, is no reason to show one cent more.
function dollars(amount) {
	if (amount === null || amount === undefined || !Number.isFinite(Number(amount)))
		return '–';
	const value = Number(amount), digits = value >= 1 || value === 0 ? 2 : value >= 0.01 ? 4 : 6;
	const text = (Math.ceil((value - (digits > 4 ? 5e-7 : 6e-5)) * 10 ** digits) / 10 ** digits).toFixed(digits);
	const [whole, part] = text.split('.');
	return '$' + whole.replace(/\B(?=(\d{3})+$)/g, ',') + '.' + part.replace(/(..)0+$/, '$1');
}

// Per GPU-hour, or node-hour where there are no GPUs.
function perUnit(perNode, gpus) {
	return perNode === null || perNode === undefined ? null : Number(perNode) / (gpus || 1);
}

function unitOf(gpus) {
	return gpus ? 'GPU-hour' : 'node-hour';
}

function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
	let i = 0;

	while (n >= 1024 && i < units.length - 1) {
		n /= 1024;
		i++;
	}
	return (n >= 100 || Number.isInteger(n) ? Math.floor(n) : Math.floor(n * 10) / 10) + ' ' + units[i];
}

function count(n, one, many) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ',') + ' ' + (n === 1 ? one : many || one + 's');
}

// Such as "8 × H100 SXM · 208 vCPUs · 2 TiB · europe-north1".
function facts(type) {
	const p = type.properties || {}, list = [];
	const upper = (word) => Object.hasOwn(WORDS, word) ? WORDS[word] :
		/^[a-z0-9]+$/.test(word) ? word.toUpperCase() : word;

	if (type.gpus)
		list.push((type.gpus + ' × ' + upper(plain(p.accelerator || 'GPU')) + ' ' +
			upper(plain(p.form_factor))).trim());
	if (p.num_vcpus)
		list.push(count(p.num_vcpus, 'vCPU'));
	if (p.memory)
		list.push(bytes(p.memory));
	if (p.local_storage)
		list.push(bytes(p.local_storage) + ' disk');
	if (p.rdma_type)
		list.push(upper(plain(p.rdma_type)));
	if (p.region || p.availability_zone)
		list.push(plain([p.region, p.availability_zone].filter(Boolean).join(' / ')));
	if (type.proof)
		list.push('measured');
	return list.join(' · ');
}

// A word for a shell: the type's name where it is a plain one, else its id.
function typedType(type) {
	return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(type.type || '') ? type.type : type.instance_sku;
}

// The command that buys one node at the price that is shown; '': nobody sells it for that long.
function command(type, at) {
	const w = type.windows[at];

	if (!w || w.limit === null)
		return '';
	return `nanopod buy -t ${typedType(type)} -n 1 -d ${SPANS[at].typed} -p ${w.limit}`;
}

function headline(data) {
	const on = data.types.reduce((n, t) => n + t.on_sale, 0), kinds = data.types.filter((t) => t.on_sale).length;
	const together = data.types.reduce((n, t) => n + t.on_sale_together, 0);
	const also = together ? count(together, 'node') + ' in offers that are sold only whole' : '';

	if (!data.types.length)
		return 'Nothing is for sale now: this market has no types of nodes yet.';
	if (!on)
		return also ? 'For sale now: ' + also + '.' : 'Nothing is for sale now.';
	return count(on, 'node') + ' for sale now, of ' + count(kinds, 'type') + (also ? '; ' + also : '') + '.';
}

function clock(ms) {
	const form = { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' };

	return new Intl.DateTimeFormat('en-GB', form).format(new Date(ms));
}

function ago(seconds) {
	if (seconds < 90)
		return Math.max(0, Math.round(seconds)) + ' s ago';
	if (seconds < 5400)
		return Math.round(seconds / 60) + ' min ago';
	return seconds < 129600 ? Math.round(seconds / 3600) + ' h ago' : Math.round(seconds / 86400) + ' days ago';
}

// How long until the next request, after so many that failed.
function pause(failures, chance) {
	const ms = Math.min(SLOWEST, EVERY * 2 ** Math.min(failures, 6));

	return failures ? ms * (0.75 + chance / 2) : ms;
}

// Asks as they are shown: prices that look the same are one. Each is [price, nodes].
function levels(type, at) {
	const list = [];

	for (const ask of type.windows[at].asks) {
		const price = dollars(perUnit(ask.dollars_per_node_hour, type.gpus)), last = list.at(-1);

		if (last && last[0] === price)
			last[1] += ask.nodes;
		else
			list.push([price, ask.nodes]);
	}
	return list;
}

// Points of a curve in a box; a null is a gap. Each piece is a list of [x, y].
function curve(list, width, height) {
	const known = list.filter((v) => v !== null), low = Math.min(...known), high = Math.max(...known);
	const pieces = [];
	let piece = null;

	list.forEach((v, i) => {
		if (v === null) {
			piece = null;
			return;
		}
		if (!piece)
			pieces.push(piece = []);
		piece.push([list.length > 1 ? i / (list.length - 1) * width : width / 2,
			high > low ? (high - v) / (high - low) * height : height / 2]);
	});
	return { pieces, low, high, known: known.length };
}

// What the market says of a refusal; what stands before it may say anything, at any length.
function refusal(body, status) {
	const text = plain(body?.error?.message || 'the market answered ' + status);

	return text.length > LONGEST ? text.slice(0, LONGEST) + ' …' : text;
}

// What has no such form is no answer of this market: a proxy's page, say.
function checked(data) {
	const good = data && data.object === 'public' && Array.isArray(data.types) && data.types.every((t) =>
		typeof t.instance_sku === 'string' && Array.isArray(t.windows) && t.windows.length === SPANS.length);

	if (!good)
		throw new Error('the answer is not one of a market');
	return data;
}

if (typeof module !== 'undefined')
	module.exports = { plain, dollars, perUnit, unitOf, count, clock, bytes, facts, command, headline, ago, pause,
		levels, curve, refusal, checked };

// ---- What is on the page ------------------------------------------------------------------------

const state = { data: null, at: 0, failures: 0, why: '', since: 0, open: '', span: 1, timer: 0, busy: false, on: true };
const rows = new Map();
const by = (id) => document.getElementById(id);

function make(name, given, ...inside) {
	const e = document.createElement(name);

	for (const [key, value] of Object.entries(given || {}))
		e.setAttribute(key, value);
	e.append(...inside);
	return e;
}

function draw(name, given, ...inside) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', name);

	for (const [key, value] of Object.entries(given))
		e.setAttribute(key, value);
	e.append(...inside);
	return e;
}

function put(e, text) {
	if (e.textContent !== text)
		e.textContent = text;
}

// A command, where no line ends within an option: "-" and "p" are none.
function putTyped(e, text) {
	if (e.textContent !== text)
		e.replaceChildren(...text.split(/(\s+)/).map((word) => (word[0] === '-' && word.length < 30 ?
			make('span', { class: 'option' }, word) : word)));
}

function say(text) {
	put(by('say'), text);
}

function drawCurve(type, width, height, kind) {
	const list = (type.week || []).map((v) => perUnit(v, type.gpus)), c = curve(list, width - 4, height - 6);
	const label = c.known ? `Prices paid in seven days, from ${dollars(c.low)} to ${dollars(c.high)} per ` +
		unitOf(type.gpus) : 'No trades in seven days';
	const svg = draw('svg', { class: kind, viewBox: `0 0 ${width} ${height}`, width, height,
		preserveAspectRatio: 'none', role: 'img', 'aria-label': label });

	svg.append(draw('line', { class: 'base', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }));
	for (const piece of c.pieces) {
		const points = piece.map(([x, y]) => [(x + 2).toFixed(1), (y + 3).toFixed(1)]);

		if (points.length > 1)
			svg.append(draw('polyline', { class: 'line', points: points.join(' ') }));
		else
			svg.append(draw('rect',
				{ class: 'mark', x: points[0][0] - 2, y: points[0][1] - 2, width: 4, height: 4 }));
	}
	return svg;
}

function copyButton(target) {
	return make('button', { type: 'button', class: 'copy', 'data-of': target }, 'Copy');
}

// ---- One type: its row, and what opens below it -------------------------------------------------

function makeRow(id) {
	const number = rows.size, r = { id, number, shown: '' };

	r.name = make('bdi');
	r.pick = make('button',
		{ type: 'button', class: 'pick', 'aria-expanded': 'false', 'aria-controls': 'more-' + number }, r.name);
	r.facts = make('bdi', { class: 'facts' });
	r.sale = make('td', { class: 'n' });
	r.prices = SPANS.map(() => make('td', { class: 'n' }));
	r.per = make('td', { class: 'per' });
	r.curve = make('td', { class: 'curve' });
	r.row = make('tr', { class: 'row' }, make('td', { class: 'name' }, r.pick, r.facts), r.sale, ...r.prices,
		r.per, r.curve);
	r.more = make('tr', { class: 'more', id: 'more-' + number, hidden: '' });
	r.row.addEventListener('click', () => choose(state.open === id ? '' : id));
	return r;
}

function updateRow(r, type) {
	const what = facts(type), unit = unitOf(type.gpus), name = plain(type.type || type.instance_sku);

	put(r.name, name);
	r.pick.title = name;
	if (r.what !== what + unit) {
		r.what = what + unit;
		r.facts.replaceChildren(make('span', { class: 'unit' }, 'per ' + unit + (what ? ' · ' : '')), what);
		r.facts.title = what;
	}
	put(r.sale, type.on_sale ? String(type.on_sale).replace(/\B(?=(\d{3})+$)/g, ',') : '0');
	r.prices.forEach((cell, i) => {
		const asks = type.windows[i].asks;

		put(cell, asks.length ? dollars(perUnit(asks[0].dollars_per_node_hour, type.gpus)) : '–');
		cell.classList.toggle('none', !asks.length);
	});
	put(r.per, unit);
	r.row.classList.toggle('out', !type.on_sale);
	r.curve.replaceChildren(type.week && type.week.some((v) => v !== null) ? drawCurve(type, 96, 24, 'spark') : '');
}

function spanChoice(r, type) {
	const set = make('fieldset', { class: 'spans' }, make('legend', {}, 'For'));

	SPANS.forEach((span, i) => {
		const input = make('input', { type: 'radio', name: 'span-' + r.number, value: i });

		input.checked = i === state.span;
		input.addEventListener('change', () => {
			state.span = i;
			updateMore(r, typeOf(r.id));
		});
		set.append(make('label', {}, input, span.word));
	});
	return set;
}

function makeMore(r, type) {
	const code = 'type-' + r.number;

	r.asksTitle = make('h2');
	r.asks = make('div', { class: 'asks' });
	r.weekTitle = make('h2', {}, 'Paid in the last seven days');
	r.week = make('div');
	r.code = make('code', { id: code });
	r.type = make('div', { class: 'type' }, r.code, copyButton(code));
	r.buy = make('button', { type: 'button', class: 'main buy', 'data-sku': r.id }, 'Buy …');
	r.do = make('div', { class: 'card do' }, make('h2', {}, 'Type this instead'), r.type, r.buy);
	r.more.replaceChildren(make('td', { colspan: '7' }, make('div', { class: 'cards' },
		make('div', { class: 'card' }, spanChoice(r, type), r.asksTitle, r.asks),
		make('div', { class: 'card' }, r.weekTitle, r.week),
		r.do)));
	r.shown = '';
}

function showAsks(r, type) {
	const w = type.windows[state.span], list = levels(type, state.span);
	const most = Math.max(1, ...list.map((a) => a[1]));
	const listed = list.reduce((n, a) => n + a[1], 0);

	put(r.asksTitle, w.nodes ? 'Lowest asks per ' + unitOf(type.gpus) + ', of ' + count(w.nodes, 'node') +
		' for ' + SPANS[state.span].word : 'No node is for sale for ' + SPANS[state.span].word + ' now');
	r.asks.replaceChildren(...list.flatMap(([price, nodes]) => [
		make('span', { class: 'n' }, price), make('span', { class: 'n quiet' }, count(nodes, 'node')),
		draw('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
			draw('rect', { class: 'bar', width: Math.max(1, 100 * nodes / most), height: 10, rx: 1 })),
	]));
	if (listed < w.nodes)
		r.asks.append(make('span', { class: 'n quiet' }, 'dearer'), make('span', { class: 'n quiet' },
			count(w.nodes - listed, 'node')));
	if (type.on_sale_together)
		r.asks.after(r.together = r.together || make('p', { class: 'quiet' }));
	if (r.together)
		put(r.together, type.on_sale_together ? count(type.on_sale_together, 'more node') +
			' in offers that are sold only whole.' : '');
}

function showWeek(r, type) {
	const list = (type.week || []).map((v) => perUnit(v, type.gpus)), known = list.filter((v) => v !== null);
	const last = type.last_trade;

	if (!known.length) {
		r.week.replaceChildren(make('p', { class: 'quiet' },
			type.week ? 'No trades.' : 'Trades are being counted …'));
		return;
	}
	const low = dollars(Math.min(...known)), high = dollars(Math.max(...known));

	r.week.replaceChildren(drawCurve(type, 480, 72, 'week'), make('div', { class: 'ends' },
		make('span', {}, (low === high ? low : low + ' to ' + high) + ' per ' + unitOf(type.gpus)),
		make('span', {}, last ? 'last trade ' + dollars(perUnit(last.dollars_per_node_hour, type.gpus)) + ', ' +
			ago(state.data.now - last.filled_at) : '')));
}

function updateMore(r, type) {
	const text = command(type, state.span);
	const now = JSON.stringify([type, state.span, state.data.now - state.data.now % 60]);

	if (r.shown === now)
		return;
	r.shown = now;
	showAsks(r, type);
	showWeek(r, type);
	putTyped(r.code, text);
	r.buy.dataset.span = state.span;
	r.do.hidden = !text;
}

function typeOf(id) {
	return state.data.types.find((t) => t.instance_sku === id);
}

function choose(id) {
	for (const r of rows.values()) {
		const open = r.id === id;

		r.row.classList.toggle('open', open);
		r.pick.setAttribute('aria-expanded', String(open));
		r.more.hidden = !open;
		if (open && state.open !== id)
			makeMore(r, typeOf(id));
		if (open)
			updateMore(r, typeOf(id));
	}
	state.open = id;
}

// ---- The whole ----------------------------------------------------------------------------------

function showTypes(data) {
	const body = by('rows'), seen = new Set(), order = [];

	for (const type of data.types) {
		let r = rows.get(type.instance_sku);

		if (!r)
			rows.set(type.instance_sku, r = makeRow(type.instance_sku));
		updateRow(r, type);
		seen.add(r.id);
		order.push(r.row, r.more);
	}
	for (const r of rows.values())
		if (!seen.has(r.id)) {
			r.row.remove();
			r.more.remove();
			rows.delete(r.id);
		}
	/* Moving a row takes the focus from it, so only what is out of place is moved. */
	order.forEach((e, i) => {
		if (body.children[i] !== e)
			body.insertBefore(e, body.children[i] || null);
	});
	choose(seen.has(state.open) ? state.open : '');
	by('types').hidden = !data.types.length;
	by('cut').hidden = data.types.length >= data.types_total;
	put(by('cut'), data.types.length + ' of ' + count(data.types_total, 'type') + ' are shown.');
}

function showData(data) {
	const name = plain(data.name);

	put(by('name'), name);
	document.title = state.on ? name + ': nodes for sale' : name;
	put(by('sum'), headline(data));
	by('wait').hidden = true;
	by('how').hidden = false;
	showTypes(data);
}

function showState() {
	const lost = state.failures > 0, old = state.data !== null;
	const kind = lost ? old ? 'lost' : 'error' : old ? 'fresh' : 'loading';
	const before = by('state').dataset.is;

	if (!state.on)
		return;
	by('state').dataset.is = kind;
	document.body.classList.toggle('old', kind === 'lost');
	put(by('read'), kind === 'loading' ? 'Loading' : kind === 'error' ? 'No data' :
		(lost ? 'Data of ' : 'Read at ') + clock(state.at) + ', ' + ago((Date.now() - state.at) / 1000));
	by('trouble').hidden = !lost;
	by('trouble').dataset.is = kind;
	if (lost)
		put(by('why'), old ?
			`No answer since ${clock(state.since)} (${state.why}). What is below was read before.` :
			`The market cannot be read: ${state.why}. This page tries again by itself.`);
	if (kind === 'error') {
		by('wait').hidden = true;
		put(by('sum'), 'What is for sale is not known.');
	}
	if (kind !== before)
		say(kind === 'fresh' ? by('sum').textContent : by('why').textContent);
}

// A refusal has a sentence; what is between this page and the market may have none.
async function read() {
	const stop = new AbortController(), timer = setTimeout(() => stop.abort(), PATIENCE);

	try {
		const answer = await fetch('/np/v1/public',
			{ cache: 'no-store', credentials: 'omit', signal: stop.signal });
		const body = await answer.json().catch(() => null);

		if (!answer.ok)
			throw new Error(refusal(body, answer.status));
		return checked(body);
	} catch (e) {
		throw e.name === 'AbortError' ? new Error('it did not answer in ' + PATIENCE / 1000 + ' s') :
			e instanceof TypeError ? new Error('it is not reachable') : e;
	} finally {
		clearTimeout(timer);
	}
}

async function turn() {
	if (state.busy || !state.on)
		return;
	clearTimeout(state.timer);
	state.busy = true;
	try {
		const data = await read();

		state.data = data;
		state.at = Date.now();
		state.failures = 0;
		showData(data);
	} catch (e) {
		state.why = e.message;
		state.since = state.failures ? state.since : Date.now();
		state.failures++;
	}
	state.busy = false;
	showState();
	if (!document.hidden && state.on)
		state.timer = setTimeout(turn, pause(state.failures, Math.random()));
}

// frame.js: the book is what is seen, or another view is.
function shown(on) {
	clearTimeout(state.timer);
	state.on = on;
	if (on) {
		showState();
		turn();
	}
}

// Up, Down, Home and End go from type to type; Enter and the space bar open one, as they do with any button.
function moveBy(event) {
	const picks = [...document.querySelectorAll('.pick')], at = picks.indexOf(document.activeElement);
	const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: picks.length - 1 }[event.key];

	if (at < 0 || to === undefined || event.ctrlKey || event.altKey || event.metaKey)
		return;
	event.preventDefault();
	picks[Math.min(picks.length - 1, Math.max(0, to))].focus();
}

async function copy(event) {
	const button = event.target.closest('.copy'), code = button && by(button.dataset.of);

	if (!code)
		return;
	try {
		await navigator.clipboard.writeText(code.textContent);
		put(button, 'Copied');
		say('Copied');
	} catch {
		/* Without TLS a browser has no clipboard for pages: the text is selected instead. */
		getSelection().selectAllChildren(code);
		put(button, 'Selected');
		say('Selected; copy it with the keyboard');
	}
	setTimeout(() => put(button, 'Copy'), 2000);
}

function begin() {
	put(by('where'), location.origin);
	put(by('sign'), 'export NANOPOD_URL=' + location.origin + '\nnanopod login');
	by('again').addEventListener('click', turn);
	by('rows').addEventListener('keydown', moveBy);
	document.addEventListener('click', copy);
	document.addEventListener('visibilitychange', () => {
		clearTimeout(state.timer);
		if (!document.hidden)
			turn();
	});
	setInterval(() => {
		if (!document.hidden && state.data && state.on)
			showState();
	}, 1000);
	turn();
}

if (typeof document !== 'undefined')
	begin();
