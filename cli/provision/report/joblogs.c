/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/joblogs.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/remote/fanout.h"
#include "cli/frame/print.h"

enum {
	COMMAND_ROOM = 64 * 1024,
	OUTPUT_ROOM = 1 << 20,
	FILES_MAX = 128,
	FIELDS = 7,
	AGAIN_MS = 1000,
	DEADLINE_MS = 60000
};

/*
 * Runs on the controller and prints a line "job ID STATE HOST STDOUT STDERR REASON", with tabs, for each job of the
 * number: from slurmctld while it knows the job, then from the accounting, which the awk program $2 reads.
 */
static const char find_script[] =
	"PATH=$PATH:/usr/local/bin\n"
	"get() {\n"
	"\tcase $l in *\" $1=\"*) v=${l#*\" $1=\"}; v=${v%%\" \"[A-Z]*=*}; case $v in '(null)') v=; esac;; *) v=;; "
	"esac\n"
	"\tprintf '\\t%s' \"$v\"\n"
	"}\n"
	"command -v scontrol >/dev/null || { echo \"'scontrol' is not there\" >&2; exit 1; }\n"
	"if t=$(scontrol -o show job \"$1\" 2>&1); then\n"
	"\tprintf '%s\\n' \"$t\" | while read -r l; do\n"
	"\t\tl=\" $l\"; n=$(get ArrayJobId; get ArrayTaskId); o=$(get JobId); set -- $n\n"
	"\t\t[ $# = 2 ] && printf 'job\\t%s_%s' \"$1\" \"$2\" || printf 'job%s' \"$o\"\n"
	"\t\tget JobState; get BatchHost; get StdOut; get StdErr; get Reason; echo\n"
	"\tdone\n"
	"else\n"
	"\ta=$(sacct -X -n -P -j \"$1\" --format=JobID,State,NodeList,WorkDir,JobName,SubmitLine 2>/dev/null) ||\n"
	"\t\ta=$(sacct -X -n -P -j \"$1\" --format=JobID,State,NodeList,WorkDir,JobName 2>/dev/null)\n"
	"\t[ -n \"$a\" ] || { printf '%s\\n' \"$t\" >&2; exit 3; }\n"
	"\tprintf '%s\\n' \"$a\" | awk -F '|' \"$2\" | while IFS='|' read -r i s h o e; do\n"
	"\t\tprintf 'job\\t%s\\t%s\\t%s\\t%s\\t%s\\t\\n' \"$i\" \"$s\" \"$(scontrol show hostnames \"$h\" | head -n "
	"1)\" \"$o\" \"$e\"\n"
	"\tdone\n"
	"fi\n";

/*
 * The accounting knows the folder and the command line that submitted a job, but not the #SBATCH lines of its script.
 */
static const char account_awk[] =
	"function is(s, short, long) { return s == short || s == long || index(s, long \"=\") == 1 || (index(s, short) "
	"== 1 && length(s) > 2) }\n"
	"function value(s, next_, long) {\n"
	"\tif (s == long || length(s) == 2) return next_\n"
	"\treturn index(s, long \"=\") == 1 ? substr(s, length(long) + 2) : substr(s, 3)\n"
	"}\n"
	"function put(s, mark, with,  i, t) { while ((i = index(s, mark))) { t = t substr(s, 1, i - 1) with; s = "
	"substr(s, i + 2) } return t s }\n"
	"function file(s) {\n"
	"\tif (s == \"\") return \"\"\n"
	"\ts = put(put(put(put(put(s, \"%j\", id), \"%A\", id), \"%a\", task), \"%x\", $5), \"%N\", host)\n"
	"\treturn substr(s, 1, 1) == \"/\" ? s : $4 \"/\" s\n"
	"}\n"
	"{\n"
	"\tn = split($1, part, \"_\"); id = part[1]; task = part[2]; state = $2; sub(/ .*/, \"\", state); host = $3\n"
	"\tline = $0; for (i = 0; i < 5; i++) sub(/^[^|]*[|]/, \"\", line)\n"
	"\tout = \"slurm-\" $1 \".out\"; err = \"\"; words = split(line, w, / +/)\n"
	"\tfor (i = 2; i <= words; i++) {\n"
	"\t\tif (w[i] ~ /^--wrap/ || (w[i] !~ /^-/ && w[i - 1] !~ /^-[^=]*$/)) break\n"
	"\t\tif (is(w[i], \"-o\", \"--output\")) out = value(w[i], w[i + 1], \"--output\")\n"
	"\t\tif (is(w[i], \"-e\", \"--error\")) err = value(w[i], w[i + 1], \"--error\")\n"
	"\t}\n"
	"\tprint $1 \"|\" state \"|\" $3 \"|\" file(out) \"|\" file(err)\n"
	"}\n";

