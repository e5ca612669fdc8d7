// SPDX-License-Identifier: Apache-2.0
// The texts of marketd's page: the functions of its scripts that need no browser. Says "ok …" or "not ok …" a line.
import { createRequire } from 'node:module';

const load = (name) => createRequire(import.meta.url)(process.argv[2] + '/' + name);
const page = load('page.js'), frame = load('frame.js');

// In a browser the scripts share their functions.
Object.assign(globalThis, page, frame);
const nodes = load('nodes.js'), money = load('money.js');

globalThis.typeBy = (id) => (id === 'isku_1' ? { gpus: 8 } : undefined);
globalThis.views = {};
const machines = load('machines.js'), market = load('market.js'), signin = load('signin.js'),
	alerts = load('alerts.js');

function is(got, want, text) {
	const [a, b] = [JSON.stringify(got), JSON.stringify(want)];

	console.log(a === b ? 'ok ' + text : `not ok ${text}: ${a}, not ${b}`);
}

const window = (seconds, limit, asks) => ({ seconds, nodes: asks.length, limit, asks });
const ask = { dollars_per_node_hour: '16.000020', nodes: 2 };
const type = (more) => ({ instance_sku: 'isku_1', type: 'h100', gpus: 8, proof: false, properties: {}, on_sale: 2, on_sale_together: 0,
	windows: [window(3600, '2.00', [ask]), window(86400, '2.05', [ask]), window(604800, null, [])], ...more });

is([2, 1.801, 0.12, 0.1224, 0.00451, 1234567.891, null, undefined].map(page.dollars),
	['$2.00', '$1.81', '$0.12', '$0.1224', '$0.00451', '$1,234,567.90', '–', '–'], 'prices are rounded up, and an unknown one is no zero');
is(page.dollars(page.perUnit('16.000020', 8)), '$2.00', 'a step of the market is no cent');
is([page.perUnit('0.9', 0), page.perUnit(null, 8)], [0.9, null], 'a node without GPUs is priced whole');
is(page.facts(type({ proof: true, properties: { accelerator: 'h100', form_factor: 'pcie', num_vcpus: 1, memory: 2 ** 41, region: 'eu' } })),
	'8 × H100 PCIe · 1 vCPU · 2 TiB · eu · measured', 'what a type is');
is(page.facts(type({ properties: { accelerator: 'constructor', form_factor: '__proto__' } })), '8 × CONSTRUCTOR __proto__',
	'words that JavaScript knows are words');
is([1023, 1536, 2 ** 30 * 100, 2 ** 30 * 1.5].map(page.bytes), ['1023 B', '1.5 KiB', '100 GiB', '1.5 GiB'], 'sizes');
is(page.command(type({}), 1), 'nanopod buy -t h100 -n 1 -d 24h -p 2.05', 'the command that buys one');
is(page.command(type({}), 2), '', 'there is none for what nobody sells');
is(page.command(type({ type: "a'; rm -rf ~" }), 0), 'nanopod buy -t isku_1 -n 1 -d 1h -p 2.00', 'a name that a shell would read is not in it');
is(page.command(type({ type: null }), 0), 'nanopod buy -t isku_1 -n 1 -d 1h -p 2.00', 'nor one that is not there');
is(page.plain('a\u202eb\u001b[0m\u0000\u200f<b>é'), 'a<202E>b<001B>[0m<0000><200F><b>é', 'what hides or turns text is written out');
is(page.headline({ types: [] }), 'Nothing is for sale now: this market has no types of nodes yet.', 'no types');
is(page.headline({ types: [type({ on_sale: 0 })] }), 'Nothing is for sale now.', 'nothing for sale');
is(page.headline({ types: [type({ on_sale: 1 })] }), '1 node for sale now, of 1 type.', 'one node');
is(page.headline({ types: [type({}), type({ on_sale: 0, on_sale_together: 16 })] }),
	'2 nodes for sale now, of 1 type; 16 nodes in offers that are sold only whole.', 'what is sold only whole is said apart');
is([-1, 4, 89, 90, 5400, 200000].map(page.ago), ['0 s ago', '4 s ago', '89 s ago', '2 min ago', '2 h ago', '2 days ago'], 'how long ago');
is([0, 1, 2, 3, 50].map((n) => page.pause(n, 0.5)), [10000, 20000, 40000, 60000, 60000], 'it asks every 10 s, and seldom where nothing answers');
is([page.pause(1, 0), page.pause(1, 1)], [15000, 25000], 'and not at once with all others');
is(page.levels(type({ windows: [window(3600, '2.00', [ask, { dollars_per_node_hour: '16.000080', nodes: 3 }, { dollars_per_node_hour: '16.8', nodes: 1 }])] }), 0),
	[['$2.00', 5], ['$2.10', 1]], 'prices that look the same are one level');
