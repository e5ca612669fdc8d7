/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localagent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/local/daemons.h"
#include "cli/local/localproc.h"
#include "cli/frame/print.h"
#include "market/wire.h"

enum {
	SAID_MAX = 1 << 20,
	DRIVERS_MAX = 16,
	PROBE_MS = 60000,
	JOIN_MS = 60000,
	STOP_MS = 20000,
	HALT_MS = 120000,
	TAIL = 4096,
	WHY_TEXT = 300,
};

int localagent_open(struct localagent *a, struct nanopod *np, struct localstate *s)
{
	struct fail f = { 0 };

	*a = (struct localagent){ .np = np, .s = s, .program = agentd_find(AGENTD, &f) };
	return a->program ? 0 : print_fail(np, STATUS_FAILURE, "build it or install it beside nanopod", "%s", f.text);
}

void localagent_close(struct localagent *a)
{
	free(a->program);
	*a = (struct localagent){ 0 };
}

/*
 * Runs a verb, whose output `out` gets. Its messages are for the error; those of work without a deadline go to the
 * person. An exit status of ours.
 */
static int localagent_verb(struct localagent *a, const char *const *words, const char *in, int64_t deadline,
	struct buf *out, const char *doing)
{
	const char *all[40] = { "--data", a->s->agent, "--images", a->s->images };
	struct agentd_call call = { .program = a->program,
		.words = all,
		.in = in,
		.out = out,
		.deadline_ms = deadline };
	struct fail f = { 0 };
	struct buf err;
	size_t n = 4;
	int status = 0, rc;

	while (*words && n + 1 < sizeof all / sizeof *all)
		all[n++] = *words++;
	all[n] = NULL;
	buf_init(&err, SAID_MAX);
	if (deadline)
		call.err = &err;
	rc = agentd_run(&call, &status, &f);
	if (rc)
		rc = print_fail(a->np, STATUS_FAILURE, NULL, "cannot %s: %s", doing, f.text);
	else if (status)
		rc = print_fail(a->np, STATUS_FAILURE, NULL, "cannot %s: %s", doing,
			*agentd_last_line(&err) ? agentd_last_line(&err)
				: deadline      ? "nanopod-agentd failed without a message"
						: "see nanopod-agentd's message");
	buf_release(&err);
	return rc;
}

/* ---- Drivers ----------------------------------------------------------------------------- */

struct driver {
	char name[32], about[200], why[WHY_TEXT];
	bool works, lacks_image;
};