/* Prints the node's name, then the numbers of the files that exist there. */
static const char look_script[] = "hostname; i=0; for f; do [ ! -e \"$f\" ] || echo \"$i\"; i=$((i + 1)); done";

static const char root_script[] =
	"s=; [ \"$(id -u)\" = 0 ] || ! sudo -n true 2>/dev/null || s='sudo -n'; exec $s \"$@\"";

struct file {
	char *path, *host, *name;
	size_t at; /* the member with the file; SIZE_MAX: not found yet */
	bool there;
};

struct ask {
	struct nanopod *np;
	struct connect *connect;
	struct clusterlogs *c;
	const char *word, *id;
	struct buf command;
	struct file files[FILES_MAX];
	size_t count, jobs, waiting;
	char reason[80];
	size_t *members; /* the members asked, in the order of the fanout's hosts */
};

static void joblogs_need(int rc)
{
	if (rc)
		command_nomem();
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int joblogs_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct ask *a = arg;
	struct pssh_task *t;
	int rc = pssh_exec(f->connect->fleet, buf_text(&a->command), &t);

	if (!rc) {
		rc = pssh_task_set_output(t, PSSH_OUTPUT_GATHER, OUTPUT_ROOM, PSSH_OVERFLOW_DROP);
		rc = rc ? rc : pssh_task_set_deadline(t, DEADLINE_MS);
		if (rc)
			pssh_task_free(t);
	}
	if (rc)
		return print_fail(a->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet));
	*out = t;
	return STATUS_OK;
}

typedef void heard(struct ask *a, size_t member, const char *text, size_t len);

static void joblogs_complain(struct ask *a, const char *name, const char *text, size_t len)
{
	while (len && text[len - 1] == '\n')
		len--;
	fprintf(a->np->err, "%s! ", name);
	print_safe(a->np->err, text, len);
	fputc('\n', a->np->err);
}

/* Runs the command on those members. *bad: how many failed; if all did, returns the exit status of the last one. */
static int on_members(struct ask *a, const size_t *members, size_t count, heard *fn, size_t *bad)
{
	const struct pssh_event *ev;
	enum fanout_turn turn;
	struct pssh_list *names;
	struct fanout f = { 0 };
	struct outcome *o;
	int status, last = STATUS_OK;

	*bad = 0;
	if (pssh_list_new(&names) != 0)
		command_nomem();
	for (size_t i = 0; i < count; i++)
		joblogs_need(pssh_list_add(names, a->c->cluster->members[members[i]]));
	status = fanout_init(&f, a->np, a->connect, names);
	pssh_list_free(names);
	if (status)
		return status;
	f.make = joblogs_make;
	f.arg = a;
	f.input.fd = -1;
	status = fanout_start(&f);
	while (!status && (turn = fanout_next(&f, &ev, &o)) != FANOUT_DONE) {
		if (turn != FANOUT_EVENT || !o)
			continue;
		if (ev->type == PSSH_EV_STDOUT)
			fn(a, members[o->index], ev->data, ev->len);
		else if (ev->type == PSSH_EV_STDERR && count == 1)
			joblogs_complain(a, o->name, ev->data, ev->len);
	}
	for (size_t i = 0; !status && i < f.count; i++)
		if (!outcome_ok(&f.hosts[i])) {
			++*bad;
			last = f.hosts[i].state == OUTCOME_ERROR ? STATUS_UNREACHABLE : outcome_status(&f.hosts[i]);
			if (f.hosts[i].state == OUTCOME_ERROR)
				print_note(a->np, "%s: %s", f.hosts[i].name,
					f.hosts[i].text ? f.hosts[i].text : "not reached");
		}
	if (!status && f.asked)
		status = STATUS_INT;
	fanout_release(&f);
	return status ? status : *bad == count ? last : STATUS_OK;
}

