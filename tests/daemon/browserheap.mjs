// SPDX-License-Identifier: Apache-2.0
// For browserheap.t: an hour of a busy market in seconds. The stream is this script's, everything else the market's.
import { readFileSync } from 'node:fs';
import { check, is, launch, open, pause, signIn, until, view } from '../lib/browser.mjs';

const ids = readFileSync(process.env.IDS, 'utf8').trim().split('\n');
const HEAP = 1 << 20, NODES = 100; // what may be more: bytes, nodes of the document
let sent = 0;

// A thousand events, of which each tenth is what all nodes do.
function thousand() {
	let text = '';

	for (let i = 0; i < 1000; i++) {
		sent++;
		const use = Array(8).fill((sent % 97) / 97);

		text += sent % 10 ? `id: ${sent}\nevent: order.filled\ndata: {"seq":${sent},"order":"ordr_${sent}"}\n\n` :
			`event: samples\ndata: ${JSON.stringify({ at: sent, more: 0, nodes: Object.fromEntries(ids.map((id) =>
				[id, [13, 4e11 + sent, use]])) })}\n\n`;
	}
	return text;
}

async function measure(page) {
	const cdp = page.cdp ??= await page.context().newCDPSession(page);

	// What a first collection lets go of may hold more.
	for (let n = 0; n < 3; n++)
		await cdp.send('HeapProfiler.collectGarbage');
	return { heap: (await cdp.send('Runtime.getHeapUsage')).usedSize, ...await cdp.send('Memory.getDOMCounters') };
}

// What a reading under way still holds is no growth: it is let go of soon.
async function flat(before, page, what) {
	let after = await measure(page);

	for (let left = 40; left && (after.nodes - before.nodes >= NODES || after.heap - before.heap >= HEAP); left--) {
		await pause(500);
		after = await measure(page);
	}
	const more = after.heap - before.heap;

	check(more < HEAP, `${what}: the heap is flat`, `${before.heap} bytes, then ${after.heap}`);
	check(after.nodes - before.nodes < NODES, 'and so are nodes of the document', `${before.nodes}, then ${after.nodes}`);
	check(after.jsEventListeners - before.jsEventListeners < NODES, 'and who listens',
		`${before.jsEventListeners}, then ${after.jsEventListeners}`);
	console.log(`(${what}: ${before.heap} bytes and ${before.nodes} nodes, then ${after.heap} and ${after.nodes})`);
}

const browser = await launch();
const page = await open(browser);

// Each connection brings a thousand events and ends; the page connects again, as it does when a market ends.
let most = 1000;
await page.route('**/np/v1/live', (route) => (sent < most ? route.fulfill({ status: 200,
	contentType: 'text/event-stream', body: thousand() }) : route.abort()));
await signIn(page, process.env.BUYER);
await view(page, 'nodes');

async function heard(n) {
	most = n;
	await page.evaluate(() => { globalThis.listen(); });
	await until(async () => Number(await page.evaluate('me.last')) >= n - 1 && sent >= n,
		`the page hears ${n} events`);
	await until(() => page.evaluate('!me.reading'), '(and has read what they changed)');
}

await heard(1000);
const first = await measure(page);

await heard(10000);
await flat(first, page, 'after 1,000 events and after 10,000');
is(await page.locator('#view .nodes tbody tr').count(), ids.length, 'all nodes are there, each once');

// Views that come and go.
async function round(n) {
	for (let i = 0; i < n; i++)
		for (const name of ['nodes', 'money', 'book'])
			await (name === 'book' ? page.click('#views a[href="#book"]') : view(page, name));
}

await round(3);
const few = await measure(page);

await round(12);
await flat(few, page, 'after 3 rounds of all views and after 15');

// Dialogs that open and close.
await view(page, 'nodes');
async function dialogs(n) {
	for (let i = 0; i < n; i++) {
		await page.click('#view .group .acts button:text-is("Release …")');
		await page.locator('#deed .buttons .main:not([disabled])').first().waitFor();
		await page.click('#deed .buttons button');
	}
}

await dialogs(3);
const closed = await measure(page);

await dialogs(12);
await flat(closed, page, 'after 3 dialogs and after 15');
is(page.wrong.join(' '), '', 'no script failed');
await browser.close();
