/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod kubeconfig: fetches a cluster's administrator credentials over SSH and merges them into kubectl's file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/cmd/provision/provision.h"
#include "cli/remote/connect.h"
#include "cli/provision/kubemerge.h"
#include "cli/frame/print.h"
#include "conf/conf.h"

#define STACK "k3s"
#define STEP "server"
#define ROLE "servers"

enum { NAME_BYTES = 96, HOST_BYTES = 256 };

/* ---- From the cluster ----------------------------------------------------------------------------- */

/* Connects only to the servers, which alone have the kubeconfig. */
static int keep_servers(struct provision *p)
{
	struct use *u = cluster_use(p->c, STACK);
	bool *which;

	if (!u)
		return print_fail(p->np, STATUS_CONFLICT, "'nanopod provision list' shows each cluster's stacks",
			"cluster '%s' has no stack '%s'", p->c->name, STACK);
	which = calloc(p->c->count + 1, sizeof *which);
	if (!which)
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		which[i] = cluster_has_role(u, i, ROLE);
	provision_only(p->c, which);
	free(which);
	return STATUS_OK;
}

/* The address by which this machine reaches it, unless that is loopback; else what the node calls itself. */
static void find_address(struct provision *p, size_t member, char room[HOST_BYTES])
{
	const char *own = facts_get(&rollout_facts(p->e)[member], "address"), *address = "";
	struct pssh_host *host;
	struct connect *c;

	room[0] = '\0';
	if (connect_open(p->np, &c) == STATUS_OK) {
		if (connect_host(p->np, c, p->c->members[member], &host) == STATUS_OK && !*pssh_host_jump(host))
			address = pssh_host_address(host);
		if (address && *address && !str_starts(address, "127.") && strcmp(address, "::1") != 0 &&
			strcmp(address, "localhost") != 0)
			snprintf(room, HOST_BYTES, "%s", address);
		connect_close(p->np, c);
	}
	if (!*room)
		snprintf(room, HOST_BYTES, "%s", own);
}

/* The certificate is valid for the name that K3s wrote; where another address is used, kubectl checks that name. */
static int set_server(struct provision *p, size_t member, struct kubeaccess *a)
{
	char host[HOST_BYTES], to[HOST_BYTES];
	bool colon;
	long port;

	if (!kubeaccess_server(a, host, sizeof host, &port))
		return print_fail(p->np, STATUS_FAILURE, NULL,
			"cannot understand the server '%s' of the node's kubeconfig", a->server);
	find_address(p, member, to);
	if (!*to || strcmp(to, host) == 0)
		return STATUS_OK;
	colon = strchr(to, ':') != NULL;
	free(a->server);
	if (asprintf(&a->server, "https://%s%s%s:%ld", colon ? "[" : "", to, colon ? "]" : "", port) < 0)
		command_nomem();
	if (!a->tls_name && !(a->tls_name = strdup(host)))
		command_nomem();
	return STATUS_OK;
}

static int kubeconfig_fetch(struct provision *p, struct kubeaccess *a)
{
	struct fail f = { 0 };
	size_t member = 0, len = 0;
	const char *text;
	int status;

	while (member < p->c->count && !rollout_facts(p->e)[member].known)
		member++;
	if (member == p->c->count)
		return print_fail(p->np, STATUS_UNREACHABLE, NULL, "no server of '%s' was reached", p->c->name);
	status = rollout_call(p->e, STACK, STEP, "kubeconfig", (const char *const[]){ NULL }, &member, 1);
	if (status)
		return provision_end(p, NULL, status);
	text = rollout_given(p->e, "kubeconfig", &len);
	if (!text || kubeaccess_read(text, len, a, &f))
		return print_fail(p->np, STATUS_FAILURE, NULL, "'%s' gave no kubeconfig%s%s", p->c->members[member],
			*f.text ? ": " : "", f.text);
	return set_server(p, member, a);
}

/* ---- Into the file ------------------------------------------------------------------------------------ */

/* Path of the file: -o, else the first of $KUBECONFIG, else kubectl's own. Follows a link. malloc'd. */
static char *kubeconfig_find_file(const struct options *o)
{
	const char *typed = option_text(o, "file"), *env = getenv("KUBECONFIG");
	char *path, *whole;

	if (typed)
		path = strdup(typed);
	else if (env && env[strspn(env, ":")])
		path = strndup(env + strspn(env, ":"), strcspn(env + strspn(env, ":"), ":"));
	else
		path = str_expand_home("~/.kube/config");
	whole = path ? realpath(path, NULL) : NULL;
	if (whole) {
		free(path);
		path = whole;
	}
	return path;
}

static void kubeconfig_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_release(b);
}