/* Runs a script with arguments, as root if possible. */
static void set_command(struct ask *a, const char *script)
{
	buf_clear(&a->command);
	joblogs_need(buf_adds(&a->command, "sh -c "));
	joblogs_need(str_quote_sh(&a->command, root_script));
	joblogs_need(buf_adds(&a->command, " nanopod-logs-root sh -c "));
	joblogs_need(str_quote_sh(&a->command, script));
	joblogs_need(buf_adds(&a->command, " nanopod-logs-job"));
}

static int joblogs_add_word(struct ask *a, const char *word)
{
	int rc = buf_addc(&a->command, ' ');

	return rc ? rc : str_quote_sh(&a->command, word);
}

/* ---- The controller --------------------------------------------------------------------------- */

static void joblogs_add_file(struct ask *a, const char *path, const char *host, const char *id, const char *suffix)
{
	struct file *x = &a->files[a->count];

	if (a->count == FILES_MAX)
		return;
	*x = (struct file){ .path = strdup(path), .host = strdup(host), .at = (size_t)-1 };
	if (!x->path || !x->host || asprintf(&x->name, "job/%s%s", id, suffix) < 0)
		command_nomem();
	a->count++;
}

static void take_job(struct ask *a, char *line)
{
	char *fields[FIELDS] = { 0 };
	size_t n = 0;

	for (char *p = line; p && n < FIELDS; n++) {
		fields[n] = p;
		p = strchr(p, '\t');
		if (p)
			*p++ = '\0';
	}
	if (n < FIELDS - 1 || strcmp(fields[0], "job") != 0)
		return;
	a->jobs++;
	if (strcmp(fields[2], "PENDING") == 0) {
		a->waiting++;
		snprintf(a->reason, sizeof a->reason, "%s", fields[6] ? fields[6] : "");
		return;
	}
	if (fields[4][0] == '/' && strcmp(fields[4], "/dev/null") != 0)
		joblogs_add_file(a, fields[4], fields[3], fields[1], "");
	if (fields[5][0] == '/' && strcmp(fields[5], "/dev/null") != 0 && strcmp(fields[4], fields[5]) != 0)
		joblogs_add_file(a, fields[5], fields[3], fields[1], " stderr");
}

static void heard_jobs(struct ask *a, size_t member, const char *text, size_t len)
{
	char *copy = strndup(text, len), *p = copy;

	(void)member;
	if (!copy)
		command_nomem();
	while (*p) {
		size_t n = strcspn(p, "\n");
		bool more = p[n] == '\n';

		p[n] = '\0';
		take_job(a, p);
		p += n + more;
	}
	free(copy);
}

static int ask_controller(struct ask *a, bool follow)
{
	size_t controller, bad;
	bool said = false;
	int status;

	if (!clusterlogs_members(a->c, "slurm", "controller", &controller, 1))
		return print_fail(a->np, STATUS_NOTFOUND, NULL, "cluster '%s' has no Slurm, so no '%s'",
			a->c->cluster->name, a->word);
	for (;;) {
		set_command(a, find_script);
		joblogs_need(joblogs_add_word(a, a->id));
		joblogs_need(joblogs_add_word(a, account_awk));
		a->jobs = a->waiting = 0;
		status = on_members(a, &controller, 1, heard_jobs, &bad);
		if (status)
			return bad ? print_fail(a->np,
					     status == 3                            ? STATUS_NOTFOUND
						     : status == STATUS_UNREACHABLE ? status
										    : STATUS_FAILURE,
					     NULL, "'%s' knows nothing of '%s'", a->c->cluster->members[controller],
					     a->word)
				   : status;
		if (!follow || a->waiting < a->jobs || !a->jobs)
			break;
		if (!said)
			print_note(a->np, "%s is waiting (%s); its output follows when it starts", a->word, a->reason);
		said = true;
		poll(NULL, 0, AGAIN_MS);
	}
	if (a->jobs && a->waiting == a->jobs)
		return print_fail(a->np, STATUS_CONFLICT, "'-f' waits for it",
			"'%s' is waiting (%s) and has no output yet", a->word, a->reason);
	if (!a->count)
		return print_fail(a->np, STATUS_NOTFOUND, NULL,
			"'%s' writes no file: a job of 'srun' writes to the terminal of 'srun'", a->word);
	return STATUS_OK;
}