static void localagent_keep(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

static int read_driver(struct doc *d, long at, struct driver *out, struct fail *f)
{
	struct doc *one = NULL;
	struct buf text;
	int rc;

	buf_init(&text, SAID_MAX);
	rc = doc_show_at(d, at, &text);
	rc = rc ? rc : doc_parse(buf_text(&text), text.len, &one, f);
	if (!rc) {
		const char *image = doc_text(one, "image");

		/* A text cannot hold this: its quotes would be escaped. One that lacks but its image works, too. */
		*out = (struct driver){ .works = strstr(buf_text(&text), "\"works\":true") != NULL,
			.lacks_image = image && strcmp(image, "missing") == 0 };
		localagent_keep(out->name, sizeof out->name, doc_text(one, "name"));
		localagent_keep(out->about, sizeof out->about, doc_text(one, "about"));
		localagent_keep(out->why, sizeof out->why, doc_text(one, "why"));
	}
	doc_free(one);
	buf_release(&text);
	return rc;
}

/* ns is best: a separate system within seconds. vm takes long to start without hardware support. */
static int localagent_rank(const struct driver *d)
{
	static const char *const order[] = { "ns", "process", "vm" };
	int i = 0;

	while (i < 3 && strcmp(d->name, order[i]) != 0)
		i++;
	return i;
}

static int by_rank(const void *a, const void *b)
{
	return localagent_rank(a) - localagent_rank(b);
}

/* Best first. Never `host`, which would be this whole machine. */
static int list_drivers(struct localagent *a, struct driver list[DRIVERS_MAX], size_t *count)
{
	struct doc *d = NULL;
	struct fail f = { 0 };
	struct buf out;
	int rc;

	*count = 0;
	buf_init(&out, SAID_MAX);
	rc = localagent_verb(a, (const char *[]){ "drivers", "--json", NULL }, NULL, PROBE_MS, &out,
		"ask which drivers work here");
	if (!rc && doc_parse(buf_text(&out), out.len, &d, &f))
		rc = print_fail(a->np, STATUS_FAILURE, NULL, "cannot read nanopod-agentd's list of drivers: %s",
			f.text);
	for (size_t i = 0; !rc && i < doc_count(d) && *count < DRIVERS_MAX; i++) {
		if (read_driver(d, (long)i, &list[*count], &f))
			rc = print_fail(a->np, STATUS_FAILURE, NULL, "cannot read nanopod-agentd's list of drivers: %s",
				f.text);
		else if (strcmp(list[*count].name, "host") != 0)
			++*count;
	}
	if (*count)
		qsort(list, *count, sizeof *list, by_rank);
	doc_free(d);
	buf_release(&out);
	return rc;
}

static int build_image(struct localagent *a, const struct driver *d)
{
	struct buf path; /* which nobody has to know */
	int rc;

	print_note(a->np,
		"driver '%s' needs an image for nodes: building it once from Debian's packages, about a minute",
		d->name);
	buf_init(&path, SAID_MAX);
	rc = localagent_verb(a, (const char *[]){ "--driver", d->name, "image", "build", NULL }, NULL, 0, &path,
		"build the nodes' image");
	buf_release(&path);
	return rc;
}

static int take_driver(struct localagent *a, const struct driver *d, const char *why)
{
	struct fail f = { 0 };

	if (localstate_set(a->s, "driver", d->name, &f) || localstate_set(a->s, "driver.about", d->about, &f) ||
	    localstate_set(a->s, "driver.why", why, &f))
		return print_fail(a->np, STATUS_FAILURE, NULL, "%s", f.text);
	return 0;
}

static int typed_driver(struct localagent *a, const struct driver *list, size_t count, const char *typed)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, typed) != 0)
			continue;
		if (!list[i].works)
			return print_fail_field(a->np, STATUS_FAILURE, "--driver",
				"without '--driver' nanopod chooses the best that works",
				"driver '%s' does not work here: %s", typed, list[i].why);
		if (list[i].lacks_image && build_image(a, &list[i]))
			return STATUS_FAILURE;
		return take_driver(a, &list[i], "as you chose");
	}
	return print_fail_field(a->np, STATUS_USAGE, "--driver", "available: ns, vm and process", "no driver '%.40s'",
		typed);
}

static int best_driver(struct localagent *a, const struct driver *list, size_t count)
{
	char why[WHY_TEXT * 2] = "";

	for (size_t i = 0; i < count; i++) {
		const struct driver *d = &list[i];

		if (d->works && d->lacks_image && build_image(a, d)) {
			print_note(a->np, "trying the next driver");
			snprintf(why, sizeof why, "'%.31s' would be better, but its image could not be built", d->name);
			continue;
		}
		if (d->works)
			return take_driver(a, d, *why ? why : "the best that works here");
		if (!*why)
			snprintf(why, sizeof why, "'%.31s' would be better: %.299s", d->name, d->why);
	}
	return print_fail(a->np, STATUS_FAILURE, "'nanopod-agentd drivers' tells what each lacks",
		"no driver works here%s%s", *why ? ": " : "", why);
}

int localagent_driver(struct localagent *a, const char *typed)
{
	struct driver list[DRIVERS_MAX];
	const char *had = localstate_get(a->s, "driver");
	size_t count;
	int rc;

	if (had && typed && strcmp(had, typed) != 0)
		return print_fail_field(a->np, STATUS_CONFLICT, "--driver", "'nanopod local reset' starts over",
			"the local market is set up with driver '%s' already", had);
	if (had)
		return 0;
	rc = list_drivers(a, list, &count);
	if (rc)
		return rc;
	return typed ? typed_driver(a, list, count, typed) : best_driver(a, list, count);
}

