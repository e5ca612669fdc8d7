/* SPDX-License-Identifier: Apache-2.0 */
/* A buyer's node as a nanopod market reports it: its state, its SSH address, its host keys. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "market/wire_part.h"

static enum model_instance_status wire_node_status_of(const char *word)
{
	static const char *const words[] = {
		"",
#define WORD(name, word) word,
		MODEL_INSTANCE_STATUSES(WORD)
#undef WORD
	};

	for (size_t i = 1; word && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0)
			return (enum model_instance_status)i;
	return MODEL_INSTANCE_UNKNOWN;
}

static int read_way(struct doc *d, struct json_t *ssh, struct model_node *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_ssh, "hostname", TEXT, NEEDED, hostname), FIELD(model_ssh, "port", INT, MAY, port), { 0 },
	};
	static const struct wire_field user[] = { FIELD(model_node, "user", TEXT, MAY, user), { 0 } };
	static const struct wire_field key[] = {
		FIELD(model_key, "type", TEXT, NEEDED, type), FIELD(model_key, "key", TEXT, NEEDED, key), { 0 },
	};
	size_t n = wire_length(ssh, "host_keys");
	struct model_key *keys = wire_room(d, n, sizeof *keys);
	int rc = keys ? 0 : fail_set(f, -ENOMEM, "out of memory");

	out->ssh.port = 22;
	rc = rc ? rc : wire_fields(d, ssh, fields, "an SSH address", &out->ssh, f);
	rc = rc ? rc : wire_fields(d, ssh, user, "an SSH address", out, f);
	for (size_t i = 0; i < n && !rc; i++) {
		struct json_t *one = wire_item(ssh, "host_keys", i);

		rc = one ? wire_fields(d, one, key, "a host key", &keys[i], f)
			 : wire_bad(f, "an SSH address", "host_keys", "has a member that is not an object");
	}
	if (!rc) {
		out->ssh.keys = keys;
		out->ssh.key_count = n;
	}
	return rc;
}

int wire_gpus(struct doc *d, struct json_t *o, const char *name, const struct model_gpu **out, size_t *count,
	struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_gpu, "model", TEXT, NEEDED, model),
		FIELD(model_gpu, "count", INT, NEEDED, count),
		FIELD(model_gpu, "memory_bytes", INT, MAY, memory),
		FIELD(model_gpu, "share", TEXT, MAY, share),
		{ 0 },
	};
	size_t n = wire_length(o, name);
	struct model_gpu *gpus = wire_room(d, n, sizeof *gpus);
	int rc = gpus ? 0 : fail_set(f, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !rc; i++) {
		struct json_t *one = wire_item(o, name, i);

		rc = one ? wire_fields(d, one, fields, "a GPU", &gpus[i], f)
			 : wire_bad(f, "a node", name, "has a member that is not an object");
	}
	if (!rc) {
		*out = gpus;
		*count = n;
	}
	return rc;
}

int wire_node(struct doc *d, long at, struct model_node *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_node, "id", TEXT, NEEDED, id),
		FIELD(model_node, "name", TEXT, MAY, name),
		FIELD(model_node, "status", TEXT, NEEDED, status_text),
		FIELD(model_node, "status_message", TEXT, MAY, status_message),
		FIELD(model_node, "host_down", BOOL, MAY, host_down),
		FIELD(model_node, "ends_early", BOOL, MAY, ends_early),
		FIELD(model_node, "reservation", REF, MAY, reservation),
		FIELD(model_node, "type", TEXT, MAY, type),
		FIELD(model_node, "zone", TEXT, MAY, zone),
		FIELD(model_node, "start_at", INT, MAY, start_at),
		FIELD(model_node, "end_at", INT, MAY, end_at),
		FIELD(model_node, "created_at", INT, MAY, created_at),
		FIELD(model_node, "updated_at", INT, MAY, updated_at),
		FIELD(model_node, "ended_at", INT, MAY, ended_at),
		FIELD(model_node, "price_dollars_per_node_hour", PRICE, MAY, price),
		{ 0 },
	};
	static const struct wire_field proof[] = {
		FIELD(model_node, "state", TEXT, MAY, proof),
		FIELD(model_node, "asked", BOOL, MAY, proof_asked),
		{ 0 },
	};
	struct model_node made = { .price = -1 };
	struct json_t *o = wire_object(d, at, "a node", f);
	int rc = o ? wire_fields(d, o, fields, "a node", &made, f) : -EPROTO;
	struct json_t *ssh = wire_member(o, "ssh");

	rc = rc ? rc : wire_fields(d, wire_member(o, "verification"), proof, "a node", &made, f);
	if (!rc)
		made.status = wire_node_status_of(made.status_text);
	rc = rc || !ssh ? rc : read_way(d, ssh, &made, f);
	rc = rc ? rc : wire_gpus(d, o, "gpus", &made.gpus, &made.gpu_count, f);
	if (!rc)
		*out = made;
	return rc;
}
