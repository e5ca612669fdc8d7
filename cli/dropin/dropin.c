/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/dropin.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "pssh/pssh.h"

int dropin_refuse(struct nanopod *np, const struct options *o, const struct dropin_absent *absent)
{
	for (; absent->option; absent++)
		if (option_given(o, absent->option))
			return print_fail_field(np, STATUS_USAGE, absent->option, absent->instead,
				"nanopod does not have '--%s'", absent->option);
	return STATUS_OK;
}

int dropin_set(struct nanopod *np, enum setting id, const char *text, const char *where)
{
	struct fail f = { 0 };

	if (text && settings_set(np->settings, id, np->depth > 1 ? LAYER_LINE : LAYER_FLAG, text, where, &f))
		return print_fail_field(np, STATUS_USAGE, where, NULL, "%s", f.text);
	return STATUS_OK;
}

int dropin_seconds(struct nanopod *np, enum setting id, const char *text, const char *where)
{
	char *end, room[64];

	if (!text)
		return STATUS_OK;
	if (!*text || strspn(text, "0123456789.") != strlen(text) || strlen(text) > 20)
		return print_fail_field(np, STATUS_USAGE, where, NULL, "'%s' takes seconds, not '%.60s'", where, text);
	if (strtod(text, &end) > 0)
		snprintf(room, sizeof room, "%ss", text);
	else
		snprintf(room, sizeof room, "%s", id == SETTING_ID_TIMEOUT ? "none" : "1d");
	return dropin_set(np, id, room, where);
}

int dropin_fanout(struct nanopod *np, const char *text, const char *usual, const char *where)
{
	return text || !settings_given(np->settings, SETTING_ID_FANOUT)
		? dropin_set(np, SETTING_ID_FANOUT, text ? text : usual, where)
		: STATUS_OK;
}

int dropin_join(const struct options *o, struct buf *out)
{
	int rc = 0;

	for (char **words = option_words(o, 0); !rc && *words; words++)
		rc = out->len ? buf_addf(out, " %s", *words) : buf_adds(out, *words);
	return rc;
}

const char *dropin_env(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;

	return text && *text ? text : NULL;
}

const char *dropin_text(const struct options *o, const char *option, const char *variable, const char *fallback)
{
	if (option_given(o, option))
		return option_text(o, option);
	return dropin_env(variable) ? dropin_env(variable) : fallback;
}

int dropin_version(struct nanopod *np, const char *tool)
{
	fprintf(np->out, "%s (nanopod %s)\n", tool, pssh_version());
	return STATUS_OK;
}