static int merge_into(struct nanopod *np, const char *path, const char *name, const char *context,
	const struct kubeaccess *a)
{
	struct buf text, made;
	struct fail f = { 0 };
	int rc, status = STATUS_OK;

	buf_init(&text, CONF_BYTES_MAX);
	buf_init(&made, CONF_BYTES_MAX);
	rc = buf_read_file(&text, path);
	if (rc && rc != -ENOENT) {
		status = print_fail(np, STATUS_FAILURE, "'--print' prints it", "cannot read '%s': %s", path,
			strerror(-rc));
	} else if ((rc = kubemerge(path, &text, name, context, a, &made, &f))) {
		status = print_fail(np, rc == -EEXIST ? STATUS_CONFLICT : STATUS_FAILURE,
			rc == -EEXIST ? "'--context NAME' chooses another name"
				      : "'--print' prints it, '-o FILE' writes a new file",
			"%s", f.text);
	} else if (made.len != text.len || memcmp(buf_text(&made), buf_text(&text), made.len) != 0) {
		rc = file_folders(path);
		rc = rc ? rc : file_replace(path, buf_text(&made), made.len, 0600);
		if (rc)
			status = print_fail(np, STATUS_FAILURE, "'--print' prints it", "cannot write '%s': %s", path,
				strerror(-rc));
	}
	kubeconfig_wipe(&text);
	kubeconfig_wipe(&made);
	return status;
}

/* Locks the file as kubectl does. */
static int locked_merge(struct nanopod *np, const char *path, const char *name, const char *context,
	const struct kubeaccess *a)
{
	char lock[PATH_MAX];
	int fd, status;

	if (snprintf(lock, sizeof lock, "%s.lock", path) >= (int)sizeof lock || file_folders(path) != 0)
		return print_fail(np, STATUS_FAILURE, "'--print' prints it", "cannot write '%s'", path);
	fd = open(lock, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return print_fail(np, STATUS_CONFLICT, "remove that file if no kubectl runs",
			"another program is changing '%s': '%s' exists", path, lock);
	if (fd < 0)
		return print_fail(np, STATUS_FAILURE, "'--print' prints it", "cannot write '%s': %s", lock,
			strerror(errno));
	close(fd);
	status = merge_into(np, path, name, context, a);
	unlink(lock);
	return status;
}

static int print_it(struct nanopod *np, const char *name, const char *context, const struct kubeaccess *a)
{
	struct buf none, made;
	struct fail f = { 0 };
	int rc;

	buf_init(&none, 1);
	buf_init(&made, CONF_BYTES_MAX);
	rc = kubemerge("kubeconfig", &none, name, context, a, &made, &f);
	if (!rc)
		fwrite(buf_text(&made), 1, made.len, np->out);
	kubeconfig_wipe(&made);
	return rc ? print_fail(np, STATUS_FAILURE, NULL, "%s", f.text) : STATUS_OK;
}

static int put_it(struct provision *p, const struct kubeaccess *a)
{
	const char *context = option_text(p->o, "context");
	char name[NAME_BYTES], *path;
	int status;

	context = context ? context : p->c->name;
	snprintf(name, sizeof name, "nanopod-%s", p->c->name);
	if (option_given(p->o, "print"))
		return print_it(p->np, name, context, a);
	path = kubeconfig_find_file(p->o);
	if (!path)
		return print_fail(p->np, STATUS_FAILURE, "'--print' prints it, '-o FILE' names a file",
			"no home folder");
	status = locked_merge(p->np, path, name, context, a);
	if (!status)
		print_note(p->np, "wrote context '%s' to '%s'; next: 'kubectl --context %s get nodes'", context, path,
			context);
	free(path);
	return status;
}

static int kubeconfig_command(struct nanopod *np, const struct options *o)
{
	const char *context = option_text(o, "context");
	struct kubeaccess a = { 0 };
	struct provision p;
	int status = provision_init_bare(&p, np, o);

	if (!status && context && (!*context || strpbrk(context, "\"\\\n\r\t ")))
		status = print_fail_field(np, STATUS_USAGE, "--context", NULL, "'%s' is not a valid context name",
			context);
	status = status ? status : provision_take_cluster(&p, option_argv(o)[0]);
	status = status ? status : keep_servers(&p);
	p.mute = true;
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : kubeconfig_fetch(&p, &a);
	status = status ? status : put_it(&p, &a);
	kubeaccess_release(&a);
	provision_release(&p);
	return status;
}

/* ---- The command ------------------------------------------------------------------------------------------ */

static const struct option options[] = {
	{ "print", 0, OPTION_FLAG, .help = "print it and change no file" },
	{ "context", 0, OPTION_STRING, "NAME", .help = "name of the context; default: the cluster's name" },
	{ "file", 'o', OPTION_STRING, "FILE", .help = "merge into this file; default: KUBECONFIG, else ~/.kube/config",
		.complete = COMPLETE_FILE },
	PROVISION_SUDO_OPTION,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod kubeconfig train", "add the cluster 'train' to kubectl's file" },
	{ "nanopod kubeconfig train --context gpus", "under another name" },
	{ "nanopod kubeconfig train --print >train.kubeconfig", "into a separate file" },
	{ 0 },
};

const struct command cmd_kubeconfig = {
	.name = "kubeconfig",
	.args = "CLUSTER",
	.summary = "give kubectl access to a provisioned cluster",
	.examples = examples,
	.positional = "CLUSTER   its name, or its cluster file",
	.description = "Fetches the administrator's key over SSH from one of the cluster's K3s servers. Replaces "
		       "the file at once, readable only by you, and keeps everything else in it byte for byte; "
		       "refuses what it cannot merge safely. Sets the current context only where there is none.",
	.options = options,
	.flags = COMMAND_CONNECT | COMMAND_NODES | COMMAND_MORE,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_CLUSTER,
	.run = kubeconfig_command,
};
