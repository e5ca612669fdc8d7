// SPDX-License-Identifier: Apache-2.0
// From which values on alerts tell, as a person sets it for this browser: a dialog. The market judges and keeps
// nothing of it, so what is set goes with each question; frame.js keeps it.
'use strict';

{
const TIMES = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

// The longest unit in which it is a whole number: "90m", "2h".
function lengthText(seconds) {
	const unit = ['d', 'h', 'm'].find((u) => seconds && seconds % TIMES[u] === 0) || 's';

	return seconds ? seconds / TIMES[unit] + unit : 'none';
}

function lengthOf(text) {
	const [, n, unit] = /^(\d{1,8})([smhdw])$/.exec(text) || [];

	if (!n && text !== 'none')
		throw new Error(`'${plain(text)}' is no time, such as 90s, 10m or 2h`);
	return n ? n * TIMES[unit] : 0;
}

// What the rule has, as one types it. which: 'threshold' or 'for'; null: it has none.
function ruleText(rule, which) {
	const v = which === 'for' ? rule.for_seconds : rule.threshold;

	if (v === null)
		return null;
	return which === 'for' || rule.unit === 'seconds' ? lengthText(v) :
		rule.unit === 'ratio' ? Number((v * 100).toFixed(4)) + '%' : String(v);
}

// "RULE=VALUE" as the market takes it.
function ruleAsks(rule, which, text) {
	if (which === 'for')
		return `${rule.rule}=${lengthOf(text)}`;
	return rule.rule + '=' + (rule.unit === 'seconds' ? lengthOf(text) + 's' : text.replace(/ *(°C|%)$/, (c) =>
		(c.endsWith('%') ? '%' : '')));
}

if (typeof module !== 'undefined')
	module.exports = { lengthText, ruleText, ruleAsks };

const UNITS = { celsius: '°C', ratio: '', count: '', seconds: '' };

function fieldOf(d, rule, which) {
	const usual = ruleText(rule, which);

	if (usual === null)
		return '–';
	const input = make('input', { type: 'text', size: 6, autocomplete: 'off', spellcheck: 'false',
		placeholder: usual, 'aria-label': `${rule.rule.replaceAll('_', ' ')}, ${which}, usually ${usual}` });

	input.value = d.set.find(([w, name]) => w === which && name === rule.rule)?.[2] || '';
	input.addEventListener('input', () => changed(d));
	d.fields.push({ rule, which, input, usual });
	return [input, which === 'threshold' && UNITS[rule.unit] ? make('span', { class: 'quiet' },
		' ' + UNITS[rule.unit]) : ''];
}

// [[which, rule, what was typed, what the market is asked]…]
function chosen(d) {
	return d.fields.map((f) => [f, f.input.value.trim()]).filter(([f, text]) => text && text !== f.usual)
		.map(([f, text]) => [f.which, f.rule.rule, text, ruleAsks(f.rule, f.which, text)]);
}

function changed(d) {
	clearTimeout(d.timer);
	d.go.disabled = true;
	d.turn++;
	d.timer = setTimeout(() => judge(d), 300);
}

// The market says what is no threshold.
async function judge(d) {
	const mine = ++d.turn;
	let why = '';

	try {
		const list = chosen(d);

		putTyped(d.typed.code, 'nanopod alerts' + list.map(([which, rule, text]) =>
			` --${which} ${word(`${rule}=${text}`)}`).join(''));
		await ask('GET', '/np/v1/alert_rules' + alertQuery(list).replace('&', '?'));
	} catch (e) {
		why = e.message[0].toUpperCase() + e.message.slice(1) + '.';
	}
	if (mine !== d.turn)
		return;
	put(d.why, why);
	d.why.hidden = Boolean(!why);
	d.go.disabled = Boolean(why);
}

function save(d) {
	const kept = keepAlerts(chosen(d));

	by('deed').close();
	tell(kept ? 'The alerts of this browser count with that.' :
		'This browser keeps nothing for pages: until this page is closed, alerts count with that.');
	alerts.at = 0;
	showAlerts();
}

function drawRules(d, rules) {
	const mine = rules.filter((r) => (r.threshold !== null || r.for_seconds !== null) &&
		(r.who === 'customer' || (r.who === 'provider' && me.who.machines)));

	d.body.replaceChildren(tableOf([['Alert'], ['Tells from', 'set'], ['After', 'set']], mine.map((r) =>
		[[r.rule.replaceAll('_', ' '), make('span', { class: 'quiet wide' }, ` ${r.severity}`)],
			fieldOf(d, r, 'threshold'), fieldOf(d, r, 'for')])));
	changed(d);
}

async function open() {
	const dialog = by('deed'), d = { fields: [], set: alertsSet(), turn: 0, timer: 0, typed: typed('deed-typed'),
		body: make('div', { class: 'rules' }, make('p', { class: 'quiet' }, 'Reading …')),
		why: make('p', { class: 'trouble', hidden: '' }) };

	d.go = button('Save', () => save(d), { class: 'main', disabled: '' });
	dialog.replaceChildren(make('h2', { id: 'deed-title' }, 'When alerts tell'), make('p', { class: 'quiet' },
		'In this browser, for this account. An empty field is what the market has.'), d.body, d.why,
	make('h3', {}, 'Type this instead'), d.typed.box,
	make('div', { class: 'buttons' }, button('Back', () => dialog.close()), button('Empty all', () => {
		for (const f of d.fields)
			f.input.value = '';
		changed(d);
	}), d.go));
	dialog.showModal();
	try {
		drawRules(d, (await ask('GET', '/np/v1/alert_rules')).data);
	} catch (e) {
		d.body.replaceChildren(make('p', { class: 'trouble' }, e.message[0].toUpperCase() +
			e.message.slice(1) + '.'));
	}
}

if (typeof module === 'undefined')
	views.alerts = { open };
}
