// SPDX-License-Identifier: Apache-2.0
// Signing in at the issuer of identities, where the market has one: the browser goes there, comes back with a code, and
// proves by what only this tab knows that it is the one that went.
'use strict';

const SIGN_IN = 'sign-in';

// What the issuer sent back with: { why } or { body } for the market.
function signInBack(query, kept, redirect) {
	const error = query.get('error');

	if (!kept || kept.state !== query.get('state'))
		return { why: 'This sign-in began in another tab, or was finished before. Sign in again here.' };
	if (error === 'access_denied')
		return { why: 'Not signed in: you or the issuer refused.' };
	if (error)
		return { why: `The issuer signed nobody in: ${plain(query.get('error_description') || error)}.` };
	return { body: { code: query.get('code'), code_verifier: kept.verifier, nonce: kept.nonce,
		redirect_uri: redirect, iss: query.get('iss'), invitation: kept.invitation || null } };
}

function base64url(bytes) {
	return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

views.signin = { offer: signInOffer, came: signInCame };

if (typeof module !== 'undefined')
	module.exports = { signInBack, base64url };

function signInWord() {
	return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function signInGo() {
	const kept = { state: signInWord(), nonce: signInWord(), verifier: signInWord(),
		invitation: me.invitation, view: location.hash };

	if (!crypto.subtle)
		throw new Error('this browser signs in only on a page with https');
	const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(kept.verifier));
	const { url } = await ask('GET', '/np/v1/signin/page?' + new URLSearchParams({ state: kept.state,
		nonce: kept.nonce, code_challenge: base64url(new Uint8Array(sum)),
		redirect_uri: location.origin + '/' }));

	sessionStorage.setItem(SIGN_IN, JSON.stringify(kept));
	location.assign(url);
}

async function signInThere() {
	by('sign-there').disabled = true;
	put(by('sign-why'), '');
	try {
		await signInGo();
	} catch (e) {
		put(by('sign-why'), 'Not signed in: ' + e.message + '.');
	}
	by('sign-there').disabled = false;
}

// The button of the dialog.
async function signInOffer() {
	const there = await ask('GET', '/np/v1/signin').catch(() => ({}));

	by('sign-issuer').hidden = !there.issuer;
	by('sign-go').classList.toggle('main', !there.issuer);
	by('sign-invited').hidden = !me.invitation;
	if (!there.issuer)
		return;
	put(by('sign-name'), plain(new URL(there.issuer).host));
	by('sign-there').onclick = signInThere;
	by('sign-there').focus();
}

// The page was opened by the issuer. A sentence where nobody is signed in; ''.
async function signInCame() {
	const query = new URLSearchParams(location.search), kept = JSON.parse(sessionStorage.getItem(SIGN_IN));

	sessionStorage.removeItem(SIGN_IN);
	history.replaceState(null, '', '/' + (kept?.view || ''));
	const { why, body } = signInBack(query, kept, location.origin + '/');

	if (why)
		return why;
	me.invitation = kept.invitation;
	try {
		await ask('POST', '/np/v1/signin/page', body);
		me.invitation = '';
		return '';
	} catch (e) {
		return 'Not signed in: ' + e.message + '.';
	}
}
