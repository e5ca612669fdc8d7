// SPDX-License-Identifier: Apache-2.0
// The texts of marketd's page: the functions of page.js that need no browser. Says "ok …" or "not ok …" a line.
import { createRequire } from 'node:module';

const page = createRequire(import.meta.url)(process.argv[2]);

function is(got, want, text) {
	const [a, b] = [JSON.stringify(got), JSON.stringify(want)];

	console.log(a === b ? 'ok ' + text : `not ok ${text}: ${a}, not ${b}`);
}

const window = (seconds, limit, asks) => ({ seconds, nodes: asks.length, limit, asks });
const ask = { dollars_per_node_hour: '16.000020', nodes: 2 };
const type = (more) => ({ instance_sku: 'isku_1', type: 'h100', gpus: 8, proof: false, properties: {}, on_sale: 2, on_sale_together: 0,
	windows: [window(3600, '2.00', [ask]), window(86400, '2.05', [ask]), window(604800, null, [])], ...more });

is([2, 1.801, 0.12, 0.1224, 0.00451, 1234567.891, null, undefined].map(page.dollars),
	['$2.00', '$1.81', '$0.12', '$0.1224', '$0.00451', '$1,234,567.90', '–', '–'], 'prices are rounded up, and an unknown one is no zero');
is(page.dollars(page.perUnit('16.000020', 8)), '$2.00', 'a step of the market is no cent');
is([page.perUnit('0.9', 0), page.perUnit(null, 8)], [0.9, null], 'a node without GPUs is priced whole');
is(page.facts(type({ proof: true, properties: { accelerator: 'h100', form_factor: 'pcie', num_vcpus: 1, memory: 2 ** 41, region: 'eu' } })),
	'8 × H100 PCIe · 1 vCPU · 2 TiB · eu · measured', 'what a type is');
is(page.facts(type({ properties: { accelerator: 'constructor', form_factor: '__proto__' } })), '8 × CONSTRUCTOR __proto__',
	'words that JavaScript knows are words');
is([1023, 1536, 2 ** 30 * 100, 2 ** 30 * 1.5].map(page.bytes), ['1023 B', '1.5 KiB', '100 GiB', '1.5 GiB'], 'sizes');
is(page.command(type({}), 1), 'nanopod buy -t h100 -n 1 -d 24h -p 2.05', 'the command that buys one');
is(page.command(type({}), 2), '', 'there is none for what nobody sells');
is(page.command(type({ type: "a'; rm -rf ~" }), 0), 'nanopod buy -t isku_1 -n 1 -d 1h -p 2.00', 'a name that a shell would read is not in it');
is(page.command(type({ type: null }), 0), 'nanopod buy -t isku_1 -n 1 -d 1h -p 2.00', 'nor one that is not there');
is(page.plain('a\u202eb\u001b[0m\u0000\u200f<b>é'), 'a<202E>b<001B>[0m<0000><200F><b>é', 'what hides or turns text is written out');
is(page.headline({ types: [] }), 'Nothing is for sale now: this market has no types of nodes yet.', 'no types');
is(page.headline({ types: [type({ on_sale: 0 })] }), 'Nothing is for sale now.', 'nothing for sale');
is(page.headline({ types: [type({ on_sale: 1 })] }), '1 node for sale now, of 1 type.', 'one node');
is(page.headline({ types: [type({}), type({ on_sale: 0, on_sale_together: 16 })] }),
	'2 nodes for sale now, of 1 type; 16 nodes in offers that are sold only whole.', 'what is sold only whole is said apart');
is([-1, 4, 89, 90, 5400, 200000].map(page.ago), ['0 s ago', '4 s ago', '89 s ago', '2 min ago', '2 h ago', '2 days ago'], 'how long ago');
is([0, 1, 2, 3, 50].map((n) => page.pause(n, 0.5)), [10000, 20000, 40000, 60000, 60000], 'it asks every 10 s, and seldom where nothing answers');
is([page.pause(1, 0), page.pause(1, 1)], [15000, 25000], 'and not at once with all others');
is(page.levels(type({ windows: [window(3600, '2.00', [ask, { dollars_per_node_hour: '16.000080', nodes: 3 }, { dollars_per_node_hour: '16.8', nodes: 1 }])] }), 0),
	[['$2.00', 5], ['$2.10', 1]], 'prices that look the same are one level');
is(page.curve([1, 2, null, 3], 30, 10).pieces, [[[0, 10], [10, 5]], [[30, 0]]], 'a gap in a curve stays one');
is(page.curve([2, 2], 10, 10).pieces, [[[0, 5], [10, 5]]], 'a price that does not change is a line');
for (const bad of [null, {}, [], { object: 'public' }, { object: 'public', types: [{}] }, { object: 'public', types: [type({ windows: [] })] }]) {
	let said = '';

	try {
		page.checked(bad);
	} catch (e) {
		said = e.message;
	}
	is(said, 'the answer is not one of a market', 'refused as data: ' + JSON.stringify(bad).slice(0, 40));
}
is(page.checked({ object: 'public', types: [type({})] }).types.length, 1, 'a good answer is not');
