// SPDX-License-Identifier: Apache-2.0
// What scripts of tests/lib/browser.sh share: a browser, pages that are signed in, waiting, the operator's socket, and
// pictures of each view at three widths, light and dark, where $SHOTS names a folder.
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';

const { BROWSER_ROOT, BROWSER_PROGRAM, BROWSER_SOCKET, PAGE_URL, SHOTS } = process.env;
const load = createRequire(BROWSER_ROOT + '/');
const { chromium } = load('playwright-core');
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 120000;

export function check(good, text, why) {
	console.log((good ? 'ok ' : 'not ok ') + text + (good || why === undefined ? '' : ': ' + why));
	return good;
}

export function is(got, want, text) {
	return check(got === want, text, `got '${got}', want '${want}'`);
}

export const pause = (ms) => new Promise((go) => setTimeout(go, ms));

// waits(test, text): until test() is so; until() is a test of its own, too.
export async function waits(test, text, patience = PATIENCE) {
	const end = Date.now() + patience;
	let why = '';

	for (;;) {
		try {
			if (await test())
				return;
			why = 'it is not so';
		} catch (e) {
			why = e.message.split('\n')[0];
		}
		if (Date.now() > end)
			throw new Error(`${text}: ${why} after ${patience / 1000} s`);
		await pause(100);
	}
}

export async function until(test, text) {
	await waits(test, text);
	check(true, text);
}

// By the market's socket: may do all.
export function operator(method, path, body) {
	return new Promise((go, fail) => {
		const r = request({ socketPath: BROWSER_SOCKET, method, path,
			headers: { 'Content-Type': 'application/json' } }, (answer) => {
			let text = '';

			answer.on('data', (piece) => { text += piece; });
			answer.on('end', () => (answer.statusCode < 300 ? go(text ? JSON.parse(text) : null) :
				fail(new Error(`${method} ${path}: ${answer.statusCode} ${text}`))));
		});

		r.on('error', fail);
		r.end(body === undefined ? undefined : JSON.stringify(body));
	});
}

export function launch(...more) {
	return chromium.launch({ executablePath: BROWSER_PROGRAM, args: ['--no-sandbox', '--disable-gpu', ...more] });
}

// A page in a browser of its own; page.wrong has what its scripts could not do.
export async function open(browser, options) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
	const page = await context.newPage();

	page.setDefaultTimeout(PATIENCE);
	page.wrong = [];
	page.on('pageerror', (e) => page.wrong.push(e.message));
	page.on('console', (m) => /Content.Security.Policy|violates/i.test(m.text()) && page.wrong.push(m.text()));
	await page.goto(PAGE_URL + '/');
	return page;
}

export async function signIn(page, token) {
	await page.click('#sign-in');
	await page.fill('#token', token);
	await page.click('#sign-go');
	await page.locator('#nav:not([hidden])').first().waitFor();
}

// Locators alone: a handle of an element keeps it, which browserheap.mjs would count.
export async function view(page, name) {
	await page.click(`#views a[href="#${name}"]`);
	await page.locator('#view > section:not(.loads)').first().waitFor();
}

// What looks wrong in any view: wider than the window, or against axe's rules of WCAG AA. With $SHOTS, pictures.
export async function look(page, name, { whole = true } = {}) {
	if (SHOTS)
		mkdirSync(SHOTS, { recursive: true });
	for (const width of [360, 768, 1440])
		for (const colorScheme of SHOTS ? ['light', 'dark'] : [width === 1440 ? 'dark' : 'light']) {
			await page.setViewportSize({ width, height: width < 500 ? 740 : 900 });
			await page.emulateMedia({ colorScheme });
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

			if (over > 0)
				check(false, `${name} fits a window of ${width} pixels`, `${over} too wide`);
			if (SHOTS)
				await page.screenshot({ path: `${SHOTS}/${name}-${width}-${colorScheme}.png`, fullPage: whole });
			if (!SHOTS && width === 768)
				continue;
			await page.evaluate(axe);
			const found = await page.evaluate(() => globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa'] }));

			for (const v of found.violations)
				check(false, `${name}, ${width} pixels, ${colorScheme}: WCAG AA`,
					`${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`
						.replaceAll('\n', ' '));
		}
	await page.setViewportSize({ width: 1440, height: 900 });
	console.log(`(looked at ${name})`);
}
