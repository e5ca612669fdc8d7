/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alerts/alertway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "cli/frame/signals.h"
#include "cli/trade/tokenfile.h"
#include "market/client.h"

/* A receiver that does not answer must not keep the others waiting for long. */
enum { HOOK_CONNECT_MS = 5000, HOOK_WHOLE_MS = 10000 };

static const char way_forms[] = "use https://…, mail:ADDRESS, alertmanager:URL, or @FILE that has one of them";

static int alert_way_url(struct alert_way *w, const char *url, struct fail *f)
{
	struct client_setup setup = { .connect_ms = HOOK_CONNECT_MS, .whole_ms = HOOK_WHOLE_MS, .tries = 1 };
	struct fail why;
	size_t scheme = str_starts(url, "https://") ? 8 : str_starts(url, "http://") ? 7 : 0, len;

	if (!scheme)
		return fail_set(f, -EINVAL, "'%.20s%s' is nothing that alerts can be sent to: %s", url,
			strlen(url) > 20 ? "…" : "", way_forms);
	len = scheme + strcspn(url + scheme, "/?#");
	w->base = strndup(url, len);
	if (!w->base || asprintf(&w->path, "%s%s", url[len] == '/' ? "" : "/", url + len) < 0)
		command_nomem();
	while (w->kind == ALERT_MANAGER && *w->path && w->path[strlen(w->path) - 1] == '/')
		w->path[strlen(w->path) - 1] = '\0';
	if (strpbrk(w->path, "#\\ ") || strchr(w->base, '@'))
		return fail_set(f, -EINVAL, "the URL at '%.100s' has a %s, which cannot be sent",
			strchr(w->base, '@') ? strchr(w->base, '@') + 1 : w->base,
			strchr(w->base, '@') ? "password" : "blank, '#' or '\\'");
	setup.url = w->base;
	setup.stop_fd = signals_fd();
	if (client_new(&setup, &w->client, &why))
		return fail_set(f, -EINVAL, "'%.100s' is not a URL that alerts can be sent to", w->base);
	/* What stands behind the host is a secret of many receivers. */
	if (asprintf(&w->label, "%s%s", w->base, w->path[0] && w->path[1] ? "/…" : "") < 0)
		command_nomem();
	return 0;
}

static int alert_way_mail(struct alert_way *w, const char *address, struct fail *f)
{
	bool good = *address && *address != '-' && strlen(address) < 255;

	for (const char *p = address; good && *p; p++)
		good = (unsigned char)*p > ' ' && (unsigned char)*p < 0x7f && !strchr(",;<>()\"\\|", *p);
	if (!good)
		return fail_set(f, -EINVAL, "'%.60s' is not an address for mail, e.g. mail:ops@example.org", address);
	w->address = strdup(address);
	w->label = strdup(address);
	if (!w->address || !w->label)
		command_nomem();
	return 0;
}

int alert_way_open(struct alert_way *w, const char *text, struct fail *f)
{
	char *read = NULL;
	int rc = 0;

	*w = (struct alert_way){ .kind = ALERT_WEBHOOK };
	if (*text == '@') {
		rc = token_read_file(text + 1, &read, f);
		if (rc)
			return rc;
		text = read;
	}
	w->key = hash_more(HASH_BEGIN, text, strlen(text));
	if (str_starts(text, "mail:")) {
		w->kind = ALERT_MAIL;
		rc = alert_way_mail(w, text + 5, f);
	} else if (str_starts(text, "alertmanager:")) {
		w->kind = ALERT_MANAGER;
		rc = alert_way_url(w, text + 13, f);
	} else {
		rc = alert_way_url(w, text, f);
	}
	token_free(read);
	return rc;
}

void alert_way_close(struct alert_way *w)
{
	client_free(w->client);
	free(w->label);
	free(w->address);
	free(w->base);
	token_free(w->path);
	*w = (struct alert_way){ .kind = ALERT_WEBHOOK };
}

bool alert_way_refreshes(const struct alert_way *w)
{
	return w->kind == ALERT_MANAGER;
}
