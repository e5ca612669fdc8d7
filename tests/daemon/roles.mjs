// SPDX-License-Identifier: Apache-2.0
// roles.mjs URL WHO=TOKEN…: asks every operation of the market's document as each of them, and prints a line for each:
// who is not refused for want of a token or a scope, where it is served at all. "WHO=" is a stranger. Nothing is made:
// ids and bodies are of nothing.
const [, , url, ...people] = process.argv;
const doc = await (await fetch(url + '/openapi.json')).json();
const skipped = ['DELETE /np/v1/signin'];      // it would end the token

for (const [path, methods] of Object.entries(doc.paths).sort())
	for (const method of Object.keys(methods).sort()) {
		const may = [];
		if (skipped.includes(method.toUpperCase() + ' ' + path))
			continue;
		for (const one of people) {
			const [who, token] = one.split('=');
			const stop = new AbortController();
			const answer = await fetch(url + path.replace(/\{[^}]*\}/g, 'nosuch'), { method: method.toUpperCase(),
				signal: stop.signal, headers: token ? { authorization: 'Bearer ' + token } : {} });
			if (![401, 403, 429, 501].includes(answer.status))
				may.push(who);
			stop.abort();
		}
		console.log(method.toUpperCase().padEnd(7) + path + ': ' + (may.join(' ') || '-'));
	}
