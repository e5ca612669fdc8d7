// SPDX-License-Identifier: Apache-2.0
// person.mjs URL NAME [STOP]: what a person with a browser does at an issuer: opens the page, logs in as NAME, agrees, and
// follows redirects until one begins with STOP, which it prints; else prints the last page's text.
const [, , start, name, stop] = process.argv;
const jar = new Map();
let url = start, form = null;

const unescape = s => s.replace(/&amp;/g, '&').replace(/&quot;/g, '"').replace(/&#x27;|&#39;/g, "'");

for (let step = 0; step < 20; step++) {
	const answer = await fetch(url, { method: form ? 'POST' : 'GET', body: form, redirect: 'manual',
		headers: { cookie: [...jar].map(([k, v]) => k + '=' + v).join('; ') } });
	for (const line of answer.headers.getSetCookie()) {
		const [, key, value] = /^([^=]+)=([^;]*)/.exec(line);
		jar.set(key, value);
	}
	form = null;
	const to = answer.headers.get('location');
	if (to) {
		url = new URL(to, url).href;
		if (stop && url.startsWith(stop)) {
			console.log(url);
			process.exit(0);
		}
		continue;
	}
	const page = await answer.text();
	const found = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(page);
	if (!found || answer.status >= 400) {
		console.log(page.replace(/<style[\s\S]*?<\/style>|<script[\s\S]*?<\/script>|<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim());
		process.exit(answer.status >= 400 ? 1 : 0);
	}
	url = new URL(unescape(found[1]), url).href;
	form = new URLSearchParams();
	for (const [tag] of found[2].matchAll(/<input[^>]*>/g)) {
		const key = /name="([^"]*)"/.exec(tag), value = /value="([^"]*)"/.exec(tag);
		if (key)
			form.set(key[1], value ? unescape(value[1]) : key[1] === 'login' ? name : 'x');
	}
	if (form.has('login'))
		form.set('login', name);
}
console.log('it goes on for ever');
process.exit(1);
