// SPDX-License-Identifier: Apache-2.0
// OpenAI's own client through the gateway. What it says is TAP; how many requests ended, and with what usage, is in OUT.
//   SDK_ROOT=FOLDER BASE=URL API_KEY=TOKEN OUT=FILE node gatewaysdk.mjs check | load COUNT
import fs from "node:fs";
import { createRequire } from "node:module";

const { SDK_ROOT, BASE, API_KEY, OUT, MODEL = "llama" } = process.env;
const { default: OpenAI } = await import(createRequire(`${SDK_ROOT}/x.js`).resolve("openai"));
const client = (more = {}) => new OpenAI({ apiKey: API_KEY, baseURL: `${BASE}/v1`, timeout: 60000, ...more });
const user = (content) => [{ role: "user", content }];
let count = 0;
const ok = (good, text, got) => {
	console.log(`${good ? "ok" : "not ok"} ${++count} - ${text}`);
	if (!good)
		console.log(`# got ${JSON.stringify(got)}`);
};
const thrown = async (what) => {
	try {
		return { answer: await what() };
	} catch (e) {
		return e;
	}
};

async function streamed(ai, model, words, more = {}) {
	let text = "", usage = null, pieces = 0;
	for await (const chunk of await ai.chat.completions.create({ model, messages: user(words), stream: true, ...more })) {
		text += chunk.choices[0]?.delta?.content ?? "";
		usage = chunk.usage ?? usage;
		pieces++;
	}
	return { text, usage, pieces };
}

async function check() {
	const ai = client({ maxRetries: 0 });
	const whole = await ai.chat.completions.create({ model: "llama", messages: user("n=3") });
	ok(whole.choices[0].message.content === "t0 t1 t2 " && whole.usage.total_tokens === 4, "an answer", whole);
	ok((await ai.completions.create({ model: "llama", prompt: "n=2" })).choices[0].text === "t0 t1 ", "a completion");
	ok((await ai.embeddings.create({ model: "llama", input: "a b", encoding_format: "float" })).usage.total_tokens === 2, "an embedding");
	const models = [];
	for await (const m of ai.models.list())
		models.push(m.id);
	ok(models.includes("gpt-4o"), "models", models);
	let s = await streamed(ai, "gpt-4o", "n=50");
	ok(s.text.endsWith("t49 ") && s.usage === null && s.pieces === 51, "a stream by an alias, without the usage it did not ask for", s);
	s = await streamed(ai, "llama", "n=5", { stream_options: { include_usage: true } });
	ok(s.usage?.completion_tokens === 5, "with it where it asks", s);
	s = await ai.beta?.chat?.completions?.stream?.({ model: "llama", messages: user("n=4") }) ??
		ai.chat.completions.stream({ model: "llama", messages: user("n=4") });
	ok((await s.finalContent()) === "t0 t1 t2 t3 ", "its helper for streams");
	let e = await thrown(() => streamed(ai, "llama", "die=3 n=9"));
	ok(e instanceof OpenAI.APIError && /failed within its answer/.test(e.message), "a backend that dies within a stream is an error", String(e));
	e = await thrown(() => ai.chat.completions.create({ model: "nothing", messages: user("x") }));
	ok(e instanceof OpenAI.NotFoundError && e.code === "model_not_found", "an unknown model", String(e));
	e = await thrown(() => client({ apiKey: "npk_none", maxRetries: 0 }).models.list());
	ok(e instanceof OpenAI.AuthenticationError, "an unknown key", String(e));
	e = await thrown(() => ai.chat.completions.create({ model: "busy", messages: user("x") }));
	ok(e instanceof OpenAI.RateLimitError && e.headers.get("retry-after") === "7", "busy backends", String(e));
	e = await thrown(() => ai.chat.completions.create({ model: "llama", messages: user("hang") }));
	ok(e instanceof OpenAI.InternalServerError && e.status === 504, "a backend that hangs", String(e));
	let tries = 0;
	const spent = client({ apiKey: process.env.SPENT, maxRetries: 2, fetch: (...all) => { tries++; return fetch(...all); } });
	e = await thrown(() => spent.chat.completions.create({ model: "llama", messages: user("x") }));
	ok(e instanceof OpenAI.RateLimitError && e.code === "insufficient_quota" && tries === 1,
		"a spent budget, which it does not try again", `${tries} ${e}`);
	const stop = new AbortController();
	e = await thrown(async () => {
		for await (const chunk of await ai.chat.completions.create({ model: "llama", messages: user("endless wait=20"), stream: true }, { signal: stop.signal }))
			chunk && stop.abort();
	});
	ok(!(e instanceof TypeError), "a client that aborts", String(e));
	console.log(`1..${count}`);
}

// Many requests at once; each that ended for its client is a line: the gateway's id and the usage that the answer had.
async function load(total) {
	const ai = client({ maxRetries: 1 });
	const kinds = ["n=3", "n=6", "n=9 die=4", "n=4 nousage", "n=5", "n=12 wait=3"];
	let next = 0, whole = 0, failed = 0;
	const one = async (i) => {
		const words = `${i % 50 === 7 ? "500" : kinds[i % kinds.length]} r${i}`, stream = i % 2 === 0;
		try {
			const { data, response } = await ai.chat.completions.create({ model: MODEL, messages: user(words), stream,
				...(stream ? { stream_options: { include_usage: true } } : {}) }).withResponse();
			let usage = data.usage ?? null;
			if (stream)
				for await (const chunk of data)
					usage = chunk.usage ?? usage;
			fs.appendFileSync(OUT, JSON.stringify({ id: response.headers.get("x-request-id"), usage }) + "\n");
			whole++;
		} catch (e) {
			failed++;
		}
	};
	await Promise.all(Array.from({ length: 16 }, async () => {
		while (next < total)
			await one(next++);
	}));
	console.log(`${whole} ${failed}`);
}

await (process.argv[2] === "check" ? check() : load(Number(process.argv[3])));