is(page.curve([1, 2, null, 3], 30, 10).pieces, [[[0, 10], [10, 5]], [[30, 0]]], 'a gap in a curve stays one');
is(page.curve([2, 2], 10, 10).pieces, [[[0, 5], [10, 5]]], 'a price that does not change is a line');
for (const bad of [null, {}, [], { object: 'public' }, { object: 'public', types: [{}] }, { object: 'public', types: [type({ windows: [] })] }]) {
	let said = '';

	try {
		page.checked(bad);
	} catch (e) {
		said = e.message;
	}
	is(said, 'the answer is not one of a market', 'refused as data: ' + JSON.stringify(bad).slice(0, 40));
}
is(page.checked({ object: 'public', types: [type({})] }).types.length, 1, 'a good answer is not');

// ---- Who is signed in ----------------------------------------------------------------------------
is(['1234567.899999', '-0.019000', '0.000000', '', undefined].map(frame.cash), ['$1,234,567.89', '−$0.01', '$0.00', '–', '–'],
	'nobody is told that he has more than he has');
is([59, 3600, 5400, 90000, 266400, -5].map(frame.span), ['1 min', '1 h', '1 h 30 min', '25 h', '3 days 2 h', '0 min'], 'how long');
is(['90m', '24h', '7d', '2w', ' 1h ', '1', 'h', '1h30m', '-1h'].map(frame.seconds), [5400, 86400, 604800, 1209600, 3600, 0, 0, 0, 0], 'durations as the command takes them');
is(['web', "a'b; rm -rf ~", '$(x)', '\u202eexe', ''].map(frame.word), ['web', `'a'\\''b; rm -rf ~'`, "'$(x)'", "'<202E>exe'", "''"], 'a word of a shell is one word');
is([frame.may('trade', { token: { scopes: ['read'] } }), frame.may('trade', { token: { scopes: ['admin'] } }), frame.may('read', null)], [false, true, false], 'who may what');
is(frame.events('id: 7\nevent: a.b\ndata: {"x":1}\n\n:\n\nid: 8\nevent: c'), [[{ id: '7', event: 'a.b', data: '{"x":1}' }], 'id: 8\nevent: c'], 'events of a stream, and the piece that is not whole');
is(frame.events('data: a: b\n\n'), [[{ data: 'a: b' }], ''], 'a colon in the data');
process.env.TZ = 'Europe/Berlin';
is(/^Fri,? 15 Jan,? 09:00 CET$/.test(frame.when(1800000000, 1700000000)), true, 'a time has its zone');
is(frame.when(1800000000, 1800000300), '09:00 CET', 'today needs no day');
const node = (more) => ({ status: 'running', ssh: {}, host_down: false, start_at: null, ...more });
is([node({}), node({ ssh: null }), node({ host_down: true }), node({ status: 'awaiting_allocation' }), node({ status: 'awaiting_allocation', start_at: 9 }),
	node({ status: 'failed' }), node({ status: 'terminated' })].map(nodes.stateOf),
	['running', 'starting', 'host down', 'starting', 'pending', 'failed', 'ended'], 'states as the command names them');
const fails = (f, text) => {
	try {
		f();
		return false;
	} catch (e) {
		return text.test(e.message);
	}
};
is([frame.nodePrice('1.80', 8), frame.nodePrice('0.6', 0)], ['14.400000', '0.600000'], 'a price of a GPU-hour is one of a node');
is(['', '0', '-1', '1e3', 'x', '1,5'].map((p) => fails(() => frame.nodePrice(p, 1), /give a price/)), Array(6).fill(true), 'what is no price is refused');
is(atob(nodes.userData('ssh-ed25519 AAAA me\n\n')), '#cloud-config\nssh_authorized_keys: ["ssh-ed25519 AAAA me"]\n', 'keys as nodes take them');
is(fails(() => nodes.userData('-----BEGIN OPENSSH PRIVATE KEY-----'), /private key/), true, 'a private key does not leave');
is([fails(() => nodes.userData(''), /nobody can sign in/), fails(() => nodes.userData('hello'), /not a public/)], [true, true], 'nor is a node bought that nobody reaches');
is(nodes.linesOf({ timestamp_realtime: 1800000000, data: btoa('\u001b[31mred\u001b[0m\r\n<b>\n') }).map((l) => l.slice(8)), ['  red', '  <b>'], 'lines of a console are text');
is(money.sums([{ kind: 'lease', amount_micros: -5 }, { kind: 'credit', amount_micros: 9 }, { kind: 'lease', amount_micros: -2 }, { kind: 'fee', amount_micros: 0 }]),
	[['lease', -7], ['credit', 9]], 'what was paid, by kind');
