/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod-agentd gpus`: which host and which node has each GPU of this machine, and a CDI file of all of them. */
#include "agentd/verbs/verbs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/device/gpu_needs.h"
#include "agentd/device/host_gpus.h"

enum { GPUS_CDI_MAX = 16 << 20, GPUS_USAGE = 2 };

static int gpus_print(const struct flags *o, const json_t *list)
{
	char *text = o->json ? json_dumps(list, JSON_INDENT(2)) : NULL;
	const json_t *gpu;
	size_t i;

	if (o->json) {
		printf("%s\n", text ? text : "null");
		free(text);
		return fflush(stdout) != 0;
	}
	if (!json_array_size(list))
		printf("No host of this machine has GPUs.\n");
	json_array_foreach(list, i, gpu)
	{
		const char *host = json_string_value(json_object_get(gpu, "host")),
			   *node = json_string_value(json_object_get(gpu, "node")),
			   *why = json_string_value(json_object_get(gpu, "quarantine"));
		const char *slice = json_string_value(json_object_get(gpu, "slice"));
		char share[48] = "", model[128];

		if (slice && *slice)
			snprintf(share, sizeof share, "mig:%.31s ", slice);
		else if (json_is_integer(json_object_get(gpu, "parts")))
			snprintf(share, sizeof share, "1/%d ", (int)json_integer_value(json_object_get(gpu, "parts")));
		snprintf(model, sizeof model, "%s%.63s", share, json_string_value(json_object_get(gpu, "model")));
		printf("%s  %-16s %-24s %s%s\n", json_string_value(json_object_get(gpu, "address")), model,
			host && *host ? host : "-",
			why                     ? "kept back: "
				: node && *node ? node
						: "free",
			why ? why : "");
	}
	return fflush(stdout) != 0;
}

static int gpus_list(const struct flags *o)
{
	struct fail f = { 0 };
	json_t *list = host_gpus_json(o->data, &f);
	int status;

	if (!list)
		return verb_fail(1, f.text);
	status = gpus_print(o, list);
	json_decref(list);
	return status;
}

static int gpus_cdi(const struct flags *o)
{
	struct fail f = { 0 };
	struct buf out;
	int rc, status;

	buf_init(&out, GPUS_CDI_MAX);
	rc = gpu_needs_cdi(o->sysfs_root, &out, &f);
	status = rc ? verb_fail(1, f.text) : fputs(buf_text(&out), stdout) < 0 || fflush(stdout) != 0;
	buf_release(&out);
	return status;
}

int verb_gpus(const struct flags *o)
{
	struct fail f = { 0 };

	if (o->word_count == 0)
		return gpus_list(o);
	if (o->word_count == 1 && strcmp(o->words[0], "cdi") == 0)
		return gpus_cdi(o);
	if (o->word_count != 2 || strcmp(o->words[0], "release") != 0)
		return verb_fail(GPUS_USAGE, "'gpus' takes nothing, 'cdi', or 'release ADDRESS'");
	if (host_gpus_release(o->data, o->words[1], &f) != 0)
		return verb_fail(1, f.text);
	printf("The GPU at %s can be sold again.\n", o->words[1]);
	return 0;
}
