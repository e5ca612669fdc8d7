/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/userdata.h"

#include <string.h>

#include "agentd/keyline.h"
#include "base/str.h"
#include "conf/conf.h"

enum { KEYS_MAX = 256 * 1024, SCRIPT_MAX = 256 * 1024, NOTES_MAX = 16 * 1024 };

static void userdata_note(struct userdata *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* May quote the buyer's text: removes what could control a terminal. */
static void userdata_note(struct userdata *u, const char *fmt, ...)
{
	size_t from = u->notes.len;
	va_list ap;

	va_start(ap, fmt);
	if (buf_vaddf(&u->notes, fmt, ap) == 0 && buf_addc(&u->notes, '\n') != 0)
		buf_cut(&u->notes, from);
	va_end(ap);
	for (size_t i = from; i + 1 < u->notes.len; i++)
		if ((unsigned char)u->notes.data[i] < ' ' || u->notes.data[i] == 0x7f)
			u->notes.data[i] = '?';
}

static void userdata_take_keys(struct userdata *u, const struct conf *list)
{
	struct fail f = { 0 };

	if (list->type == CONF_NULL)
		return;
	if (list->type != CONF_LIST) {
		userdata_note(u,
			"ssh_authorized_keys is not a list, so no key was installed: "
			"write '- ssh-ed25519 AAAA…' below it");
		u->refused++;
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct conf *item = &list->items[i];

		if (i >= USERDATA_KEYS) {
			userdata_note(u, "more than %d keys; the rest was left out", USERDATA_KEYS);
			u->refused += (unsigned)(list->count - i);
			return;
		}
		if (item->type == CONF_TEXT && keyline_add(item->text, strlen(item->text), &u->keys, &f) == 0) {
			u->key_count++;
			continue;
		}
		userdata_note(u, "key %zu is refused: %s", i + 1,
				item->type == CONF_TEXT ? f.text : "it is not a text");
		u->refused++;
	}
}

/* A command is a text for the shell, or a list of words. */
static int userdata_take_command(struct userdata *u, const struct conf *item)
{
	int rc = 0;

	if (item->type == CONF_TEXT)
		return buf_adds(&u->script, item->text) || buf_addc(&u->script, '\n');
	if (item->type != CONF_LIST)
		return -1;
	for (size_t i = 0; i < item->count && !rc; i++) {
		if (item->items[i].type != CONF_TEXT)
			return -1;
		rc = (i ? buf_addc(&u->script, ' ') : 0) || str_quote_sh(&u->script, item->items[i].text);
	}
	return rc || buf_addc(&u->script, '\n');
}

static void userdata_take_commands(struct userdata *u, const struct conf *list)
{
	if (list->type == CONF_NULL)
		return;
	buf_adds(&u->script, "#!/bin/sh\n");
	for (size_t i = 0; list->type == CONF_LIST && i < list->count; i++) {
		size_t before = u->script.len;

		if (userdata_take_command(u, &list->items[i]) == 0)
			continue;
		buf_cut(&u->script, before);
		userdata_note(u,
			"command %zu of runcmd is left out: it is neither a text nor a list of words that fits", i + 1);
	}
	if (list->type != CONF_LIST)
		userdata_note(u, "runcmd is not a list, and was left out");
	if (u->script.len == strlen("#!/bin/sh\n"))
		buf_clear(&u->script);
}

static void userdata_take_config(struct userdata *u, const char *text, size_t len)
{
	struct conf_file *file = NULL;
	struct fail f = { 0 };

	if (conf_parse("user data", text, len, &file, &f) != 0) {
		userdata_note(u, "%s; no key was installed", f.text);
		u->refused++;
		return;
	}
	for (size_t i = 0; i < file->root.count; i++) {
		const struct conf *part = &file->root.items[i];

		if (strcmp(part->key, "ssh_authorized_keys") == 0)
			userdata_take_keys(u, part);
		else if (strcmp(part->key, "runcmd") == 0)
			userdata_take_commands(u, part);
		else
			userdata_note(u,
				"cloud-config: '%.60s' is not supported and was left out "
				"(supported: ssh_authorized_keys, runcmd)",
				part->key);
	}
	conf_free(file);
}

void userdata_read(const void *data, size_t len, struct userdata *out)
{
	const char *text = data;

	memset(out, 0, sizeof *out);
	buf_init(&out->keys, KEYS_MAX);
	buf_init(&out->script, SCRIPT_MAX);
	buf_init(&out->notes, NOTES_MAX);
	if (!len)
		return;
	if (memchr(text, '\0', len) || (len > 1 && text[0] == '\x1f' && text[1] == '\x8b')) {
		userdata_note(out, "the user data is not text (compressed data is not accepted), and was left out");
		out->refused++;
	} else if (len >= 2 && memcmp(text, "#!", 2) == 0) {
		if (buf_add(&out->script, text, len) != 0)
			userdata_note(out, "the script is larger than %d KiB, and was left out", SCRIPT_MAX / 1024);
	} else if (len >= 13 && memcmp(text, "#cloud-config", 13) == 0) {
		userdata_take_config(out, text, len);
	} else {
		userdata_note(out, "the user data is neither '#cloud-config' nor a '#!' script, and was left out");
		out->refused++;
	}
}

void userdata_release(struct userdata *u)
{
	buf_release(&u->keys);
	buf_release(&u->script);
	buf_release(&u->notes);
}