/* ---- The nodes ---------------------------------------------------------------------------------- */

static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return n == m && n && strncasecmp(a, b, n) == 0;
}

/*
 * Prefers the job's own node, if it has the file or no member does; else the first member with it, as in a shared
 * folder.
 */
static void heard_files(struct ask *a, size_t member, const char *text, size_t len)
{
	char *copy = strndup(text, len), *p;
	bool have[FILES_MAX] = { false };

	if (!copy)
		command_nomem();
	p = copy + strcspn(copy, "\n");
	if (*p)
		*p++ = '\0';
	while (isdigit((unsigned char)*p)) {
		long i = strtol(p, &p, 10);

		if (i >= 0 && i < FILES_MAX)
			have[i] = true;
		p += *p == '\n';
	}
	for (size_t i = 0; i < a->count; i++) {
		struct file *x = &a->files[i];
		bool own = same_host(copy, x->host);

		if ((own && (have[i] || !x->there)) || (have[i] && !x->there)) {
			x->at = member;
			x->there = have[i];
		}
	}
	free(copy);
}

static int joblogs_ask_nodes(struct ask *a)
{
	size_t count = clusterlogs_members(a->c, "slurm", "all", a->members, a->c->cluster->count), bad;
	int status;

	set_command(a, look_script);
	for (size_t i = 0; i < a->count; i++)
		if (joblogs_add_word(a, a->files[i].path) != 0)
			return print_fail(a->np, STATUS_USAGE, "'job/ID_TASK' selects one task of an array",
				"'%s' has too many files", a->word);
	status = on_members(a, a->members, count, heard_files, &bad);
	if (status)
		return status;
	for (size_t i = 0; i < a->count; i++) {
		struct file *x = &a->files[i];

		if (x->at == (size_t)-1)
			return print_fail(a->np, STATUS_NOTFOUND, NULL,
				"'%s' of '%s' is on none of the nodes, and its node '%s' is not in the cluster",
				x->path, x->name, x->host);
		clusterlogs_put(a->c, x->at, LOG_FILE, x->path, NULL, x->name);
	}
	return STATUS_OK;
}

static bool joblogs_is_id(const char *id)
{
	size_t n = strspn(id, "0123456789"), m = id[n] == '_' ? strspn(id + n + 1, "0123456789") : 0;

	return n && n < 12 && m < 12 && (id[n] == '\0' || (m && id[n + 1 + m] == '\0'));
}

int joblogs_find(struct nanopod *np, struct connect *connect, struct clusterlogs *c, const char *word, bool follow)
{
	struct ask a = { .np = np, .connect = connect, .c = c, .word = word, .id = word + 4 };
	int status;

	if (!joblogs_is_id(a.id))
		return print_fail(np, STATUS_USAGE, NULL,
			"'%s' is not a job: use 'job/12', or 'job/12_3' for a task of an array", word);
	buf_init(&a.command, COMMAND_ROOM);
	a.members = calloc(c->cluster->count + 1, sizeof *a.members);
	if (!a.members)
		command_nomem();
	status = ask_controller(&a, follow);
	status = status ? status : joblogs_ask_nodes(&a);
	for (size_t i = 0; i < a.count; i++) {
		free(a.files[i].path);
		free(a.files[i].host);
		free(a.files[i].name);
	}
	free(a.members);
	buf_release(&a.command);
	return status;
}
