// SPDX-License-Identifier: Apache-2.0
// An issuer of identities for tests: npm's oidc-provider, in $ISSUER_ROOT, on port ISSUER_PORT (0: any). Whoever types a
// name at its login page is that person. KEYS is a file with its private keys; each other one is another issuer's.
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

const server = createServer((q, r) => handler(q, r));
let handler;
server.listen(Number(process.env.ISSUER_PORT || 0), '127.0.0.1', () => {
	const url = 'http://127.0.0.1:' + server.address().port;
	const person = id => ({ sub: id, name: id[0].toUpperCase() + id.slice(1), email: id + '@example.org',
		email_verified: true, groups: id === 'grace' ? ['gpu-owners', 'staff'] : ['staff'] });
	const client = (id, more) => ({ client_id: id, token_endpoint_auth_method: 'none', response_types: ['code'],
		grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
		redirect_uris: [process.env.CALLBACK || 'https://market.example.org/np/v1/signin/callback'], ...more });
	const provider = new Provider(url, {
		clients: [client('nanopod'), client('other')],
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
