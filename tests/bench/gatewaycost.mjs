// SPDX-License-Identifier: Apache-2.0
// What a request and a token cost through `nanopod-marketd gateway serve`, beside a direct connection to the same backend
// (tests/daemon/llm.mjs), turn by turn. tests/bench/gatewaycost starts all of it.
import fs from "node:fs";
import http from "node:http";

const { DIRECT, THROUGH, API_KEY, PID } = process.env;
const agent = new http.Agent({ keepAlive: true });
const ask = (base, words, stream) => new Promise((done, fail) => {
	const body = JSON.stringify({ model: "llama", stream, messages: [{ role: "user", content: words }] });
	const began = process.hrtime.bigint();
	const req = http.request(`${base}/v1/chat/completions`, { method: "POST", agent, headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json", "content-length": body.length } }, (res) => {
		let bytes = 0;
		res.on("data", (d) => { bytes += d.length; });
		res.on("end", () => res.statusCode === 200 ? done(Number(process.hrtime.bigint() - began) / 1e3) : fail(new Error(`status ${res.statusCode}`)));
	});
	req.on("error", fail);
	req.end(body);
});
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const cpu = () => {
	const f = fs.readFileSync(`/proc/${PID}/stat`, "utf8").split(") ")[1].split(" ");
	return (Number(f[11]) + Number(f[12])) * 1e4; // µs, of ticks of 10 ms
};

async function pairs(times, words, stream) {
	const direct = [], through = [];
	let used = 0;
	await ask(DIRECT, words, stream);
	await ask(THROUGH, words, stream);
	for (let i = 0; i < times; i++) {
		direct.push(await ask(DIRECT, words, stream));
		const was = cpu();
		through.push(await ask(THROUGH, words, stream));
		used += cpu() - was;
	}
	return { direct: median(direct), through: median(through), cpu: used / times };
}

const one = await pairs(1000, "n=1", false), TOKENS = 20000, many = await pairs(11, `n=${TOKENS}`, true);
console.log(`a request: direct ${one.direct.toFixed(0)} µs, through ${one.through.toFixed(0)} µs, gateway's processor ${one.cpu.toFixed(0)} µs`);
console.log(`a token of ${TOKENS}: direct ${(many.direct / TOKENS).toFixed(2)} µs, through ${(many.through / TOKENS).toFixed(2)} µs, gateway's processor ${(many.cpu / TOKENS).toFixed(2)} µs`);
