/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host power: what this machine draws and may draw; nanopod-agentd does it, this asks before. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/host/host.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"

enum { PLAN_MS = 60 * 1000, SET_MS = 300 * 1000, WORDS_MOST = 80, WORD_MAX = 256, PLAN_LINES = 400 };

/* The options as nanopod-agentd's words: "envelope=1440W", "gpu=0:450W". */
struct power_words {
	char text[WORDS_MOST][WORD_MAX];
	size_t count;
};

static int power_words_add(struct nanopod *np, struct power_words *w, const char *key, const char *value, bool gpu)
{
	char *word = w->text[w->count], *sign;

	if (w->count == WORDS_MOST || snprintf(word, WORD_MAX, "%s=%s", key, value) >= WORD_MAX)
		return print_fail_field(np, STATUS_USAGE, key, NULL, "'--%s %.80s' is too long", key, value);
	sign = gpu ? strchr(word + strlen(key) + 1, '=') : NULL;
	if (gpu && !sign)
		return print_fail_field(np, STATUS_USAGE, "--gpu", "use e.g. --gpu 0=450W", "'--gpu %.80s' is invalid",
			value);
	if (sign)
		*sign = ':';
	w->count++;
	return 0;
}

static int power_words_read(struct nanopod *np, const struct options *o, bool price, struct power_words *w)
{
	static const char *const keys[] = { "envelope", "psu", "reserve", "cpu" };
	int rc = 0;

	w->count = 0;
	for (size_t i = 0; !rc && i < sizeof keys / sizeof *keys; i++)
		if (option_given(o, keys[i]))
			rc = power_words_add(np, w, keys[i], option_text(o, keys[i]), false);
	for (size_t i = 0; !rc && i < option_count(o, "gpu"); i++)
		rc = power_words_add(np, w, "gpu", option_at(o, "gpu", i), true);
	if (!rc && price && option_given(o, "price-kwh"))
		rc = power_words_add(np, w, "price-kwh", option_text(o, "price-kwh"), false);
	return rc;
}

/* Runs `power VERB WORDS`; out NULL: its output is ours, JSON where that was asked for. */
static int power_run(struct nanopod *np, const struct options *o, const char *verb, const struct power_words *w,
	struct buf *out, int64_t deadline_ms, const char *what)
{
	struct host_agentd a;
	int rc = host_agentd_find(np, o, &a);

	if (rc)
		return rc;
	host_agentd_add(&a, !out && np->format == FORMAT_JSON ? "--json" : NULL);
	host_agentd_add(&a, "power");
	host_agentd_add(&a, verb);
	for (size_t i = 0; w && i < w->count; i++)
		host_agentd_add(&a, w->text[i]);
	rc = host_agentd_run(np, &a, NULL, out, deadline_ms, what);
	host_agentd_release(&a);
	return rc;
}

static int power_format(struct nanopod *np)
{
	return np->format == FORMAT_TABLE || np->format == FORMAT_WIDE || np->format == FORMAT_JSON
		? 0
		: print_fail_field(np, STATUS_USAGE, "--output", "available: table and json",
			  "cannot print that: it has no such format");
}

int host_power_show(struct nanopod *np, const struct options *o, char **words)
{
	int rc = power_format(np);

	(void)words;
	return rc ? rc : power_run(np, o, "show", NULL, NULL, PLAN_MS, "cannot show this machine's power");
}

int host_power_plan(struct nanopod *np, const struct options *o, char **words)
{
	static struct power_words w;
	int rc = power_format(np);

	(void)words;
	rc = rc ? rc : power_words_read(np, o, true, &w);
	return rc ? rc : power_run(np, o, "plan", &w, NULL, PLAN_MS, "cannot plan this machine's power");
}

int host_power_sweep(struct nanopod *np, const struct options *o, char **words)
{
	static struct power_words w;
	int rc = power_format(np);

	w.count = 0;
	if (!rc && words[0])
		rc = power_words_add(np, &w, "gpu", words[0], false);
	/* takes minutes, so it shows progress */
	return rc ? rc : power_run(np, o, "sweep", &w, NULL, 0, np->errors_json ? "cannot measure the GPUs" : NULL);
}

/* The lines of `power plan`: a label of up to ten columns and the rest. A plan keeps no copy of its labels. */
static void host_power_show_plan(struct nanopod *np, const char *line)
{
	char labels[PLAN_LINES][12];
	struct plan p;

	plan_init(&p, "Set what this machine may draw");
	for (size_t i = 0, len; *line && i < PLAN_LINES; i++, line += len + (line[len] == '\n')) {
		char *label = labels[i];
		size_t cut;

		len = strcspn(line, "\n");
		cut = len < 10 ? len : 10;
		snprintf(label, sizeof labels[i], "%.*s", (int)cut, line);
		while (cut && label[cut - 1] == ' ')
			label[--cut] = '\0';
		plan_add(&p, label, "%.*s", len > 10 ? (int)(len - 10) : 0, line + (len > 10 ? 10 : len));
	}
	plan_add(&p, "then", "the agent keeps these limits and starts no node without them");
	plan_show(np, &p);
	plan_release(&p);
}

static int host_power_agree(struct nanopod *np, const struct options *o, const struct power_words *w)
{
	struct buf said;
	int rc;

	buf_init(&said, HOST_SAID_MAX);
	rc = power_run(np, o, "plan", w, &said, PLAN_MS, "cannot set this machine's power");
	if (!rc)
		host_power_show_plan(np, buf_text(&said));
	buf_release(&said);
	return rc ? rc : plan_agree(np, o, "Set it?");
}

int host_power_set(struct nanopod *np, const struct options *o, char **words)
{
	static struct power_words w;
	const char *envelope = option_given(o, "envelope") ? option_text(o, "envelope") : "";
	int rc = power_format(np);

	(void)words;
	rc = rc ? rc : power_words_read(np, o, false, &w);
	if (!rc && !w.count)
		rc = print_fail_field(np, STATUS_USAGE, "--envelope", "use e.g. --envelope 1440W --psu gold:1600W",
			"cannot set this machine's power: nothing to set");
	rc = rc ? rc : host_agentd_can_ask(np, o, "power set");
	if (!rc && strcmp(envelope, "none") != 0)
		rc = host_power_agree(np, o, &w);
	if (rc || option_given(o, "dry-run"))
		return rc;
	return power_run(np, o, "set", &w, NULL, SET_MS, "cannot set this machine's power");
}