is([frame.micros(-1234567), frame.micros(0)], ['−$1.23', '$0.00'], 'amounts');
is(['50', '0.5', '999999.99'].map(money.topupAmount), ['50.00', '0.50', '999999.99'], 'what one may pay');
for (const bad of ['', '0.49', '1e3', '-5', '5.001', '1000000', '0x10'])
	try {
		is(money.topupAmount(bad), 'refused', `not '${bad}'`);
	} catch (e) {
		is(/^give dollars/.test(e.message), true, `not '${bad}'`);
	}
is(['usage', 'forfeit', 'credit', 'constructor'].map(money.kindOf), ['Node time', 'Released, not refunded', 'Credits', 'constructor'],
	"and their words, as 'nanopod statement' has them");

// ---- What is wrong -------------------------------------------------------------------------------
const alert = (severity, kind, since) => ({ severity, since, subject: { kind } });
const found = { data: [alert('info', 'node', 9), alert('warning', 'machine', 9), alert('critical', 'node', 1), alert('critical', 'host', 2),
	alert('critical', 'machine', null), alert('warning', 'account', 3)], unjudged: ['agt_1', 'agt_2', 'inst_1'] };
is(frame.alertsOf(found, ['machine', 'host']).list.map((a) => [a.severity, a.subject.kind]), [['critical', 'host'], ['critical', 'machine'],
	['warning', 'machine']], 'the worst first, of what a view is about');
is(frame.alertsOf({ data: [{ severity: 'info', subject: { kind: 'announcement' } }], unjudged: [] }, ['machine']).list.length, 1,
	'what the operator says is shown in each view');
is([frame.alertsOf(found, ['machine', 'host']).unjudged, frame.alertsOf(found, ['account', 'node']).unjudged], [2, 1],
	'what could not be judged is counted where it concerns');

// ---- Machines ------------------------------------------------------------------------------------
const piece = (state, start, end, more) => ({ state, start_at: start, end_at: end, ...more });
const host = (schedule, more) => ({ state: 'up', drain: null, schedule, instance_sku: { id: 'isku_1' }, ...more });
is([host([piece('sold', 0, 60), piece('idle', 60, null)]), host([piece('on_sale', 0, null)]), host([piece('idle', 60, null)]), host([]),
	host([piece('sold', 0, 60)], { state: 'down' }), host([piece('sold', 0, 60)], { drain: { from: 1 } }),
	host([piece('idle', 0, null)], { drain: { from: 1 } })].map((h) => machines.saleOf(h, 30)),
	['sold', 'on sale', 'not offered', 'not offered', 'down', 'sold', 'drained'], 'what is sold of a node now');
is([[piece('sold', 0, 60), piece('idle', 60, 90), piece('sold', 90, 120), piece('idle', 120, null)], []].map((s) => machines.soldUntil(host(s))), [120, 0],
	'until when');
is(machines.unsold(host([piece('sold', 0, 60), piece('on_sale', 60, 90, { order: 'a' }), piece('on_sale', 90, 120, { order: 'b' }), piece('idle', 120, null)]), 30),
	[{ start: 60, end: 120, orders: ['a', 'b'] }], 'a new price is for what is on sale, and for no longer');
is(machines.unsold(host([piece('idle', 0, 60), piece('closed', 60, 90), piece('idle', 90, null)]), 30), [{ start: 30, end: 60, orders: [] },
	{ start: 90, end: 0, orders: [] }], 'an offer is of what is not offered, and not of what was taken back');
is(machines.unsold(host([piece('idle', 0, 30)]), 30), [], 'what is over is not offered');
is([0, 3600].map((start) => machines.offered(host([piece('idle', 0, start), piece('on_sale', start, null, { price_dollars_per_node_hour: '16.0' })]), 8, 60)),
	['on sale at $2.00 per GPU-hour', `on sale from ${frame.when(3600, 60)} at $2.00 per GPU-hour`], 'an offer that begins later says when');
is([machines.fresh({ at: 100 }, 160), machines.fresh({ at: 100 }, 200), machines.fresh({ at: null }, 0), machines.fresh(undefined, 0)],
	[true, false, false, false], 'an old sample is no sample of now');
const agent = (more) => ({ state: 'up', health: 'ok', status: { driver: 'ns' }, last_seen_at: 100, ...more });
is(machines.holders({ gpu_hosts: [{ gpu: 1, host: 'a' }, { gpu: 1, host: 'b' }, { gpu: 3, host: 'gone' }] }, [{ id: 'a' }, { id: 'b' }]), [, [{ id: 'a' }, { id: 'b' }]],
	'which nodes have a GPU');
is(machines.holders({}, []), [], 'an earlier market does not say it');
is(machines.machineFacts(agent({}), undefined, 160), 'driver ns · no samples: use is not known', 'a machine without samples does not idle');
is(machines.machineFacts(agent({ state: 'silent' }), { at: 100, measures: { cpu: 0.5 }, gpus: [] }, 400),
	'silent, heard 5 min ago · driver ns · last sample 5 min ago: use is not known', 'what it did before it fell silent is not now');
