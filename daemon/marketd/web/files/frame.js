// SPDX-License-Identifier: Apache-2.0
// What stands around the views of who is signed in: sign-in, navigation, one stream of what happens, and the dialog
// that every action has: what it would do, what to type instead, and then the deed. page.js is there before it.
'use strict';

// A view is a file that sets views.NAME = { title, read(root), samples(root, data) }; its row here says to whom it is
// shown, and index.html where its file is (data-NAME). read() fetches and draws; it runs again after each event.
const VIEWS = [
	{ name: 'book', title: 'Book', may: () => true },
	{ name: 'nodes', title: 'Nodes', may: (who) => may('read', who) },
	{ name: 'money', title: 'Money', may: (who) => may('read', who) },
	{ name: 'machines', title: 'Machines', may: (who) => who.machines && may('host', who) && may('read', who) },
	{ name: 'market', title: 'Market', may: (who) => may('admin', who) },
];
const SILENCE = 45000, TRIES = 3, ALERTS_EVERY = 30000, ALERT_PAGES = 3, ALERTS_SHOWN = 12;
const SEVERITIES = ['critical', 'warning', 'info'];
const views = {};
const me = { who: null, view: 'book', root: null, last: '', turn: 0, at: 0, failures: 0, why: '', since: 0, wrong: '',
	reading: false, again: false, later: 0, told: 0, invitation: '' };

// ---- Texts: functions of their arguments alone, for tests, too ----------------------------------

function may(scope, who) {
	return Boolean(who?.token && (who.token.scopes.includes(scope) || who.token.scopes.includes('admin')));
}

// An amount as it is in the books, cut to cents: nobody is told that he has more than he has.
function cash(text) {
	const [, sign, whole, part] = /^(-?)(\d+)\.(\d{2})/.exec(text || '') || [];

	return whole === undefined ? '–' : (sign ? '−' : '') + '$' + whole.replace(/\B(?=(\d{3})+$)/g, ',') + '.' +
		part;
}

function micros(n) {
	return cash((n < 0 ? '-' : '') + (Math.abs(n) / 1e6).toFixed(6));
}

// With the zone: who reads it may be elsewhere than who wrote it.
function when(seconds, now) {
	const at = new Date(seconds * 1000), near = Math.abs(seconds - now) < 64800;
	const form = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };

	return new Intl.DateTimeFormat('en-GB', near ? form : { weekday: 'short', day: 'numeric', month: 'short',
		...form })
		.format(at);
}

function span(seconds) {
	const minutes = Math.max(0, Math.round(seconds / 60)), hours = Math.floor(minutes / 60);

	if (hours >= 72)
		return Math.floor(hours / 24) + ' days' + (hours % 24 ? ` ${hours % 24} h` : '');
	return hours ? hours + ' h' + (minutes % 60 ? ` ${minutes % 60} min` : '') : minutes + ' min';
}

// "90m", "24h", "7d" as the command takes them, in seconds; 0: it is none.
function seconds(text) {
	const [, n, unit] = /^(\d{1,6})(m|h|d|w)$/.exec(text.trim()) || [];

	return n ? n * { m: 60, h: 3600, d: 86400, w: 604800 }[unit] : 0;
}

