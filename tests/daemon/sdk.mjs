// SPDX-License-Identifier: Apache-2.0
// SF Compute's own SDK against a market: every call that it has. Prints "ok TEXT" or "not ok TEXT: …"
// a line, for sdk.t. What the agent on a host would do is asked of the market's operator, by sdk.t's hooks.
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

const require = createRequire(process.env.SDK_ROOT + '/');
const { default: SFCNodes } = require('@sfcompute/nodes-sdk-alpha');
const start = Number(process.env.SDK_NOW);
const hour = 3600;
let failed = 0;

function is(got, want, text) {
	const same = isDeepStrictEqual(got, want);
	failed += same ? 0 : 1;
	console.log(same ? `ok ${text}` : `not ok ${text}: got ${JSON.stringify(got)}, expected ${JSON.stringify(want)}`);
}

// The error that the SDK throws: its class, status, and the market's own code.
async function refusal(promise) {
	try {
		await promise;
		return 'nothing was thrown';
	} catch (e) {
		return `${e.constructor.name} ${e.status} ${e.error?.error?.type} ${e.error?.error?.code}`;
	}
}

// sdk.t's side: HOOK clock SECONDS, HOOK report INSTANCE.
function hook(...args) {
	execFileSync(process.env.SDK_HOOK, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

const client = new SFCNodes(); // both settings from the environment
const nodes = client.nodes;

// ---- Zones ----
const zones = await client.zones.list();
is([zones.object, zones.data.map((z) => z.name)], ['list', ['richmond']], 'zones.list');
const zone = await client.zones.get('richmond');
is([zone.object, zone.hardware_type, zone.interconnect_type, zone.delivery_type, zone.available_capacity.length > 0],
	['zone', 'H100', 'Infiniband', 'VM', true], 'zones.get');
is(await refusal(client.zones.get('hayesvalley')), 'NotFoundError 404 not_found not_found', 'zones.get of one that is not there');

// ---- Scripts and images ----
is((await client.vms.script.create({ script: '#!/bin/sh\necho hi\n' })).script, '#!/bin/sh\necho hi\n', 'vms.script.create');
is((await client.vms.script.retrieve()).script, '#!/bin/sh\necho hi\n', 'vms.script.retrieve');
const images = await client.vms.images.list();
is([images.object, images.has_more, images.data.length], ['list', false, 1], 'vms.images.list');
is((await client.vms.images.get(images.data[0].image_id)).name, images.data[0].name, 'vms.images.get');

// ---- Create ----
const made = await nodes.create({
	desired_count: 2, max_price_per_node_hour: 1500, names: ['alpha', 'beta'], zone: 'richmond', node_type: 'reserved',
	end_at: start + 4 * hour,
});
is([made.object, made.data.map((n) => [n.object, n.name, n.status, n.node_type, n.zone, n.gpu_type, n.max_price_per_node_hour])],
	['list', ['alpha', 'beta'].map((n) => ['node', n, 'pending', 'reserved', 'richmond', 'H100', 1500])], 'nodes.create of two');
const alpha = made.data[0];
is(await refusal(nodes.create({ desired_count: 1, max_price_per_node_hour: 1500, names: ['alpha'], zone: 'richmond', end_at: start + 4 * hour })),
	'BadRequestError 400 invalid_request_error name_taken', 'a name that is in use');
is(await refusal(nodes.create({ desired_count: 1, max_price_per_node_hour: 1000, zone: 'richmond', end_at: start + 4 * hour })),
	'UnprocessableEntityError 422 unprocessable_entity price_too_low', 'a cap that is too low');
is(await refusal(nodes.create({ desired_count: 9, max_price_per_node_hour: 9900, zone: 'richmond', end_at: start + 4 * hour })),
	'UnprocessableEntityError 422 unprocessable_entity no_capacity', 'more than there are');
is(await refusal(nodes.create({ desired_count: 1, max_price_per_node_hour: 1500, zone: 'richmond', node_type: 'reserved' })),
	'UnprocessableEntityError 422 unprocessable_entity invalid', 'a reserved node without an end');

// ---- List and get ----
is((await nodes.list()).data.map((n) => n.name), ['alpha', 'beta'], 'nodes.list');
is((await nodes.list({ name: ['beta', 'gamma'] })).data.map((n) => n.name), ['beta'], 'nodes.list by names');
is((await nodes.list({ id: [alpha.id] })).data.map((n) => n.id), [alpha.id], 'nodes.list by id');
is((await nodes.list({ type: 'autoreserved' })).data, [], 'nodes.list by type');
is((await nodes.get('alpha')).id, alpha.id, 'nodes.get by name');
is((await nodes.get(alpha.id)).name, 'alpha', 'nodes.get by id');
is(await refusal(nodes.get('gamma')), 'NotFoundError 404 not_found not_found', 'nodes.get of one that is not there');
is(await refusal(new SFCNodes({ bearerToken: 'npk_wrong' }).nodes.list()), 'AuthenticationError 401 authentication_error unauthenticated',
	'a token that is not known');

// ---- Running ----
hook('clock', String(start + 120));
hook('report', alpha.current_vm.id.replace(/^vm_/, 'inst_'));
const running = await nodes.get('alpha');
is([running.status, running.current_vm.status, running.current_vm.id], ['running', 'Running', alpha.current_vm.id], 'it runs');
const ssh = await client.vms.ssh({ vm_id: alpha.current_vm.id });
is([ssh.ssh_hostname, ssh.ssh_port, ssh.ssh_host_keys[0].key_type], ['192.0.2.1', 22, 'ssh-ed25519'], 'vms.ssh');
is((await client.vms.logs({ instance_id: alpha.current_vm.id, order_by: 'seqnum_asc', limit: 10 })).data, [], 'vms.logs');

// ---- Extend ----
const extended = await nodes.extend(alpha.id, { duration_seconds: 2 * hour, max_price_per_node_hour: 1500 });
is([extended.end_at, extended.current_vm.id], [start + 6 * hour, alpha.current_vm.id], 'nodes.extend keeps the machine');
is(await refusal(nodes.extend(alpha.id, { duration_seconds: 1800, max_price_per_node_hour: 1500 })),
	'UnprocessableEntityError 422 unprocessable_entity invalid', 'nodes.extend by half an hour');
is(await refusal(nodes.extend(alpha.id, { duration_seconds: hour, max_price_per_node_hour: 1000 })),
	'UnprocessableEntityError 422 unprocessable_entity price_too_low', 'nodes.extend below the price');
is(await refusal(nodes.extend(alpha.id, { duration_seconds: 1000 * hour, max_price_per_node_hour: 1500 })),
	'UnprocessableEntityError 422 unprocessable_entity hosts_sold', 'nodes.extend past what is on sale');

// ---- Redeploy ----
const again = await nodes.redeploy(alpha.id, { cloud_init_user_data: 'IyEvYmluL3NoCg==' });
is([again.id, again.vms.data.length, again.vms.data[0].status, again.current_vm.id !== alpha.current_vm.id],
	[alpha.id, 2, 'Destroyed', true], 'nodes.redeploy');

// ---- Release and delete ----
is(await refusal(nodes.delete(alpha.id)), 'ConflictError 409 conflict wrong_state', 'nodes.delete of one that lives');
const auto = (await nodes.create({ desired_count: 1, max_price_per_node_hour: 1800, names: ['auto'], any_zone: true })).data[0];
is([auto.node_type, auto.end_at, auto.procurement_id?.slice(0, 5)], ['autoreserved', null, 'proc_'], 'nodes.create of an autoreserved one');
is(await refusal(nodes.extend(auto.id, { duration_seconds: hour, max_price_per_node_hour: 1500 })),
	'UnprocessableEntityError 422 unprocessable_entity invalid', 'which is not extended by hand');
is((await nodes.release(auto.id)).status, 'released', 'nodes.release');
is(await refusal(nodes.release(auto.id)), 'ConflictError 409 conflict wrong_state', 'once');
hook('clock', String(start + 5 * hour));
is((await nodes.get('beta')).status, 'terminated', 'at its end a node is terminated');
await nodes.delete('beta');
await nodes.delete(auto.id);
is((await nodes.list()).data.map((n) => n.name), ['alpha'], 'nodes.delete');

process.exit(failed ? 1 : 0);