is(machines.machineFacts(agent({}), { at: 100, measures: { cpu: 0.5 }, gpus: [{ power: 300 }, {}] }, 100),
	'driver ns · CPU 50 % · memory – · disk – · GPUs at least 300 W', 'what is not measured is no zero');
is([machines.ofAll(2 ** 30, 2 ** 31), machines.ofAll(2 ** 20, 2 ** 31), machines.ofAll(undefined, 1), machines.ofAll(5, undefined)],
	['1 of 2 GiB', '1 MiB of 2 GiB', '–', '5 B'], 'a part of all');
is([machines.gpusOf(host([]), { resources: { gpu: { count: 2 } } }), machines.gpusOf(host([]), undefined),
	machines.gpusOf({ instance_sku: { id: 'x' } }, undefined) === undefined], [2, 8, true], 'how many GPUs a node has, where it is known');
is(machines.tally([host([piece('idle', 0, null)]), host([piece('sold', 0, 60)]), host([], { state: 'down' })], 30), '1 sold, 1 not offered, 1 down', 'in numbers');

const many = (agent, n) => Array(n).fill({ agent });
is([[], many('a', 8), [...many('a', 125), ...many('b', 2)], many(null, 999), many('a', 500)].map(machines.agentsAtOnce), [24, 24, 3, 24, 1],
	'machines with many nodes come a few at a time, so that no answer is large');

// ---- The market ----------------------------------------------------------------------------------
is([{ np_reason: 'price_too_low', status: 'cancelled' }, { np_reason: 'new_reason', status: 'rejected' }, { np_reason: null, status: 'cancelled' },
	{ np_reason: null, status: 'standing' }, { np_reason: null, status: 'filled' }, { np_reason: 'toString', status: 'rejected' }].map(market.reasonOf),
	['what is on sale costs more than the limit', 'new reason', 'withdrawn', 'nobody has traded all of it yet', '', 'toString'], 'why an order failed');
is([{ sold_seconds: 0, on_sale_seconds: 0 }, { sold_seconds: 1, on_sale_seconds: 3 }, { sold_seconds: 999, on_sale_seconds: 1 }].map((s) =>
	market.shareText(market.shareOf(s))), ['–', '25 %', '99 %'], 'a share is rounded down, and of nothing is none');

// ---- When alerts tell --------------------------------------------------------------------------------
const rule = (unit, threshold, for_seconds) => ({ rule: 'r', unit, threshold, for_seconds });
is([0, 90, 600, 7200, 172800].map(alerts.lengthText), ['none', '90s', '10m', '2h', '2d'], 'how long, in the longest whole unit');
is([rule('celsius', 87, 300), rule('ratio', 0.95, 0), rule('seconds', 3600, null), rule('none', null, 300)].map((r) =>
	[alerts.ruleText(r, 'threshold'), alerts.ruleText(r, 'for')]), [['87', '5m'], ['95%', 'none'], ['1h', null], [null, '5m']], 'what a rule has, as one types it');
is([alerts.ruleAsks(rule('seconds', 1, 1), 'threshold', '2h'), alerts.ruleAsks(rule('ratio', 1, 1), 'threshold', '5 %'),
	alerts.ruleAsks(rule('celsius', 1, 1), 'threshold', '80 °C'), alerts.ruleAsks(rule('celsius', 1, 1), 'for', 'none')],
['r=7200s', 'r=5%', 'r=80', 'r=0'], 'and as the market takes it');

// ---- Signing in at the issuer ----------------------------------------------------------------------
const kept = { state: 's', nonce: 'n', verifier: 'v', invitation: 'npi_x' };
const back = (text, mine) => signin.signInBack(new URLSearchParams(text), mine, 'https://m/');
is(back('code=c&state=s&iss=i', kept).body, { code: 'c', code_verifier: 'v', nonce: 'n', redirect_uri: 'https://m/', iss: 'i', invitation: 'npi_x' },
	'what came back goes to the market with what only this tab knows');
is([back('code=c&state=t', kept), back('code=c&state=s', null), back('code=c', kept)].map((x) => x.why),
	Array(3).fill('This sign-in began in another tab, or was finished before. Sign in again here.'), 'what another tab began is not finished here');
is([back('error=access_denied&state=s', kept), back('error=x&error_description=a%1bb&state=s', kept)].map((x) => x.why),
	['Not signed in: you or the issuer refused.', 'The issuer signed nobody in: a<001B>b.'], 'a refusal of the issuer');
is(signin.base64url([251, 255, 254, 0]), '-__-AA', 'base64url');