/* Nodes of the driver process share the machine as any of its processes do: they are promised nothing. */
void localagent_capacity(struct localagent *a, struct model_sizes *out)
{
	const char *driver = localstate_get(a->s, "driver");
	struct model_sizes has;
	struct doc *d = NULL;
	struct fail f = { 0 };
	struct buf said;

	*out = (struct model_sizes){ -1, -1, -1, -1 };
	if (!driver || strcmp(driver, "process") == 0)
		return;
	buf_init(&said, SAID_MAX);
	if (localagent_verb(a, (const char *[]){ "--driver", driver, "inventory", "--json", NULL }, NULL, PROBE_MS,
		    &said, "list what this machine has") == 0 &&
		doc_parse(buf_text(&said), said.len, &d, &f) == 0 && wire_capacity(d, &has, &f) == 0)
		*out = has;
	doc_free(d);
	buf_release(&said);
}

/* ---- Joining ----------------------------------------------------------------------------- */

/* The agent's own file tells, where we were interrupted before we could note it. */
bool localagent_joined(const struct localagent *a)
{
	struct doc *d = NULL;
	struct fail f = { 0 };
	struct buf text;
	char *path;
	bool yes;

	if (asprintf(&path, "%s/agent.json", a->s->agent) < 0)
		command_nomem();
	buf_init(&text, SAID_MAX);
	yes = buf_read_file(&text, path) == 0 && doc_parse(buf_text(&text), text.len, &d, &f) == 0 &&
		doc_text(d, "agent") && *doc_text(d, "agent");
	doc_free(d);
	buf_release(&text);
	free(path);
	return yes;
}

int localagent_join(struct localagent *a, const char *token, const char *type, long nodes)
{
	const char *driver = localstate_get(a->s, "driver");
	char url[64], count[32];
	struct buf out;
	int rc;

	snprintf(url, sizeof url, "http://127.0.0.1:%ld", localstate_number(a->s, "port"));
	snprintf(count, sizeof count, "%ld", nodes);
	buf_init(&out, SAID_MAX);
	rc = localagent_verb(a,
		(const char *[]){ "--driver", driver ? driver : "auto", "join", url, "--name", "here", "--type", type,
			"--nodes", count, NULL },
		token, JOIN_MS, &out, "join the local market");
	buf_release(&out);
	return rc;
}

/* ---- Running ----------------------------------------------------------------------------- */

int localagent_start(struct localagent *a)
{
	const char *driver = localstate_get(a->s, "driver");
	char first[32];
	const char *const words[] = { "--data", a->s->agent, "--images", a->s->images, "--driver",
		driver ? driver : "auto", "--listen", "127.0.0.1", "--address", "127.0.0.1", "--first-port", first,
		NULL };
	const struct agentd_call call = { .program = a->program, .words = words };
	struct fail f = { 0 };

	snprintf(first, sizeof first, "%ld", localstate_number(a->s, "first-port"));
	if (localproc_start(a->s->agent_pid, &call, a->s->agent_log, &f))
		return print_fail(a->np, STATUS_FAILURE, NULL, "cannot start the agent: %s", f.text);
	return 0;
}

int localagent_end(struct localagent *a)
{
	struct fail f = { 0 };

	if (localproc_end(a->s->agent_pid, STOP_MS, &f))
		return print_fail(a->np, STATUS_FAILURE, NULL, "cannot stop the agent: %s", f.text);
	return 0;
}

int localagent_stop(struct localagent *a, bool wipe)
{
	struct buf out;
	int rc = localagent_end(a);

	if (rc || !localagent_joined(a))
		return rc;
	buf_init(&out, SAID_MAX);
	rc = localagent_verb(a,
		(const char *[]){ "--driver", localstate_get(a->s, "driver") ? localstate_get(a->s, "driver") : "auto",
			"halt", wipe ? "--destroy" : NULL, NULL },
		NULL, HALT_MS, &out, "stop the nodes");
	buf_release(&out);
	return rc;
}

const char *localagent_last_words(const char *log, char *room, size_t size)
{
	char text[TAIL + 1];
	int fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, TAIL, end > TAIL ? end - TAIL : 0);
	struct buf b;

	if (fd >= 0)
		close(fd);
	buf_init(&b, TAIL + 1);
	if (n > 0 && buf_add(&b, text, (size_t)n))
		command_nomem();
	snprintf(room, size, "%s", agentd_last_line(&b));
	buf_release(&b);
	return room;
}
