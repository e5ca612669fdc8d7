// SPDX-License-Identifier: Apache-2.0
// For browser.t: what three people do on the market's page, in three browsers.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { check, is, launch, look, open, operator, pause, signIn, until, view } from '../lib/browser.mjs';

const { CUSTOMER, PROVIDER, OPERATOR, KEY, KILL, CLOCK } = process.env;
let now = Number(readFileSync(CLOCK, 'utf8'));

// The time of the market and of its agent.
async function clock(at) {
	now = at;
	writeFileSync(CLOCK + '.new', `${at}\n`);
	renameSync(CLOCK + '.new', CLOCK);
	await operator('POST', '/np/v1/admin/clock', { at });
}

const text = (page, what) => page.locator(what).first().innerText();

// deed(page, button, fields, go): opens a dialog, fills it, waits until it says what it would do, does it; what the page
// said then.
async function deed(page, opener, fields, picture) {
	await opener.click();
	for (const [name, value] of Object.entries(fields))
		await page.fill('#f-' + name, value);
	await page.locator('#deed .buttons .main:not([disabled])').first().waitFor();
	const typed = await text(page, '#deed-typed');

	if (picture)
		await look(page, picture, { whole: false });
	const plan = await text(page, '#deed'), go = await text(page, '#deed .buttons .main');

	// It hides after some seconds, and keeps its text.
	await page.evaluate(() => { document.getElementById('done').textContent = ''; });
	await page.click('#deed .buttons .main');
	await page.locator('#done').filter({ hasText: /\S/ }).waitFor({ state: 'attached' });
	return { typed, plan, go, done: await text(page, '#done') };
}

const browser = await launch();
const customer = await open(browser), provider = await open(browser), operatorPage = await open(browser);

// ---- The customer: the book, signs in, buys ------------------------------------------------------------
await customer.locator('#rows tr.row').first().waitFor();
is(await text(customer, '#sum'), '2 nodes for sale now, of 1 type.', 'a stranger reads the book');
await customer.click('#rows .pick');
check(/nanopod buy -t cpu -n 1 -d 24h -p 1\.50/.test(await text(customer, '#rows tr.more')), 'with what to type');
check(!await customer.locator('#rows .buy').isVisible(), 'but cannot buy');
await look(customer, 'book');
await customer.click('#sign-in');
await look(customer, 'sign-in', { whole: false });
await customer.fill('#token', 'npk_wrong');
await customer.click('#sign-go');
await until(async () => /^Not signed in: /.test(await text(customer, '#sign-why')), 'a wrong token signs nobody in');
await customer.click('#sign-not');
await signIn(customer, CUSTOMER);
await customer.click('#views a[href="#nodes"]');
await customer.locator('#view .none:visible').first().waitFor();
await look(customer, 'nodes-none');
await customer.click('#views a[href="#book"]');
await customer.locator('#rows .pick').waitFor(); // another click of it would close what was opened before
if (!await customer.locator('#rows .buy').isVisible())
	await customer.click('#rows .pick');
const bought = await deed(customer, customer.locator('#rows .buy'), { nodes: '1', duration: '2h', price: '1.60',
	name: 'first', key: readFileSync(KEY, 'utf8') }, 'buy');

is(bought.typed, 'nanopod buy -t cpu -n 1 -d 2h -p 1.60 --name first', 'buying shows what to type instead');
is(bought.go, 'Buy for up to $3.20', 'and what it costs at most');
check(/\$3\.00 now, up to \$3\.20/.test(bought.plan), 'and now', bought.plan);
is(bought.done, 'Bought 1 node as first for $3.00.', 'it is bought');
await until(async () => await text(customer, '#view .nodes .state-cell') === 'pending', 'a node waits for its time');
await look(customer, 'nodes-pending');

// ---- It comes up, its curve moves ---------------------------------------------------------------------------
await clock(now + 60);
await until(async () => await text(customer, '#view .nodes .state-cell') === 'running', 'the node runs, and the page shows it');
const curve = () => customer.locator('#view .nodes .curve-cell').innerHTML();

// tick(test, text): time goes on until it is so; the real agent measures each ten seconds of it.
async function tick(test, what) {
	let last = 0;

	await until(async () => {
		if (Date.now() - last > 2000) {
			last = Date.now();
			await clock(now + 10);
		}
		return test();
	}, what);
}

