// SPDX-License-Identifier: Apache-2.0
// For browserhostile.t: hostile text in each view, and the states in which views are.
import { check, is, launch, look, open, signIn, until, view, waits } from '../lib/browser.mjs';

const { BUYER, SELLER, EMPTY, OPERATOR, EVIL } = process.env;
const browser = await launch();
const text = (page, what) => page.locator(what).first().innerText();

// What a name brought into the page, other than text; what nobody sees of it, or what turns other text.
async function harmless(page, where) {
	is(await page.evaluate(() => String(globalThis.pwned) + document.querySelectorAll('img, .evil, b.evil, script:not([src])').length),
		'undefined0', `${where}: names are text`);
	is(await page.evaluate(() => {
		const found = document.body.textContent.match(/[\p{Cc}\p{Cf}\u034f\u115f\u1160\u3164\uffa0]/gu) || [];

		return found.filter((c) => !'\n\t'.includes(c)).map((c) => c.codePointAt(0).toString(16)).join();
	}), '', `${where}: nothing in it hides or turns text`);
	is(await page.evaluate(() => [...document.querySelectorAll('[title], [aria-label]')].flatMap((e) => [e.title,
		e.ariaLabel]).filter((t) => /[\u202e\u200b\u001b]/.test(t || '')).length), 0, `${where}: nor in what is read aloud`);
}

async function seen(page, where, options) {
	check((await page.evaluate(() => document.body.innerText)).includes('onerror=pwned=1'), `${where}: the name is shown`);
	await harmless(page, where);
	await look(page, 'hostile-' + where, options);
}

// A market that lets everybody choose any name: what the real one answers, with names and sentences of others.
const WORDS = ['name', 'alias', 'type', 'text', 'next', 'message', 'status_message', 'reason', 'account_name', 'region', 'availability_zone',
	'accelerator', 'form_factor', 'rdma_type', 'hostname', 'user', 'driver', 'down_reason', 'rule', 'np_reason', 'why'];

function worse(value, word) {
	if (Array.isArray(value))
		return value.map((v) => worse(v, ''));
	if (value && typeof value === 'object')
		return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, worse(v, k)]));
	return typeof value === 'string' && WORDS.includes(word) && !value.includes('pwned') ? value + EVIL : value;
}

async function worsen(page) {
	await page.route(/\/np\/v1\/(?!live)|\/v2\//, async (route) => {
		const answer = await route.fetch().catch(() => null);

		if (!answer)
			return route.abort();
		const body = await answer.text();

		return route.fulfill({ response: answer, body: body ? JSON.stringify(worse(JSON.parse(body), '')) : body });
	});
	await page.reload();
}

// ---- Names ----------------------------------------------------------------------------------------------
const buyer = await open(browser), seller = await open(browser), operator = await open(browser);

for (const page of [buyer, seller, operator])
	await worsen(page);

await buyer.locator('#rows tr.row').first().waitFor();
await buyer.click('#rows .pick');
await seen(buyer, 'book');
await signIn(buyer, BUYER);
await view(buyer, 'nodes');
await buyer.locator('#view .alerts li').first().waitFor();
await seen(buyer, 'nodes');
for (const [what, opener] of [['extend', 'Extend …'], ['sell', 'Sell …'], ['release', 'Release …'], ['replace', 'Replace …'],
	['console', 'Console']]) {
	await buyer.click(`#view .acts button:text-is("${opener}")`);
	if (what === 'console')
		await until(async () => /Following|nothing yet/.test(await text(buyer, '#deed')), '(its console is there)');
	else
		await until(async () => !/Asking/.test(await text(buyer, '#deed .buttons')), `(${what} has its plan)`);
	await harmless(buyer, what);
	await look(buyer, 'hostile-' + what, { whole: false });
	await buyer.click('#deed .buttons button');
}
await view(buyer, 'money');
await seen(buyer, 'money');
await signIn(seller, SELLER);
await view(seller, 'machines');
await seen(seller, 'machines');
for (const [what, opener] of [['drain', 'Drain …'], ['floor', 'Floor …']]) {
	await seller.click(`#view .acts button:text-is("${opener}") >> nth=0`);
	await until(async () => !/Asking/.test(await text(seller, '#deed .buttons')), `(${what} has its plan)`);
	await harmless(seller, what);
	await look(seller, 'hostile-' + what, { whole: false });
	await seller.click('#deed .buttons button');
}
await signIn(operator, OPERATOR);
await view(operator, 'market');
await seen(operator, 'market');
await operator.fill('#find', 'acme');
await operator.click('.find button');
await until(async () => /Its last orders/.test(await text(operator, '#deed')), '(the account is there)');
await harmless(operator, 'account');
await look(operator, 'hostile-account', { whole: false });
await operator.click('#deed .buttons button');

