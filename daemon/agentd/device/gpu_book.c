/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_book.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/contract.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"

int gpu_book_load(struct gpu_book *b, struct fail *f)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL, *list;
	int rc = statefile_path(path, b->data, "gpus.json", NULL);

	rc = rc ? fail_set(f, rc, "the path of '%s' is too long", b->data) : statefile_load(path, &j, f);
	if (rc == -ENOENT) {
		b->gpus = json_array();
		return b->gpus ? 0 : fail_set(f, -ENOMEM, "out of memory");
	}
	if (rc)
		return rc;
	list = json_object_get(j, "gpus");
	b->gpus = json_is_array(list) ? json_incref(list) : NULL;
	json_decref(j);
	return b->gpus ? 0 : fail_set(f, -EINVAL, "'%s' is damaged", path);
}

int gpu_book_open(struct gpu_book *b, const char *data, struct fail *f)
{
	*b = (struct gpu_book){ .data = data, .lock = -1 };
	b->lock = statefile_lock(data, "gpus.lock", LOCK_EX, -1, f);
	return b->lock < 0 ? b->lock : gpu_book_load(b, f);
}

int gpu_book_turn(const char *data, int how, struct fail *f)
{
	return gpu_turn(data, how, GPU_TURN_MS, f);
}

int gpu_book_save(const struct gpu_book *b, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, b->data, "gpus.json", NULL);

	return rc ? fail_set(f, rc, "the path of '%s' is too long", b->data)
		  : statefile_json(path, json_pack("{s:O}", "gpus", b->gpus), f);
}

void gpu_book_close(struct gpu_book *b)
{
	json_decref(b->gpus);
	if (b->lock >= 0)
		close(b->lock);
	json_decref(b->known);
	b->gpus = b->known = NULL;
	b->lock = -1;
}

const char *gpu_book_word(const json_t *gpu, const char *name)
{
	const char *text = json_string_value(json_object_get(gpu, name));

	return text ? text : "";
}

bool gpu_book_is(const json_t *gpu, const char *name, const char *value)
{
	return strcmp(gpu_book_word(gpu, name), value) == 0;
}

void gpu_book_set(json_t *gpu, const char *name, const char *value)
{
	json_object_set_new(gpu, name, json_string(value));
}

void gpu_book_keep_back(json_t *gpu, const struct fail *why)
{
	char text[sizeof why->text];

	snprintf(text, sizeof text, "%s", *why->text ? why->text : "nobody knows why");
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	gpu_book_set(gpu, "quarantine", text);
}

unsigned gpu_book_parts(const json_t *gpu)
{
	int64_t parts = statefile_int(gpu, "parts", 0);

	if (parts < 1 || (parts == 1 && !gpu_book_is_slice(gpu)))
		return 0;
	return parts <= GPU_PARTS_MAX ? (unsigned)parts : 0;
}

bool gpu_book_is_slice(const json_t *gpu)
{
	return *gpu_book_word(gpu, "slice") != '\0';
}

bool gpu_book_is_cut(const json_t *gpu, unsigned parts, const char *slice)
{
	return gpu_book_is(gpu, "slice", slice) && (*slice || gpu_book_parts(gpu) == parts);
}

bool gpu_book_is_dead(const struct gpu_book *b, const char *node)
{
	char nodes[STATEFILE_PATH], path[STATEFILE_PATH];
	struct stat st;

	return *node && statefile_path(nodes, b->data, "nodes", NULL) == 0 &&
		statefile_path(path, nodes, node, NULL) == 0 && stat(path, &st) != 0 && errno == ENOENT;
}

bool gpu_book_in_use(const struct gpu_book *b, const json_t *gpu)
{
	return !gpu_book_is(gpu, "node", "") && !gpu_book_is_dead(b, gpu_book_word(gpu, "node"));
}
