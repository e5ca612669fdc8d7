// SPDX-License-Identifier: Apache-2.0
// An issuer of identities for tests: npm's oidc-provider, in $ISSUER_ROOT, on port ISSUER_PORT (0: any). Whoever types a
// name at its login page is that person. CALLBACK is the market's page. While the file FAULT is there, its token endpoint
// answers with that file's status, or with no id_token where it says "bare", and FAULT.met has a line for each. While the file LEFT is there, olga is in no group of operators. AHEAD: a file that says
// how many seconds its clock is ahead. REFRESH: it gives refresh tokens, as Keycloak does. PROOF: how its client 'page'
// proves itself. KEYS is a file with its private keys; each other one is another issuer's.
import { createRequire } from 'node:module';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.ISSUER_ROOT + '/package.json');
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const file = process.env.KEYS;
if (!existsSync(file)) {
	const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
	writeFileSync(file, JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: file.split('/').pop(), use: 'sig' }));
}

const clock = Date.now, ahead = process.env.AHEAD;
if (ahead)
	Date.now = () => clock() + (existsSync(ahead) ? 1000 * Number(readFileSync(ahead, 'utf8')) : 0);

// An answer to a refresh token need not say again who it is (OpenID Connect Core 12.2).
function lessens(r) {
	const end = r.end.bind(r);
	r.end = body => {
		const said = JSON.parse(body);
		delete said.id_token;
		const text = JSON.stringify({ ...said, refresh_expires_in: 600 });
		r.setHeader('Content-Length', Buffer.byteLength(text));
		return end(text);
	};
	return r;
}

const server = createServer((q, r) => {
	if (q.url.startsWith('/token') && process.env.FAULT && existsSync(process.env.FAULT)) {
		const fault = readFileSync(process.env.FAULT, 'utf8');
		writeFileSync(process.env.FAULT + '.met', '\n', { flag: 'a' });
		if (fault === 'bare')
			return handler(q, lessens(r));
		r.writeHead(Number(fault));
		r.end('{"error":"server_error"}');
	} else {
		handler(q, r);
	}
});
let handler;
server.listen(Number(process.env.ISSUER_PORT || 0), '127.0.0.1', () => {
	const url = 'http://127.0.0.1:' + server.address().port;
	const person = id => ({ sub: id, name: id[0].toUpperCase() + id.slice(1), email: id + '@example.org',
		email_verified: id !== 'mallory', groups: { grace: ['gpu-owners', 'staff'], olga: process.env.LEFT && existsSync(process.env.LEFT) ? ['staff'] : ['staff', 'operators'] }[id] || ['staff'] });
	const page = process.env.CALLBACK || 'https://market.example.org/';
	const client = (id, more) => ({ client_id: id, token_endpoint_auth_method: 'none', response_types: ['code'],
		grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code', ...(process.env.REFRESH ? ['refresh_token'] : [])],
		redirect_uris: [page, 'https://other.example.org/'], post_logout_redirect_uris: [page], ...more });
	const provider = new Provider(url, {
		clients: [client('nanopod'), client('other'), client('page', { client_secret: 'a secret: %+',
			grant_types: ['authorization_code'], token_endpoint_auth_method: process.env.PROOF || 'client_secret_basic' })],
		jwks: { keys: [JSON.parse(readFileSync(file, 'utf8'))] },
		cookies: { keys: ['only for tests'] },
		features: { deviceFlow: { enabled: true } },
		conformIdTokenClaims: false,
		claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
		findAccount: (ctx, id) => ({ accountId: id, claims: () => person(id) }),
		ttl: { DeviceCode: 600 },
		...(process.env.REFRESH ? { issueRefreshToken: async () => true } : {}),
	});
	handler = provider.callback();
	console.log('ready ' + url);
});