// One word of a shell.
function word(text) {
	return /^[A-Za-z0-9_][A-Za-z0-9._:@%+=/-]*$/.test(text) ? text : `'${plain(text).replaceAll("'", `'\\''`)}'`;
}

// A price of one unit, as people type it, as that of a node.
function nodePrice(perUnitText, gpus) {
	const p = Number(perUnitText);

	if (!/^\d{1,6}(\.\d{1,6})?$/.test(perUnitText) || !p)
		throw new Error('give a price in dollars, such as 1.80');
	return (p * (gpus || 1)).toFixed(6);
}

const SAID = 'announcement'; // what the operator says stands above each view

// The worst first; of one kind the latest. What could not be judged is counted of the same kinds.
function alertsOf(found, kinds) {
	const machines = kinds.includes('machine'), nodes = kinds.includes('node');
	const list = found.data.filter((a) => a.subject.kind === SAID ||
		kinds.includes(a.subject.kind)).sort((a, b) =>
		SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || (b.since || 0) - (a.since || 0));

	return { list, unjudged: found.unjudged.filter((id) => (id.startsWith('agt_') ? machines : nodes)).length };
}

// Events of a stream: [[{id, event, data}…], what is not whole yet].
function events(text) {
	const blocks = text.split('\n\n'), rest = blocks.pop(), list = [];

	for (const block of blocks) {
		const one = {};

		for (const line of block.split('\n')) {
			const at = line.indexOf(':');

			if (at > 0)
				one[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, '');
		}
		if (one.data !== undefined)
			list.push(one);
	}
	return [list, rest];
}

if (typeof module !== 'undefined')
	module.exports = { may, cash, micros, when, span, seconds, word, nodePrice, perHour, alertsOf, events };

// ---- Asking ---------------------------------------------------------------------------------------

async function askOnce(method, path, body, key) {
	const stop = new AbortController(), timer = setTimeout(() => stop.abort(), PATIENCE);
	const headers = { 'Nanopod-Page': '1' };

	if (body !== undefined)
		headers['Content-Type'] = 'application/json';
	if (key)
		headers['Idempotency-Key'] = key;
	try {
		const answer = await fetch(path, { method, headers, cache: 'no-store', credentials: 'same-origin',
			signal: stop.signal, body: body === undefined ? undefined : JSON.stringify(body) });
		const got = answer.status === 204 ? null : await answer.json().catch(() => undefined);

		if (answer.ok && got !== undefined)
			return got;
		throw Object.assign(new Error(refusal(got, answer.status)),
			{ status: answer.status, code: got?.error?.code || '' });
	} catch (e) {
		throw e.name === 'AbortError' ? new Error(`no answer in ${PATIENCE / 1000} s`) :
			e instanceof TypeError ? new Error('the market is not reachable') : e;
	} finally {
		clearTimeout(timer);
	}
}

// What was not answered is asked again where that does nothing twice: it reads, or has a key.
async function ask(method, path, body, key) {
	for (let n = 1; ; n++)
		try {
			return await askOnce(method, path, body, key);
		} catch (e) {
			if (e.status === 401 && me.who)
				signedOut('Your session is over. Sign in again.');
			if (e.status || n === TRIES || (method !== 'GET' && !key))
				throw e;
			await new Promise((go) => setTimeout(go, 1000 * n));
		}
}

function newKey() {
	return 'page-' + [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2,
		'0')).join('');
}

// ---- What is shown --------------------------------------------------------------------------------

function button(text, act, more) {
	const b = make('button', { type: 'button', ...more }, text);

	b.addEventListener('click', act);
	return b;
}

// Text of others in a line of ours: it turns nothing around it.
function name(text) {
	const shown = plain(text);

	return make('bdi', shown.length > 40 ? { title: shown } : {}, shown);
}

function typed(id) {
	const code = make('code', { id });

	return { code, box: make('div', { class: 'type' }, code, copyButton(id)) };
}

function typeBy(id) {
	return state.data?.types.find((t) => t.instance_sku === id);
}

function perHour(node, gpus) {
	return dollars(perUnit(node, gpus)) + ' per ' + unitOf(gpus);
}

function tableOf(heads, rows) {
	return make('table', { class: 'list' }, make('thead', {}, make('tr', {}, ...heads.map(([text, kind]) =>
		make('th', { scope: 'col', ...(kind ? { class: kind } : {}) }, text)))), make('tbody', {},
		...rows.map((cells) => make('tr', {}, ...cells.map((c, i) =>
			make('td', heads[i][1] ? { class: heads[i][1] } : {}, ...[c].flat()))))));
}

function part(title, ...inside) {
	return make('section', { class: 'part' }, make('h2', {}, ...[title].flat()), ...inside);
}

// What is drawn again keeps the focus where it was.
function keepFocus(root, draw) {
	const of = root.contains(document.activeElement) && document.activeElement.dataset.of;

	draw();
	if (of && document.activeElement.dataset.of !== of)
		root.querySelector(`[data-of="${CSS.escape(of)}"]`)?.focus();
}

function replaceAll(root, ...inside) {
	keepFocus(root, () => root.replaceChildren(...inside));
}

// A curve from 0 to `most`; a null is a gap, and what is not known is no zero.
function useCurve(list, most, label) {
	const w = 96, h = 20, svg = draw('svg', { class: 'use', viewBox: `0 0 ${w} ${h}`, width: w, height: h,
		role: 'img',
		'aria-label': label, preserveAspectRatio: 'none' });
	let piece = [];
	const end = () => {
		if (piece.length)
			svg.append(draw('polyline', { class: 'line', points: (piece.length > 1 ? piece :
				[piece[0], piece[0].replace(/^[\d.]+/, (x) => Number(x) + 1.5)]).join(' ') }));
		piece = [];
	};

	svg.append(draw('line', { class: 'base', x1: 0, x2: w, y1: h - 0.5, y2: h - 0.5 }));
	list.forEach((v, i) => {
		if (v === null)
			return end();
		piece.push(`${(i / Math.max(1, list.length - 1) * (w - 2) + 1).toFixed(1)},` +
			(h - 1.5 - Math.min(1, v / (most || 1)) * (h - 3)).toFixed(1));
	});
	end();
	return svg;
}

// ---- Reading --------------------------------------------------------------------------------------

// A list in answers of 100 kB at most, however many things there are.
async function pages(path, most) {
	const all = [];
	let after = '', got = null;

	for (let n = 0; n < most; n++) {
		got = await ask('GET', path + after);
		all.push(...got.data);
		if (!got.has_more)
			break;
		after = (path.includes('/report') ? '&after=' : '&starting_after=') + got.cursor;
	}
	return { data: all, more: got.has_more, now: got.now };
}

// ---- Alerts ---------------------------------------------------------------------------------------

const alerts = { box: null, kinds: [], at: 0, set: {} };
const ALERTS_KEPT = 'alerts ';

// What is set in this browser (alerts.js): [[which, rule, as it was typed, as the market takes it]…].
function alertsSet() {
	const id = me.who.account_id;

	try {
		alerts.set[id] ??= JSON.parse(localStorage.getItem(ALERTS_KEPT + id));
	} catch { /* a browser may keep nothing for pages */ }
	return Array.isArray(alerts.set[id]) ? alerts.set[id].filter((x) => Array.isArray(x) && x.length === 4) : [];
}

function keepAlerts(list) {
	alerts.set[me.who.account_id] = list;
	try {
		localStorage.setItem(ALERTS_KEPT + me.who.account_id, JSON.stringify(list));
		return true;
	} catch {
		return false;
	}
}

function alertQuery(list) {
	return list.map(([which, , , asks]) => `&${which === 'for' ? 'for' : 'threshold'}=` +
		encodeURIComponent(asks)).join('');
}

// Of another account as the market has it; of one's own as it is set here, unless the market does not know that.
async function readAlerts(account) {
	const set = account ? [] : alertsSet();

	try {
		return await readAlertPages(account ? '&account=' + encodeURIComponent(account) : alertQuery(set));
	} catch (e) {
		if (e.status !== 422 || !set.length)
			throw e;
		return { ...await readAlertPages(''), why: `as this browser has it: ${e.message}` };
	}
}

async function readAlertPages(after) {
	const all = { data: [], unjudged: [], more: false };

	for (let n = 0; n < ALERT_PAGES; n++) {
		const got = await ask('GET', '/np/v1/alerts?limit=100' + after);

		all.data.push(...got.data);
		all.unjudged.push(...got.unjudged);
		all.more = got.has_more;
		if (!all.more)
			break;
		after = after.replace(/&starting_after=.*/, '') + '&starting_after=' + got.cursor;
	}
	return all;
}

function alertRow(a, i) {
	const t = typed('alert-' + i), since = a.since ? `, since ${when(a.since, Date.now() / 1000)}` : '';

	if (a.subject.kind === SAID)
		return make('li', { 'data-is': a.severity }, make('p', {}, make('b', {}, a.severity),
			' The operator says: ', name(a.text)));
	putTyped(t.code, plain(a.next));
	return make('li', { 'data-is': a.severity }, make('p', {}, make('b', {}, a.severity), ` ${a.subject.kind} `,
		name(a.subject.name || a.subject.id), ': ', name(a.text),
		make('span', { class: 'quiet' }, since)), t.box);
}

function drawAlerts(box, found, kinds) {
	const { list, unjudged } = alertsOf(found, kinds), set = alertsSet().length;
	const shown = JSON.stringify([list, unjudged, found.why, set]);
	const notes = [list.length > ALERTS_SHOWN ? `${list.length - ALERTS_SHOWN} more` : '',
		unjudged ?
			`${unjudged} of your ${kinds.includes('machine') ? 'machines' : 'nodes'} cannot be judged: ` +
			'they send no samples, or not all' : '',
		found.more ? 'not all of yours were looked at' : '', found.why ? `alerts cannot be read: ${found.why}` :
			'', set ? `${count(set, 'value')} of alerts ${set > 1 ? 'are' : 'is'} set in this browser` : '']
		.filter(Boolean).join('; ');

	if (box.shown === shown)
		return;
	box.shown = shown;
	box.hidden = !list.length && !notes;
	box.replaceChildren(make('ul', {}, ...list.slice(0, ALERTS_SHOWN).map(alertRow)), notes ? make('p',
		{ class: 'quiet' }, notes[0].toUpperCase() + notes.slice(1) + '. All of it: ', make('code', {},
			'nanopod alerts')) : '');
	if (!list.length)
		box.firstChild.remove();
}

async function showAlerts() {
	const { box, kinds } = alerts;
	let found;

	if (!box || Date.now() - alerts.at < ALERTS_EVERY)
		return;
	alerts.at = Date.now();
	try {
		found = await readAlerts('');
	} catch (e) {
		found = { data: [], unjudged: [], why: e.message };
	}
	if (box === alerts.box)
		drawAlerts(box, found, kinds);
}

// What is wrong with things of these kinds; it reads by itself while it is shown.
function alertBox(...kinds) {
	Object.assign(alerts, { box: make('section', { class: 'alerts', 'aria-label': 'Alerts', hidden: '' }), kinds,
		at: 0 });
	showAlerts();
	return alerts.box;
}

// ---- The connection, and the view -----------------------------------------------------------------

function showLive() {
	if (me.view === 'book')
		return;
	const lost = me.failures > 0, kind = me.wrong ? 'error' : lost ? 'lost' : me.at ? 'fresh' : 'loading';

	by('state').dataset.is = kind;
	document.body.classList.toggle('old', lost);
	put(by('read'), { fresh: 'Live', loading: 'Loading', error: 'No data',
		lost: 'Data of ' + (me.at ? clock(me.at) : 'before') }[kind]);
	by('trouble').hidden = kind === 'fresh' || kind === 'loading';
	by('trouble').dataset.is = kind;
	put(by('why'), me.wrong ? me.wrong + '.' : lost ?
		`No connection since ${clock(me.since)} (${me.why}). What is ` +
		'below may have changed; this page connects again by itself.' : '');
}

async function refresh() {
	const view = views[me.view], root = me.root;

	if (!view || !me.who)
		return;
	if (me.reading) {
		me.again = true;
		return;
	}
	me.reading = true;
	try {
		await view.read(root);
		root.classList.remove('loads');
		me.wrong = '';
	} catch (e) {
		me.wrong = e.message[0].toUpperCase() + e.message.slice(1);
	}
	me.reading = false;
	showLive();
	if (me.again || root !== me.root) {
		me.again = false;
		soon();
	}
}

// Many events at once make one reading.
function soon() {
	clearTimeout(me.later);
	me.later = setTimeout(refresh, 400);
}

function loadView(which) {
	return views[which] ? Promise.resolve() : new Promise((go, fail) => {
		const script = make('script', { src: document.body.dataset[which] });

		script.onload = go;
		script.onerror = () => fail(new Error('this part of the page cannot be loaded; ' +
			'reload the page, as the market may be another version'));
		document.head.append(script);
	});
}

function visible(row) {
	return me.who ? row.may(me.who) && (row.name === 'book' || row.name in document.body.dataset) :
		row.name === 'book';
}

async function show() {
	const asked = location.hash.slice(1), row = VIEWS.find((v) => v.name === asked && visible(v)) || VIEWS[0];

	me.view = document.body.dataset.view = row.name;
	me.wrong = '';
	alerts.box = null;
	for (const a of by('nav').querySelectorAll('a'))
		a.toggleAttribute('aria-current', a.hash === '#' + row.name);
	by('book').hidden = row.name !== 'book';
	by('view').hidden = row.name === 'book';
	shown(row.name === 'book');
	if (row.name === 'book')
		return;
	me.root = make('section', { class: 'loads', 'aria-label': row.title }, by('wait').cloneNode(true));
	me.root.firstChild.hidden = false;
	by('view').replaceChildren(me.root);
	showLive();
	try {
		await loadView(row.name);
		await refresh();
	} catch (e) {
		me.wrong = e.message;
		showLive();
	}
}

function drawNav() {
	by('nav').hidden = !me.who;
	by('sign-in').hidden = Boolean(me.who);
	document.body.classList.toggle('trades', may('trade', me.who));
	if (!me.who)
		return;
	by('views').replaceChildren(...VIEWS.filter(visible).map((v) => make('a', { href: '#' + v.name }, v.title)));
	by('alert-rules').hidden = !may('read', me.who);
	put(by('account'), plain(me.who.account_name));
}

// ---- What happens, by one stream --------------------------------------------------------------------

function hear(one) {
	if (one.id)
		me.last = one.id;
	if (one.event === 'samples')
		views[me.view]?.samples?.(me.root, JSON.parse(one.data));
	else
		soon();
	showAlerts();
}

async function listenOnce(mine) {
	const stop = new AbortController(), headers = { Accept: 'text/event-stream' };
	let timer = setTimeout(() => stop.abort(), SILENCE), text = '';

	if (me.last)
		headers['Last-Event-ID'] = me.last;
	me.stop = stop;
	try {
		const answer = await fetch('/np/v1/live', { headers, cache: 'no-store', credentials: 'same-origin',
			signal: stop.signal });

		if (answer.status === 401) {
			signedOut('Your session is over. Sign in again.');
			return;
		}
		if (!answer.ok)
			throw new Error('the market answered ' + answer.status);
		const reader = answer.body.getReader(), decoder = new TextDecoder();

		for (;;) {
			const { done, value } = await reader.read();

			if (done || mine !== me.turn)
				break;
			clearTimeout(timer);
			timer = setTimeout(() => stop.abort(), SILENCE);
			text += decoder.decode(value, { stream: true });
			const [list, rest] = events(text);

			text = rest;
			me.at = Date.now();
			me.failures = 0;
			list.forEach(hear);
			showLive();
		}
		throw new Error('the market ended it');
	} finally {
		clearTimeout(timer);
		stop.abort();
	}
}

async function listen() {
	const mine = ++me.turn;

	me.stop?.abort();
	while (me.who && mine === me.turn && !document.hidden) {
		try {
			await listenOnce(mine);
		} catch (e) {
			if (mine !== me.turn)
				return;
			me.since = me.failures++ ? me.since : Date.now();
			me.why = e.status || !(e instanceof TypeError) && e.name !== 'AbortError' ? e.message :
				'it is not reachable';
		}
		showLive();
		await new Promise((go) => setTimeout(go, Math.min(30000, 500 * 2 ** me.failures) * (0.75 +
			Math.random() / 2)));
	}
}

// ---- Signing in and out --------------------------------------------------------------------------------

function signedIn(who) {
	me.who = who;
	me.at = me.failures = 0;
	drawNav();
	listen();
	show();
}

function signedOut(text) {
	me.who = null;
	me.last = '';
	me.turn++;
	me.stop?.abort();
	by('deed').close();
	by('view').replaceChildren();
	drawNav();
	location.hash = '';
	show();
	if (text)
		signInWith(text);
}

function signInWith(text) {
	put(by('sign-why'), text);
	by('token').value = '';
	by('entry').showModal();
	loadView('signin').then(() => views.signin.offer(), () => null);
}

// Of a link that ends with #invite=CODE, which no server hears.
function takeInvitation() {
	const [, code] = /^#invite=(npi_[\w-]+)$/.exec(location.hash) || [];

	if (!code)
		return;
	history.replaceState(null, '', '/');
	me.invitation = code;
	if (me.who)
		tell('You are signed in as ' + plain(me.who.account_name) + '. Sign out to use the invitation.');
	else
		signInWith('');
}

// The issuer sends browsers back to this page with its answer.
async function cameBack() {
	const query = new URLSearchParams(location.search);

	if (!query.has('state') || !(query.has('code') || query.has('error')))
		return '';
	await loadView('signin');
	return views.signin.came();
}

async function signIn() {
	const token = by('token').value.trim();

	if (!/^npk_[A-Za-z0-9_-]+$/.test(token)) {
		put(by('sign-why'), 'A token begins with npk_.');
		return;
	}
	by('sign-go').disabled = true;
	try {
		const answer = await fetch('/np/v1/session', { method: 'POST', cache: 'no-store',
			credentials: 'same-origin',
			headers: { Authorization: 'Bearer ' + token } });
		const got = await answer.json().catch(() => null);

		if (!answer.ok)
			throw new Error(refusal(got, answer.status));
		const who = await ask('GET', '/np/v1/session');

		if (!who.token)
			throw new Error('this browser keeps no cookie of this page: it needs https');
		by('token').value = '';
		by('entry').close();
		signedIn(who);
	} catch (e) {
		put(by('sign-why'), e instanceof TypeError ? 'The market is not reachable.' : 'Not signed in: ' +
			e.message + '.');
	}
	by('sign-go').disabled = false;
}

function tell(text) {
	say(text);
	put(by('done'), text);
	by('done').hidden = false;
	clearTimeout(me.told);
	me.told = setTimeout(() => { by('done').hidden = true; }, 8000);
}

async function signOut() {
	const there = me.who.sign_out;

	await ask('DELETE', '/np/v1/session').catch(() => null);
	signedOut('');
	say('Signed out');
	if (there) /* else the next person at this machine would be signed in by one click */
		location.assign(there + '&post_logout_redirect_uri=' + encodeURIComponent(location.origin + '/'));
}

// ---- Actions: what it would do, then the deed -----------------------------------------------------------

// spec: { title, fields: [{ name, label, value, kind, options, hint }], typed(values), plan(values), act(values, key),
// go, danger: it takes away what cannot be had again }.
// plan answers { rows: [[what, text]], go: text of the button, why: text where it cannot be done, danger, instead:
// [[text, values]] }; act answers a sentence. Each plan has its own key: what is sent twice is done once.
function action(spec) {
	const inputs = {}, t = typed('deed-typed'), rows = make('dl', { class: 'plan' }), why = make('p',
		{ class: 'trouble' });
	const instead = make('div', { class: 'instead' });
	const go = button('', act, { class: spec.danger ? 'main danger' : 'main' });
	const head = make('h2', { id: 'deed-title' }, ...[spec.title].flat());
	let turn = 0, key = newKey(), timer = 0, busy = false, refused = false;
	const values = () => Object.fromEntries(Object.entries(inputs).map(([k, e]) => [k, e.value.trim()]));

	function field(f) {
		const e = f.options ? make('select', { id: 'f-' + f.name }, ...f.options.map(([v, text]) =>
			make('option', { value: v }, plain(text)))) : f.kind === 'long' ?
			make('textarea', { id: 'f-' + f.name, rows: 2, spellcheck: 'false' }) :
			make('input', { id: 'f-' + f.name, type: f.kind || 'text', min: 1, autocomplete: 'off',
				spellcheck: 'false' });

		e.value = f.value;
		e.addEventListener('input', changed);
		inputs[f.name] = e;
		return make('p', { class: 'field' + (f.kind === 'long' ? ' long' : '') }, make('label', { for: e.id },
			f.label), e,
			f.hint ? make('span', { class: 'quiet' }, f.hint) : '');
	}
	function changed() {
		turn++;
		go.disabled = true;
		put(go, 'Asking the market …');
		putTyped(t.code, spec.typed(values()));
		clearTimeout(timer);
		timer = setTimeout(plan, 300);
	}
	async function plan() {
		const mine = ++turn;
		let p;

		refused = false;
		put(go, 'Asking the market …');
		try {
			p = await spec.plan(values());
		} catch (e) {
			p = { why: e.message };
		}
		if (mine !== turn)
			return;
		key = newKey();
		rows.replaceChildren(...(p.rows || []).flatMap(([k, v]) => [make('dt', {}, k),
			make('dd', {}, ...[v].flat())]));
		why.hidden = !p.why;
		put(why, p.why ? p.why[0].toUpperCase() + p.why.slice(1) + '.' : '');
		instead.replaceChildren(...(p.instead || []).map(([text, set]) => button(text, () => {
			for (const [k, v] of Object.entries(set))
				inputs[k].value = v;
			changed();
		})));
		put(go, p.go || spec.go);
		go.classList.toggle('danger', Boolean(p.danger ?? spec.danger));
		go.disabled = Boolean(p.why);
		putTyped(t.code, spec.typed(values()));
		t.box.hidden = Boolean(p.why);
	}
	async function act() {
		if (busy)
			return;
		if (refused) {
			plan();
			return;
		}
		busy = go.disabled = true;
		put(go, 'Doing it …');
		try {
			const said = await spec.act(values(), key);

			by('deed').close();
			tell(said);
			refresh();
		} catch (e) {
			why.hidden = false;
			put(why, e.message[0].toUpperCase() + e.message.slice(1) + '.');
			/* Without an answer nobody knows what was done: the same key finds out. */
			refused = Boolean(e.status);
			put(go, refused ? 'Ask again' : spec.go);
			go.disabled = false;
		}
		busy = false;
	}

	why.hidden = true;
	by('deed').replaceChildren(head, make('div', { class: 'fields' }, ...spec.fields.map(field)), rows, why,
		instead,
		make('h3', {}, 'Type this instead'), t.box,
		make('div', { class: 'buttons' }, button('Back', () => by('deed').close()), go));
	changed();
	by('deed').showModal();
}

async function frame() {
	by('sign-in').addEventListener('click', () => signInWith(''));
	by('sign-go').addEventListener('click', signIn);
	by('token').addEventListener('keydown', (e) => e.key === 'Enter' && signIn());
	by('sign-not').addEventListener('click', () => by('entry').close());
	by('sign-out').addEventListener('click', signOut);
	by('alert-rules').addEventListener('click', () => loadView('alerts').then(() => views.alerts.open(), (why) =>
		tell(why.message)));
	by('again').addEventListener('click', () => me.view !== 'book' && (listen(), refresh()));
	addEventListener('hashchange', () => (takeInvitation(), show()));
	document.addEventListener('visibilitychange', () => (document.hidden ? me.stop?.abort() : me.who && listen()));
	document.addEventListener('click', async (e) => {
		const buy = e.target.closest('.buy');

		if (!buy || !may('trade', me.who))
			return;
		await loadView('nodes').then(() => views.nodes.buy(buy.dataset.sku, Number(buy.dataset.span)), (why) =>
			say(why.message));
	});
	let why = '';

	try {
		why = await cameBack();
		const who = await ask('GET', '/np/v1/session');

		if (who.token)
			signedIn(who);
		else
			by('sign-in').hidden = false;
	} catch {
		by('sign-in').hidden = false;
	}
	if (why)
		signInWith(why);
	takeInvitation();
}

if (typeof document !== 'undefined')
	frame();
