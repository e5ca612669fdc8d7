/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a settings file: parsed or refused, and what was changed in one parses again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/confedit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every text can be read to its end, every place lies in the file. */
static void walk(const struct conf *value, unsigned lines)
{
	if (value->line == 0 || value->line > lines ||
		(value->type == CONF_TEXT && strlen(value->text) > CONF_BYTES_MAX))
		abort();
	for (size_t i = 0; i < value->count; i++)
		walk(&value->items[i], lines);
}

static void check_edit(const struct buf *text, const char *const *keys, const char *value, int list)
{
	struct conf_file *file = NULL;
	struct buf out;
	const struct conf *at;
	int rc;

	buf_init(&out, CONF_BYTES_MAX);
	rc = confedit_set("fuzz", text, keys, &value, value ? 1 : 0, list, &out, NULL);
	if (rc == 0) {
		if (conf_parse("fuzz", buf_text(&out), out.len, &file, NULL))
			abort();
		at = &file->root;
		for (; at && *keys; keys++)
			at = conf_get(at, *keys);
		if (!at != !value)
			abort();
		if (at && !list && (at->type != CONF_TEXT || strcmp(at->text, value) != 0))
			abort();
		if (at && list && (at->type != CONF_LIST || at->count != 1 || strcmp(at->items[0].text, value) != 0))
			abort();
	}
	conf_free(file);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_file *file = NULL;
	struct fail f = { 0 };
	struct buf text;
	unsigned lines = 2;

	if (conf_parse("fuzz", (const char *)data, size, &file, &f) < 0 && !*f.text)
		abort();
	for (size_t i = 0; i < size; i++) /* all that YAML takes for the end of a line */
		lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 || data[i] == 0xa9;
	for (size_t i = 0; file && i < file->root.count; i++)
		walk(&file->root.items[i], lines);
	conf_free(file);
	if (size > CONF_BYTES_MAX)
		return 0;
	buf_init(&text, CONF_BYTES_MAX);
	if (buf_add(&text, data, size) == 0) {
		check_edit(&text, (const char *const[]){ "fanout", NULL }, "8", 0);
		check_edit(&text, (const char *const[]){ "groups", "web", NULL }, "it's: [n]", 0);
		check_edit(&text, (const char *const[]){ "profiles", "p", "identity", NULL }, "~/x", 1);
		check_edit(&text, (const char *const[]){ "fanout", NULL }, NULL, 0);
	}
	buf_release(&text);
	return 0;
}
