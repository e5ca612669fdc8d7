/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `autoscale` of a cluster file. Prices and sums stay as they were typed: this room does not know the market. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/value.h"
#include "cli/provision/model/cluster_part.h"

enum { AUTOSCALE_MOST = 1000, AUTOSCALE_IDLE_MS = 10 * 60 * 1000, AUTOSCALE_AHEAD_MS = 60 * 60 * 1000 };

void cluster_autoscale_release(struct cluster_autoscale *a)
{
	free(a->type);
	free(a->price);
	free(a->budget);
	free(a->reservation);
	free(a->node);
}

/* The text of a key. must: it has to be there. */
static int autoscale_text(struct cluster_reading *r, const struct conf *map, const char *key, bool must, char **out)
{
	const struct conf *at = conf_get(map, key);
	int rc = 0;

	if (!at || at->type == CONF_NULL)
		return must ? conf_fail(r->file, map, r->f, "'autoscale.%s' is missing", key) : 0;
	rc = conf_expect(r->file, at, CONF_TEXT, r->f);
	if (!rc && (!*at->text || strpbrk(at->text, "\n\r")))
		rc = conf_fail(r->file, at, r->f, "'autoscale.%s' has to be one line of text", key);
	if (!rc && !(*out = strdup(at->text)))
		command_nomem();
	return rc;
}

static int autoscale_dollars(struct cluster_reading *r, const struct conf *map, const char *key, char **out)
{
	int rc = autoscale_text(r, map, key, true, out);

	if (!rc && ((*out)[strspn(*out, "$0123456789.")] || !(*out)[strcspn(*out, "0123456789")]))
		return conf_fail(r->file, conf_get(map, key), r->f, "'%.40s' is no amount in dollars like 2.10", *out);
	return rc;
}

static int autoscale_number(struct cluster_reading *r, const struct conf *map, const char *key, long least, long *out)
{
	const struct conf *at = conf_get(map, key);
	struct fail why = { 0 };
	char *text = NULL;
	int rc = autoscale_text(r, map, key, *out < 0, &text);

	if (!rc && text && value_int(text, least, AUTOSCALE_MOST, out, &why))
		rc = conf_fail(r->file, at, r->f, "%s", why.text);
	free(text);
	return rc;
}

static int autoscale_duration(struct cluster_reading *r, const struct conf *map, const char *key, int64_t *out)
{
	struct fail why = { 0 };
	char *text = NULL;
	int rc = autoscale_text(r, map, key, false, &text);

	if (!rc && text && value_duration(text, out, &why))
		rc = conf_fail(r->file, conf_get(map, key), r->f, "%s", why.text);
	free(text);
	return rc;
}

int cluster_read_autoscale(struct cluster_reading *r, const struct conf *at)
{
	static const char *const keys[] = { "type", "min", "max", "max-price", "budget", "idle", "ahead", "reservation",
		"node", NULL };
	struct cluster_autoscale *a = &r->c->autoscale;
	int rc;

	if (!at)
		return 0;
	*a = (struct cluster_autoscale){ .on = true,
		.max = -1,
		.idle_ms = AUTOSCALE_IDLE_MS,
		.ahead_ms = AUTOSCALE_AHEAD_MS };
	rc = conf_expect(r->file, at, CONF_MAP, r->f);
	rc = rc ? rc : conf_known(r->file, at, keys, r->f);
	rc = rc ? rc : autoscale_text(r, at, "type", true, &a->type);
	rc = rc ? rc : autoscale_number(r, at, "min", 0, &a->min);
	rc = rc ? rc : autoscale_number(r, at, "max", 1, &a->max);
	rc = rc ? rc : autoscale_dollars(r, at, "max-price", &a->price);
	rc = rc ? rc : autoscale_dollars(r, at, "budget", &a->budget);
	rc = rc ? rc : autoscale_duration(r, at, "idle", &a->idle_ms);
	rc = rc ? rc : autoscale_duration(r, at, "ahead", &a->ahead_ms);
	rc = rc ? rc : autoscale_text(r, at, "reservation", false, &a->reservation);
	rc = rc ? rc : autoscale_text(r, at, "node", false, &a->node);
	if (!rc && a->min > a->max)
		rc = conf_fail(r->file, at, r->f, "'autoscale.min' is larger than 'max'");
	if (!rc && a->ahead_ms % 60000)
		rc = conf_fail(r->file, at, r->f,
			"'autoscale.ahead' has to be whole minutes, as the market sells them");
	return rc;
}
