// SPDX-License-Identifier: Apache-2.0
// For browserperson.t: what a person with a wallet in the browser does, and one without.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { check, is, launch, look, open, signIn, until, view } from '../lib/browser.mjs';

const { BUYER, VIEWER, PERSON_ROOT, PERSON_MODE } = process.env;
const { Wallet, id, getBytes, toUtf8String } = createRequire(PERSON_ROOT + '/')('ethers');
const one = new Wallet(id('wallet page'));
const text = (page, what) => page.locator(what).first().innerText();
const signed = [];
let refuses = false;

// Wallets give addresses in small letters, and take the text in hexadecimal digits.
async function wallet(method, params) {
	if (refuses && method === 'personal_sign')
		return { code: 4001, message: 'User rejected the request.' };
	if (method === 'eth_requestAccounts')
		return { result: [one.address.toLowerCase()] };
	if (method !== 'personal_sign' || params[1].toLowerCase() !== one.address.toLowerCase())
		return { code: 4200, message: 'not supported' };
	signed.push(toUtf8String(params[0]));
	return { result: await one.signMessage(getBytes(params[0])) };
}

async function withWallet(page) {
	await page.exposeFunction('walletAsks', wallet);
	await page.addInitScript(() => {
		globalThis.ethereum = { request: async ({ method, params }) => {
			const said = await globalThis.walletAsks(method, params);

			if (said.code)
				throw said;
			return said.result;
		} };
	});
	await page.reload();
}

const browser = await launch();
const none = await open(browser), page = await open(browser), viewer = await open(browser);
const ready = (p) => p.locator('#deed .buttons .main:not([disabled])').first().waitFor();

await signIn(none, BUYER);
await view(none, 'money');
check(/No address is proven[.]\s+This browser has no wallet[.] With one elsewhere: nanopod personhood prove/
	.test(await text(none, '#view')), 'a browser without a wallet says what to type');

await withWallet(page);
await signIn(page, BUYER);
await view(page, 'money');
await page.click('button:text-is("Prove an address …")');
await ready(page);
is(await text(page, '#deed-typed'), 'nanopod personhood prove ' + one.address, 'with a wallet the address is there');
const shown = await text(page, '#deed .signs');

check(/market[.]example[.]org wants you to sign in with your Ethereum account:\n0x/.test(shown),
	'with the text that it signs, line by line');
await look(page, 'personhood-prove', { whole: false });
refuses = true;
await page.click('#deed .buttons .main');
await until(async () => /^Refused in the wallet; nothing was done[.]/.test(await text(page, '#deed .trouble')),
	'who refuses in the wallet is told so');
is(signed.length, 0, 'and nothing was signed');
refuses = false;
await ready(page);
is(await text(page, '#deed .signs'), shown, 'the text is the same then');
await page.click('#deed .buttons .main');
await until(async () => await text(page, '#done') === 'The address is proven.', 'it is proven');
is(signed.join(), shown, 'by the text that was shown, and no other');
const scored = new RegExp(`address\\s+${one.address}\\s+score\\s+33[.]53800, until `);

await until(async () => scored.test(await text(page, '#view')), 'the page has its score');
await look(page, 'personhood');

await signIn(viewer, VIEWER);
await view(viewer, 'money');
check(/score\s+33[.]53800/.test(await text(viewer, '#view')), 'who may only read sees it');
is(await viewer.locator('button:text-is("Let it go …")').count(), 0, 'and cannot let it go');

writeFileSync(PERSON_MODE, 'none\n');
await page.click('button:text-is("Let it go …")');
await ready(page);
check(/for 30 days the address serves no other one/.test(await text(page, '#deed')), 'letting go says what follows');
await page.click('#deed .buttons .main');
await until(async () => /No address is proven/.test(await text(page, '#view')), 'it is let go');
for (const p of [none, page, viewer])
	is(p.wrong.join(' '), '', 'no script failed, and the policy of content held');
await browser.close();
