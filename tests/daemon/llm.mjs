// SPDX-License-Identifier: Apache-2.0
// A backend with OpenAI's API, for tests of the gateway: its answers and its faults are in what it is asked. Each answer's
// usage is in its log before the answer's end leaves.
//   LOG=FILE [NAME=a] [KEY=k] [FAULT=500|429|refuse] [HOST=address] [PORT=n] node llm.mjs
// A message is words: "n=5" tokens of answer; "wait=MS" before each, "pad=5" longer by so much; "die=3": cuts the connection after so many;
// "nousage", "negative", "junk", "huge", "endless", "nodone", "html", "error", "hang", "400", "500", "lonely" (a stream that
// nobody asked for), "hold" (begins, and ends after SIGUSR2).
import fs from "node:fs";
import http from "node:http";

const { LOG, NAME = "a", KEY = "", FAULT = "", PORT = 0, HOST = "127.0.0.1" } = process.env;
const log = (entry) => fs.appendFileSync(LOG, JSON.stringify({ name: NAME, ...entry }) + "\n");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

let released = false;
process.on("SIGUSR2", () => { released = true; });

function wants(body) {
	const text = body.messages ? body.messages.map((m) => m.content).join(" ") : String(body.prompt ?? body.input ?? "");
	const words = Object.fromEntries(text.split(/\s+/).map((w) => w.split("=")));
	return { n: 5, wait: 0, ...Object.fromEntries(Object.entries(words).map(([k, v]) => [k, v === undefined ? true : Number(v)])),
		prompt: text.split(/\s+/).length };
}

function fail(res, status, headers = {}) {
	res.writeHead(status, { "content-type": "application/json", ...headers });
	res.end(JSON.stringify({ error: { message: `backend ${NAME} says ${status}`, type: "t", param: null, code: "c" } }));
}

async function stream(req, res, body, w, usage) {
	const chat = req.url.includes("chat"), id = req.headers["x-request-id"];
	const piece = (choices, more = {}) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: body.model, choices, ...more })}\n\n`;
	const choice = (text, end) => [chat ? { index: 0, delta: text === null ? {} : { role: "assistant", content: text }, finish_reason: end } : { index: 0, text: text ?? "", finish_reason: end }];

	res.writeHead(200, { "content-type": "text/event-stream" });
	if (w.error) {
		res.end(`data: {"error":{"message":"no memory","type":"t","code":"c"}}\n\n`);
		return;
	}
	if (w.huge) {
		res.end("data: " + "x".repeat(3 << 20) + "\n\n");
		return;
	}
	res.write(": hello\r\n\r\n");
	let left = false;
	res.on("close", () => { left = true; });
	for (let i = 0; (i < w.n || w.endless) && !left; i++) {
		if (w.wait)
			await wait(w.wait);
		if (i === w.die) {
			log({ id, cut: i });
			setTimeout(() => req.socket.destroy(), 50);
			return;
		}
		if (w.hang && i === w.n - 1)
			return;
		const text = piece(choice(`t${i} ${"x".repeat(w.pad ?? 0)}`, null), w.usagenull ? { usage: null } : {});
		if (w.endless && !left && !res.write(text))
			await new Promise((go) => { res.once("drain", go); res.once("close", go); });
		else if (!w.endless)
			res.write(w.junk && i === w.n - 1 ? "data: {\"a\":\n\n" : text);
	}
	if (left) {
		log({ id, left: true });
		return;
	}
	res.write(piece(choice(null, "stop")));
	if (body.stream_options?.include_usage && usage)
		res.write(piece([], { usage }));
	log({ id, usage, chat, done: true });
	res.end(w.nodone ? "" : "data: [DONE]\n\n");
}

async function whole(req, res, body, w, usage) {
	const id = req.headers["x-request-id"];
	const text = Array.from({ length: w.n }, (_, i) => `t${i} `).join("");
	const answer = req.url.includes("embeddings")
		? { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }], model: body.model, usage: { prompt_tokens: w.prompt, total_tokens: w.prompt } }
		: { id: "c", object: "chat.completion", created: 1, model: body.model, usage,
			choices: [req.url.includes("chat") ? { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" } : { index: 0, text, finish_reason: "stop" }] };
	if (!usage)
		delete answer.usage;
	const bytes = w.junk ? "{\"a\":" : JSON.stringify(answer);
	if (w.die !== undefined) {
		res.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
		res.write(bytes.slice(0, 10));
		log({ id, cut: 0 });
		setTimeout(() => req.socket.destroy(), 10);
		return;
	}
	if (w.hold) {
		let left = false;
		res.on("close", () => { left = true; });
		res.writeHead(200, { "content-type": "application/json" });
		log({ id, held: true });
		for (; !released && !left; await wait(100))
			res.write(" ");
		res.end(bytes);
		return;
	}
	log({ id, usage: answer.usage, done: true });
	res.writeHead(200, { "content-type": w.html ? "text/html" : "application/json" });
	res.end(bytes);
}

const server = http.createServer(async (req, res) => {
	let text = "";
	for await (const piece of req)
		text += piece;
	if (req.url === "/v1/models" || req.url === "/health")
		return FAULT === "500" ? fail(res, 500) : res.end("{}");
	const body = JSON.parse(text), w = wants(body);
	log({ id: req.headers["x-request-id"], asked: body.model, account: req.headers["x-nanopod-account"], authorization: req.headers.authorization ?? "", headers: req.rawHeaders, options: body.stream_options ?? null });
	if (KEY && req.headers.authorization !== `Bearer ${KEY}`)
		return fail(res, 401);
	if (FAULT === "429")
		return fail(res, 429, { "retry-after": "7" });
	if (FAULT === "500" || w["500"])
		return fail(res, 500);
	if (w["400"])
		return fail(res, 400);
	if (w.hang && !body.stream)
		return;
	if (FAULT === "flaky" && Math.random() < 0.2)
		return Math.random() < 0.5 ? fail(res, 503) : req.socket.destroy();
	const usage = w.nousage ? null : w.negative ? { prompt_tokens: -5, completion_tokens: w.n, total_tokens: 0 }
		: { prompt_tokens: w.prompt, completion_tokens: w.n, total_tokens: w.prompt + w.n };
	if (body.stream || w.lonely)
		await stream(req, res, body, w, usage);
	else
		await whole(req, res, body, w, usage);
});
server.keepAliveTimeout = 60000;
server.listen(Number(PORT), HOST, () => console.log(`ready ${server.address().port}`));
