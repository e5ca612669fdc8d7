/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod provision init: looks at nodes and writes a cluster file for them, with its findings as comments. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "cli/provision/model/clusteredit.h"

enum { COMMENT_BYTES = 1 << 20, WHAT = 400 };

/* ---- What was found ------------------------------------------------------------------------------ */

static const char *provision_init_said(const struct facts *f, const char *key)
{
	const char *text = facts_get(f, key);

	return *text ? text : "?";
}

/* "2 x nvidia h100-80gb", by the first GPU: a node seldom has two kinds. */
static void put_gpus(const struct facts *f, char *room, size_t size)
{
	long count = facts_number(f, "gpu_count", 0);
	const char *first = facts_get(f, "gpu_0");
	size_t vendor = strcspn(first, " "), len = vendor + (first[vendor] ? 1 + strcspn(first + vendor + 1, " ") : 0);

	room[0] = '\0';
	if (count > 0)
		snprintf(room, size, ", %ld GPU%s%s%.*s", count, count == 1 ? "" : "s", *first ? ": " : "", (int)len,
			first);
}

static void put_node(const char *name, const struct facts *f, struct buf *out)
{
	char gpus[120], what[WHAT];

	if (!f->known) {
		(void)buf_addf(out, "#   %s: not reached: %.200s\n", name, f->why ? f->why : "no facts");
		return;
	}
	put_gpus(f, gpus, sizeof gpus);
	snprintf(what, sizeof what, "%.40s %.20s %.20s, %.10s CPUs, %ld MiB%s%s%s", provision_init_said(f, "os_id"),
		provision_init_said(f, "os_version"), provision_init_said(f, "arch"), provision_init_said(f, "cpus"),
		facts_number(f, "memory_mb", 0), gpus,
		strcmp(facts_get(f, "other_slurm"), "") ? ", has Slurm already" : "",
		strcmp(facts_get(f, "other_kubernetes"), "") ? ", has Kubernetes already" : "");
	(void)buf_addf(out, "#   %s (%.60s, %.60s): %s\n", name, provision_init_said(f, "hostname"),
		provision_init_said(f, "address"), what);
}

/* Writes comments at the top: one line for each node, and the findings of gates. */
static void put_found(struct provision *p, struct buf *out)
{
	const struct facts *facts = rollout_facts(p->e);
	const struct findings *found = rollout_findings(p->e);

	(void)buf_adds(out, "# Found:\n");
	for (size_t i = 0; i < p->c->count; i++)
		put_node(p->c->members[i], &facts[i], out);
	for (size_t i = 0; found && i < found->count; i++) {
		const struct finding *n = &found->at[i];

		(void)buf_addf(out, "# %s %s: %.300s\n", n->stops ? "blocked by" : "note,",
			n->member == GATE_ALL ? "all" : p->c->members[n->member], n->text);
	}
}

/* ---- Guesses ---------------------------------------------------------------------------------------- */

static bool has_gpus(const struct facts *f)
{
	return f->known && facts_number(f, "gpu_count", 0) > 0;
}

/* The only node without GPUs becomes the controller. (size_t)-1: keep the default of the stacks. */
static size_t guess_controller(const struct provision *p)
{
	const struct facts *facts = rollout_facts(p->e);
	size_t without = (size_t)-1, with = 0;

	for (size_t i = 0; i < p->c->count; i++) {
		if (!facts[i].known)
			continue;
		if (has_gpus(&facts[i]))
			with++;
		else if (without == (size_t)-1)
			without = i;
	}
	return with && without ? without : (size_t)-1;
}

static bool stack_has_role(const struct provision *p, const char *role)
{
	for (size_t i = 0; i < p->c->use_count; i++)
		if (stack_role(p->c->uses[i].stack, role))
			return true;
	return false;
}

/* Chooses roles by the findings, unless the user gave some. */
static int provision_init_guess(struct provision *p)
{
	static const char *const roles[] = { "controller", "servers", "head", "server" };
	size_t member = guess_controller(p);
	struct fail f = { 0 };

	if (member == (size_t)-1 || option_count(p->o, "role"))
		return STATUS_OK;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (stack_has_role(p, roles[i]) &&
			clusteredit_set(p->file, &p->text, (const char *const[]){ "roles", roles[i], NULL },
				p->c->members[member], &f))
			return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	return STATUS_OK;
}

/* ---- The file ----------------------------------------------------------------------------------------- */

/* Writes the file, but never over an existing one. */
static int provision_init_put_file(struct nanopod *np, const char *path, const struct buf *head, const struct buf *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool fine;
	FILE *out;

	if (fd < 0 && errno == EEXIST)
		return print_fail_field(np, STATUS_CONFLICT, "--file",
			"'--file OTHER.yaml' writes another one, '--file -' prints it", "'%s' already exists", path);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot write '%s': %s", path, strerror(errno));
	fine = fwrite(buf_text(head), 1, head->len, out) == head->len &&
		fwrite(buf_text(text), 1, text->len, out) == text->len;
	fine = fclose(out) == 0 && fine;
	if (!fine)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot write '%s': %s", path, strerror(errno));
	print_note(np, "wrote '%s'; 'nanopod provision %s%s' applies it", path, strchr(path, '/') ? "" : "./", path);
	return STATUS_OK;
}

static int write_it(struct provision *p, const char *path)
{
	struct buf head;
	char *made = NULL;
	int status = provision_init_guess(p);

	buf_init(&head, COMMENT_BYTES);
	put_found(p, &head);
	if (!status && path && strcmp(path, "-") == 0)
		fprintf(p->np->out, "%s%s", buf_text(&head), buf_text(&p->text));
	else if (!status && !path && asprintf(&made, "%s.yaml", p->c->name) < 0)
		command_nomem();
	if (!status && !(path && strcmp(path, "-") == 0))
		status = provision_init_put_file(p->np, path ? path : made, &head, &p->text);
	free(made);
	buf_release(&head);
	return status;
}

int provision_write(struct nanopod *np, const struct options *o, char **words)
{
	static char base[] = "base";
	char *none[] = { base, NULL };
	struct provision p;
	int status = provision_init(&p, np, o);

	p.mute = true;
	status = status ? status : provision_new_text(&p, *words ? words : none, true);
	status = status ? status : provision_read(&p);
	status = status ? status : provision_open(&p, NULL);
	if (!status)
		status = write_it(&p, option_text(o, "file"));
	provision_release(&p);
	return status;
}
