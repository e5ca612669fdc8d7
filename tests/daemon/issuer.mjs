// SPDX-License-Identifier: Apache-2.0
// An issuer of identities for tests: npm's oidc-provider, in $ISSUER_ROOT, on port ISSUER_PORT (0: any). Whoever types a
// name at its login page is that person. CALLBACK is the market's page. While the file FAULT is there, its token endpoint
// answers with that file's status. While the file LEFT is there, olga is in no group of operators. PROOF: how its client 'page' proves itself. KEYS is a file with its private keys; each other one is another issuer's.
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

const server = createServer((q, r) => {
	if (q.url.startsWith('/token') && process.env.FAULT && existsSync(process.env.FAULT)) {
		writeFileSync(process.env.FAULT + '.met', '');
		r.writeHead(Number(readFileSync(process.env.FAULT, 'utf8')));
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
		grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
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
	});
	handler = provider.callback();
	console.log('ready ' + url);
});