await tick(async () => /polyline/.test(await curve()), 'a curve begins');
const was = await curve();

await tick(async () => await curve() !== was, 'and moves, by itself');
await look(customer, 'nodes');

// ---- Its console --------------------------------------------------------------------------------------------
await customer.click('#view .nodes button:text-is("Console")');
await until(async () => /first-0: is up/.test(await text(customer, '#deed .console')), 'the console says how it started');
is(await text(customer, '#deed-typed'), 'nanopod console first-0', 'and what to type instead');
await look(customer, 'console', { whole: false });
await customer.click('#deed .buttons button');

// ---- When alerts tell --------------------------------------------------------------------------------------------
const box = () => customer.locator('#view .alerts').innerText();

check(!/lease|ends/.test(await box().catch(() => '')), 'a lease of two hours is no reason to worry');
await customer.click('#alert-rules');
await customer.fill('#deed input[aria-label^="lease ends, threshold"]', 'soon');
await until(async () => /'soon' is no time/.test(await text(customer, '#deed .trouble')), 'a threshold that is none is refused');
await customer.fill('#deed input[aria-label^="lease ends, threshold"]', '99999d');
await until(async () => /90 days/.test(await text(customer, '#deed .trouble')), 'and one that the market refuses, in its words');
await customer.fill('#deed input[aria-label^="lease ends, threshold"]', '4h');
await customer.fill('#deed input[aria-label^="node idle, threshold"]', '5%');
await customer.locator('#deed .main:not([disabled])').waitFor();
is(await text(customer, '#deed-typed'), 'nanopod alerts --threshold lease_ends=4h --threshold node_idle=5%', 'with what to type');
await look(customer, 'alerts', { whole: false });
await customer.click('#deed .main');
const early = /warning reservation first: .*2 values of alerts are set in this browser/s;

await until(async () => early.test(await box()), 'a person hears earlier of what ends');
await customer.reload();
await until(async () => early.test(await box()), 'also when the page is opened again');
await look(customer, 'nodes-alerts');
await customer.click('#alert-rules');
await until(async () => await customer.inputValue('#deed input[aria-label^="lease ends, threshold"]') === '4h', 'what was set is shown');
await customer.click('#deed button:text-is("Empty all")');
await customer.locator('#deed .main:not([disabled])').waitFor();
await customer.click('#deed .main');
await until(async () => !/reservation first/.test(await box().catch(() => '')), 'and can be taken back');

// ---- Extends, sells, cancels, releases ----------------------------------------------------------------------
const act = (what) => customer.locator(`#view .group .acts button:text-is("${what}")`).first();
const extended = await deed(customer, act('Extend …'), { duration: '1h', price: '1.60' }, 'extend');

is(extended.typed, 'nanopod extend first -d 1h -p 1.60', 'extending shows what to type');
is(extended.done, 'Extended first by 1h for $1.50.', 'it is extended');
const sold = await deed(customer, act('Sell …'), { nodes: '1', price: '9.00' }, 'sell');

is(sold.done, 'It is on sale. Money lists the order.', 'what nobody buys at that price is on sale');
await view(customer, 'money');
await customer.locator('#view button:text-is("Cancel …")').first().waitFor();
await look(customer, 'money');
const cancelled = await deed(customer, customer.locator('#view button:text-is("Cancel …")'), {}, 'cancel');

is(cancelled.done, 'The order is cancelled.', 'and is cancelled');

// ---- The provider: drains, reprices ---------------------------------------------------------------------------
await signIn(provider, PROVIDER);
await view(provider, 'machines');
await until(async () => /1 machine, 2 nodes: 1 sold, 1 on sale/.test(await text(provider, '#view .sum')),
	'a provider sees what is sold');
check(/sold until .* UTC|sold until /.test(await text(provider, '#view .hosts')), 'until when');
await look(provider, 'machines');
const free = provider.locator('#view .hosts tr').filter({ has: provider.locator('.mark-on-sale') });
const repriced = await deed(provider, free.locator('button:text-is("Price …")'), { price: '2.25' }, 'price');

