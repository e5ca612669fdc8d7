// SPDX-License-Identifier: Apache-2.0
// Personhood in the view of money: which address the account has proven, its score, and how the wallet of this browser
// (EIP-1193) proves one: it signs a text of the market, which costs nothing and moves nothing.
'use strict';

{
const ASKED_EVERY = 2000;
let asks = 0;

// What is shown of it: [[what, text]…].
function personhoodRows(p, now) {
	const rows = [], until = p.end_at ? `, until ${when(p.end_at, now)}` : '';

	if (p.address)
		rows.push(['address', p.address]);
	if (p.score !== null)
		rows.push(['score', plain(p.score) + until +
			(p.state === 'attested' ? ', written down by the operator' : '')]);
	else if (p.state === 'asking')
		rows.push(['score', 'Human Passport is being asked …']);
	else if (p.state === 'failed')
		rows.push(['score', `none yet: ${plain(p.problem)}`]);
	else if (p.address)
		rows.push(['score', 'none']);
	return rows;
}

// What a wallet takes as the text to sign.
function hexText(text) {
	return '0x' + [...new TextEncoder().encode(text)].map((b) => b.toString(16).padStart(2, '0')).join('');
}

if (typeof module !== 'undefined')
	module.exports = { personhoodRows, hexText };

// A wallet's refusal has a number (EIP-1193), and may say anything.
async function wallet(method, params) {
	try {
		return await globalThis.ethereum.request({ method, params });
	} catch (e) {
		throw new Error(e?.code === 4001 ? 'refused in the wallet; nothing was done' :
			`the wallet says: ${plain(e?.message || 'no').slice(0, LONGEST)}`);
	}
}

function prove() {
	let given = null;

	action({ title: 'Prove an address', go: 'Sign with the wallet', fields: [],
		typed: () => 'nanopod personhood prove' + (given ? ' ' + word(given.address) : ''),
		plan: async () => {
			const [address] = await wallet('eth_requestAccounts', []) || [];

			if (!address)
				throw new Error('the wallet has no address; make one there');
			given = await ask('POST', '/np/v1/personhood/challenge', { address });
			return { rows: [['address', given.address],
				['then', 'your wallet asks you to sign this text; look whether it begins with the ' +
					'name of this market'],
				['text', make('span', { class: 'signs' },
					plain(given.message).replaceAll('<000A>', '\n'))]] };
		},
		act: async (v, key) => {
			const signature = await wallet('personal_sign', [hexText(given.message), given.address]);

			await ask('POST', '/np/v1/personhood', { message: given.message, signature }, key);
			return 'The address is proven.';
		} });
}

function letGo(p) {
	action({ title: 'Let the address go', go: 'Let it go', danger: true, fields: [],
		typed: () => 'nanopod personhood release',
		plan: async () => ({ rows: [['address', p.address],
			['then', 'its score no longer counts for this account, and for 30 days the address serves no ' +
				'other one']] }),
		act: async () => {
			await ask('DELETE', '/np/v1/personhood');
			return 'The address is let go.';
		} });
}

function draw(p, now) {
	const rows = personhoodRows(p, now);
	const how = globalThis.ethereum ? make('p', {}, button('Prove an address …', prove)) : make('p',
		{ class: 'quiet' }, 'This browser has no wallet. With one elsewhere: ', make('code', {},
			'nanopod personhood prove'));

	clearTimeout(asks);
	if (p.state === 'asking') /* what comes of it is no event of the account */
		asks = setTimeout(soon, ASKED_EVERY);
	return part('Personhood', rows.length ? make('dl', { class: 'plan texts' }, ...rows.flatMap(([k, v]) =>
		[make('dt', {}, k), make('dd', {}, v)])) : make('p', { class: 'quiet' }, 'No address is proven.'),
	!may('tokens', me.who) ? '' : p.address ? make('p', {}, button('Let it go …', () => letGo(p))) : how);
}

if (typeof module === 'undefined')
	views.personhood = { draw };
}
