// SPDX-License-Identifier: Apache-2.0
// A crowd at a gateway: COUNT connections from one address. With a KEY each sends the head of a request and waits for the
// gateway's word to send its body. Says how many are kept and how many were closed as soon as all are the one or the
// other; goes when its input ends.
//   node gatewaycrowd.mjs PORT COUNT [KEY]
import net from "node:net";

const [port, count, key] = process.argv.slice(2);
let kept = 0, closed = 0;
const tell = () => {
	if (kept + closed === Number(count))
		console.log(`kept ${kept} closed ${closed}`);
};
for (let i = 0; i < Number(count); i++) {
	const s = net.connect(Number(port), "127.0.0.1");
	let good = false, over = false;
	const end = () => {
		if (over)
			return;
		over = true;
		closed++;
		kept -= good ? 1 : 0;
		tell();
	};
	s.on("error", end);
	s.on("close", end);
	s.on("connect", () => {
		if (key)
			s.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`);
		else
			good = ++kept > 0;
		tell();
	});
	s.on("data", (data) => {
		if (!String(data).includes(" 100 ") || good)
			return;
		good = true;
		kept++;
		tell();
	});
}
process.stdin.on("end", () => process.exit(0)).resume();