check(/^nanopod host price \S+ -p 2\.25$/.test(repriced.typed), 'repricing shows what to type', repriced.typed);
await until(async () => /on sale at \$2\.25 per node-hour/.test(await text(provider, '#view')), 'the price is another');
await customer.click('#views a[href="#book"]');
await until(async () => /\$2\.25/.test(await text(customer, '#rows tr.row')), 'and so it is in the open book of another');
const drained = await deed(provider, free.locator('button:text-is("Drain …")'), { reason: 'a new fan' }, 'drain');

check(/is sold no more from/.test(drained.done), 'it is drained', drained.done);
await clock(now + 60);
await until(async () => /1 sold, 1 drained/.test(await text(provider, '#view .sum')), 'which the page counts, once it is so');

// ---- The market dies under open pages -------------------------------------------------------------------------
// Each thing that the stream brings, for what happens below.
await customer.evaluate(() => {
	const hear = globalThis.hear;

	globalThis.heard = [];
	globalThis.hear = (one) => {
		if (one.id && one.event !== 'hello' && one.event !== 'samples')
			globalThis.heard.push([Number(one.id), one.event]);
		hear(one);
	};
});
await view(customer, 'nodes');
writeFileSync(KILL, '');
await until(async () => /^Data of /.test(await text(customer, '#read')) || !existsSync(KILL), 'the market is killed');
for (const amount of ['1.00', '2.00', '3.00'])
	await until(() => operator('POST', '/np/v1/accounts/acme/credits', { amount_dollars: amount }),
		`(credit of ${amount} by the next one)`);
await until(async () => await text(customer, '#read') === 'Live', 'the page connects again by itself');
await operator('POST', '/np/v1/accounts/acme/credits', { amount_dollars: '4.00' });
await until(async () => (await customer.evaluate(() => globalThis.heard.filter((e) =>
	e[1] === 'account.credited').length)) >= 4, 'it hears what happened meanwhile, and what happens then');
const heard = await customer.evaluate(() => globalThis.heard), ids = heard.map((e) => e[0]);

is(ids.join(), [...new Set(ids)].sort((a, b) => a - b).join(), 'nothing twice, all in order');
const all = (await customer.evaluate(async (first) => (await fetch('/np/v1/events?since_seq=' + first,
	{ headers: { 'Nanopod-Page': '1' } })).text(), ids[0] - 1)).trim().split('\n').map((line) => JSON.parse(line).seq);

is(ids.join(), all.filter((n) => n <= ids.at(-1)).join(), 'and nothing is missing');
await until(async () => await text(customer, '#view .nodes .state-cell') === 'running', 'its node still runs');

// ---- Releases; earnings -----------------------------------------------------------------------------------------
await clock(now + 3600);
await until(async () => /^Live$/.test(await text(customer, '#read')), 'an hour later');
const released = await deed(customer, act('Release …'), {}, 'release');

check(/^Released 1 node; refunded \$/.test(released.done), 'it is released', released.done);
check(/their disks are lost/.test(released.plan), 'which said what is lost');
await clock(now + 60);
await until(async () => !await customer.locator('#view .nodes .state-cell:has-text("running")').count(), 'and stops');
await provider.reload();
await provider.locator('#view > section:not(.loads)').waitFor();
console.log(`(${await text(provider, '#view')})`.replaceAll('\n', ' '));
const earned = /after the market's fee: \$([1-9]\d*\.\d\d)\./;

await until(async () => earned.test(await text(provider, '#view')), 'the provider sees what it earned');
await look(provider, 'machines-earned');

// ---- The operator: why did an order fail? -----------------------------------------------------------------------
await signIn(operatorPage, OPERATOR);
await view(operatorPage, 'market');
await until(async () => /accounts/.test(await text(operatorPage, '#view .sum')), 'the operator sees the market');
await look(operatorPage, 'market');
await operatorPage.fill('#find', 'poor');
await operatorPage.click('button:text-is("Look into it") >> nth=-1');
await until(async () => /cancelled: what is on sale costs more than the limit/.test(await text(operatorPage, '#deed')),
	"and why a customer's order failed");
await look(operatorPage, 'account', { whole: false });
await operatorPage.click('#deed .buttons button');

for (const [who, page] of [['customer', customer], ['provider', provider], ['operator', operatorPage]])
	is(page.wrong.join(' '), '', `no script of the ${who}'s page failed, and its policy of content held`);
await browser.close();