// ---- Nothing there, loading, refused, lost -------------------------------------------------------------------
const empty = await open(browser);
const API = /\/np\/v1\/(?!session|live)|\/v2\//;
let mode = 'go';

await empty.route(API, async (route) => {
	if (mode === 'wait')
		await waits(() => mode !== 'wait', 'loading');
	if (mode === 'refuse')
		await route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify({ error: { code: 'unavailable',
			message: EVIL + 'x'.repeat(4096) } }) });
	else if (mode === 'cut')
		await route.abort();
	else
		await route.continue();
});
await signIn(empty, EMPTY);
for (const [name, none] of [['nodes', 'You have no nodes.'], ['money', 'Nothing was paid.']]) {
	mode = 'go';
	await view(empty, name);
	await until(async () => (await text(empty, '#view')).includes(none), `${name}: says that nothing is there`);
	await look(empty, `empty-${name}`);
	await empty.click('#views a[href="#book"]');
	mode = 'wait';
	await empty.click(`#views a[href="#${name}"]`);
	await empty.locator('#view .wait').first().waitFor();
	check(!(await text(empty, 'main')).includes(none), `${name}: what loads does not look like nothing`);
	await look(empty, `loading-${name}`);
	mode = 'go';
	await empty.locator('#view > section:not(.loads)').first().waitFor();
	await empty.click('#views a[href="#book"]');
	mode = 'refuse';
	await empty.click(`#views a[href="#${name}"]`);
	await empty.locator('#trouble[data-is=error]:not([hidden])').first().waitFor();
	check(!(await text(empty, 'main')).includes(none), `${name}: what cannot be read does not look like nothing`);
	check(!await empty.locator('#view .wait').isVisible() && await empty.locator('#again').isVisible(),
		`${name}: nor as if it were loading; one may try again`);
	await harmless(empty, `${name}, refused`);
	await look(empty, `refused-${name}`);
	mode = 'go';
	await empty.click('#again');
	await until(async () => (await text(empty, '#view')).includes(none), `${name}: is there again`);
}
mode = 'cut';
await empty.route('**/np/v1/live', (route) => (mode === 'cut' ? route.abort() : route.continue()));
await empty.evaluate('me.stop.abort()');
await until(async () => /^Data of /.test(await text(empty, '#read')), 'a lost connection is told, with the age of what is shown');
await look(empty, 'lost');
mode = 'go';
await until(async () => await text(empty, '#read') === 'Live', 'and that it is back');

// The book of a stranger.
const stranger = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const book = await stranger.newPage();

mode = 'wait';
await book.route('**/np/v1/public', async (route) => {
	if (mode === 'wait')
		await waits(() => mode !== 'wait', 'loading');
	await (mode === 'refuse' ? route.fulfill({ status: 500, contentType: 'text/html', body: '<h1>Proxy</h1>' }) : route.continue());
});
await book.goto(process.env.PAGE_URL + '/');
check(await book.locator('#wait').isVisible() && !await book.locator('#types').isVisible(), 'the book: what loads does not look like nothing');
await look(book, 'loading-book');
mode = 'refuse';
await book.locator('#trouble[data-is=error]:not([hidden])').first().waitFor();
await look(book, 'refused-book');
// The page asks again by itself, too, and then the button is gone: that it can be clicked is seen before.
await book.click('#again', { trial: true });
mode = 'go';
await book.evaluate(() => document.getElementById('again').click());
await book.locator('#rows tr.row').first().waitFor();
mode = 'refuse';
await until(async () => /^Data of /.test(await text(book, '#read')), 'what was read before stays, and says when');
await look(book, 'lost-book');
for (const [who, page] of [['buyer', buyer], ['seller', seller], ['operator', operator], ['empty', empty]])
	is(page.wrong.join(' '), '', `no script of the ${who}'s page failed`);
await browser.close();
