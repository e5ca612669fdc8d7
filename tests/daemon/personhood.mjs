// SPDX-License-Identifier: Apache-2.0
// What tests/daemon/personhood.t needs of others: a wallet (ethers), the reader of EIP-4361 (siwe), and a server that
// stands for Human Passport's API v2, made from the contract that it publishes.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const load = createRequire(`${process.env.PERSON_ROOT}/`)
const [what, ...words] = process.argv.slice(2)
const input = () => readFileSync(0, 'utf8')
const wallet = (n) => new (load('ethers').Wallet)(load('ethers').id(`wallet ${n}`))

// The signature of the same text and key with the upper s, which the group has, too.
function upper(text) {
	const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
	const s = (order - BigInt(`0x${text.slice(66, 130)}`)).toString(16).padStart(64, '0')
	return text.slice(0, 66) + s + (text.endsWith('1b') ? '1c' : '1b')
}

// MODE: the file says how each request is answered.
function answer(mode, address) {
	const [word, value] = mode.split(' ')
	const body = {
		address: address.toLowerCase(), score: '33.53800', passing_score: true, threshold: '20.00000', error: null,
		last_score_timestamp: '2027-01-15T08:00:00.000000+00:00', expiration_timestamp: null,
		stamps: { Github: { score: '1.00000', dedup: false, expiration_date: null } }, linked_score: { more: 1 },
	}
	if (word === 'score') body.score = value
	if (word === 'none') body.score = null
	if (word === 'until') body.expiration_timestamp = value
	if (word === 'other') body.address = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'
	if (word === 'number') body.score = 99
	if (word === 'error') body.error = 'boom'
	if (word === 'large') body.score = '9'.repeat(40 * 1024)
	if (word === 'huge') body.stamps = { x: 'y'.repeat(1 << 20) }
	return JSON.stringify(body)
}

function give(mode, address, reply) {
	const status = mode.startsWith('status') ? Number(mode.split(' ')[1]) : 200
	const rest = { 'Retry-After': mode.split(' ')[2] ?? '1' }
	reply.writeHead(status, { 'Content-Type': 'application/json', ...(status === 429 ? rest : {}) })
	if (status !== 200) reply.end('{"detail":"no"}')
	else if (mode === 'text') reply.end('<html>99</html>')
	else if (mode === 'cut') reply.end(answer('score 99', address).slice(0, 60))
	else reply.end(answer(mode, address))
}

function serve() {
	const mode = () => readFileSync(process.env.PERSON_MODE, 'utf8').trim()
	const held = [] // what waits until the mode is another one
	const server = createServer((request, reply) => {
		const now = mode()
		const address = request.url.split('/').pop()
		console.log(`${request.method} ${request.url} ${request.headers['x-api-key']} ${now}`)
		if (now === 'hang') return
		if (now === 'drop') request.socket.destroy()
		else if (now === 'wait') held.push([address, reply])
		else give(now, address, reply)
	})
	setInterval(() => {
		while (held.length && mode() !== 'wait') give(mode(), ...held.pop())
	}, 50)
	server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`))
}

if (what === 'serve') serve()
else if (what === 'address') console.log(wallet(words[0]).address)
else if (what === 'sign') console.log(await wallet(words[0]).signMessage(input()))
else if (what === 'upper') console.log(upper(words[0]))
else if (what === 'read') {
	const x = new (load('siwe').SiweMessage)(input())
	console.log(x.domain, x.address, x.uri, x.version, x.chainId, x.nonce, x.issuedAt, x.expirationTime)
}
