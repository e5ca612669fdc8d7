/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/connect.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/inventory/hostbook.h"
#include "cli/nodes/node.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/frame/remember.h"
#include "cli/frame/settings.h"
#include "cli/remote/keeping.h"
#include "cli/remote/keystream.h"
#include "cli/remote/openssh.h"

static const enum setting decisive[] = {
	SETTING_ID_FANOUT,
	SETTING_ID_CONNECT_TIMEOUT,
	SETTING_ID_RETRY,
	SETTING_ID_USER,
	SETTING_ID_PORT,
	SETTING_ID_IDENTITY,
	SETTING_ID_JUMP,
	SETTING_ID_SSH_CONFIG,
	SETTING_ID_KNOWN_HOSTS,
	SETTING_ID_HOST_KEY,
	SETTING_ID_AGENT,
	SETTING_ID_KEEP,
};

static char *made_of(struct nanopod *np)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < sizeof decisive / sizeof *decisive; i++)
		for (size_t k = 0, n = settings_count(np->settings, decisive[i]); k < n; k++) {
			const char *item = settings_item(np->settings, decisive[i], k);

			rc |= buf_addf(&b, "%s=%s\n", settings_row(decisive[i])->key, item ? item : "");
		}
	rc |= buf_addf(&b, "verbose=%d\ninventory=%p\n%s", np->verbose, (void *)np->hostbook,
		np->ssh_lines ? np->ssh_lines : "");
	if (rc)
		command_nomem();
	return buf_steal(&b);
}

/* Each connection takes a descriptor, so raise the limit. */
static void connect_raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void connect_say(void *arg, enum pssh_log_level level, const char *text)
{
	struct nanopod *np = arg;

	/* Who cannot change it would have to read this with every command. */
	if (strstr(text, "WarnWeakCrypto no") && !np->verbose && !remember_daily("weak-exchange"))
		return;
	if (level <= PSSH_LOG_WARN)
		print_warn(np, "%s", text);
	else
		print_note(np, "%s", text);
}

static int connect_failed(struct nanopod *np, struct connect *c, int rc, enum status status, const char *field,
	const char *hint)
{
	if (rc == PSSH_ENOMEM)
		command_nomem();
	return print_fail_field(np, status, field, hint, "%s",
		*pssh_error(c->fleet) ? pssh_error(c->fleet) : pssh_strerror(rc));
}

/*
 * In ssh_config the first value counts, so nanopod's settings go in front, as those of `ssh -o` do.
 */
static int read_overrides(struct nanopod *np, struct connect *c)
{
	const struct settings *s = np->settings;
	char path[64];
	struct buf b;
	int fd, rc = 0;

	buf_init(&b, 1 << 16);
	if (settings_given(s, SETTING_ID_KNOWN_HOSTS))
		rc |= buf_addf(&b, "UserKnownHostsFile \"%s\"\nGlobalKnownHostsFile none\n",
			settings_none(s, SETTING_ID_KNOWN_HOSTS) ? "none" : settings_text(s, SETTING_ID_KNOWN_HOSTS));
	if (settings_given(s, SETTING_ID_AGENT))
		rc |= buf_addf(&b, "IdentityAgent \"%s\"\n",
			settings_none(s, SETTING_ID_AGENT) ? "none" : settings_text(s, SETTING_ID_AGENT));
	if (settings_given(s, SETTING_ID_CONNECT_TIMEOUT))
		rc |= buf_addf(&b, "ConnectTimeout %lld\n",
			(long long)(settings_ms(s, SETTING_ID_CONNECT_TIMEOUT) + 999) / 1000);
	if (np->ssh_lines)
		rc |= buf_adds(&b, np->ssh_lines);
	if (rc)
		command_nomem();
	if (!b.len)
		return STATUS_OK;
	fd = memfd_create("overrides", MFD_CLOEXEC);
	if (fd < 0 || write(fd, b.data, b.len) != (ssize_t)b.len) {
		rc = print_fail(np, STATUS_FAILURE, NULL, "cannot apply the settings: %s", strerror(errno));
	} else {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		rc = pssh_read_config(c->fleet, path);
		if (rc)
			rc = connect_failed(np, c, rc, STATUS_USAGE, NULL, NULL);
	}
	if (fd >= 0)
		close(fd);
	buf_release(&b);
	return rc;
}

static int read_configs(struct nanopod *np, struct connect *c)
{
	const char *own = settings_text(np->settings, SETTING_ID_SSH_CONFIG);
	bool chosen = settings_given(np->settings, SETTING_ID_SSH_CONFIG);
	const char *files[2] = { own, chosen ? NULL : "/etc/ssh/ssh_config" };

	if (settings_none(np->settings, SETTING_ID_SSH_CONFIG))
		return STATUS_OK;
	for (int i = 0; i < 2; i++) {
		int rc;

		if (!files[i] || (!chosen && access(files[i], F_OK) != 0))
			continue;
		rc = pssh_read_config(c->fleet, files[i]);
		if (rc)
			return connect_failed(np, c, rc, STATUS_USAGE, "--ssh-config",
				"'--ssh-config none' does without");
	}
	return STATUS_OK;
}

static int read_known_hosts(struct nanopod *np, struct connect *c)
{
	static const char *const usual[] = {
		"~/.ssh/known_hosts",
		"~/.ssh/known_hosts2",
		"/etc/ssh/ssh_known_hosts",
		"/etc/ssh/ssh_known_hosts2",
		NULL,
	};
	int rc = 0;

	if (settings_none(np->settings, SETTING_ID_KNOWN_HOSTS))
		return STATUS_OK;
	if (settings_given(np->settings, SETTING_ID_KNOWN_HOSTS)) {
		rc = pssh_add_known_hosts(c->fleet, settings_text(np->settings, SETTING_ID_KNOWN_HOSTS));
		return rc ? connect_failed(np, c, rc, STATUS_FAILURE, "--known-hosts", NULL) : STATUS_OK;
	}
	for (size_t i = 0; !rc && usual[i]; i++) {
		char *path = str_expand_home(usual[i]);

		if (!path)
			command_nomem();
		if (i == 0 || access(path, F_OK) == 0)
			rc = pssh_add_known_hosts(c->fleet, path);
		free(path);
	}
	return rc ? connect_failed(np, c, rc, STATUS_FAILURE, NULL, "'--known-hosts FILE' chooses another") : STATUS_OK;
}

static int read_identities(struct nanopod *np, struct connect *c)
{
	static const char *const usual[] = { "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa", NULL };
	int rc = 0;

	for (size_t i = 0, n = settings_count(np->settings, SETTING_ID_IDENTITY); i < n; i++) {
		const char *path = settings_item(np->settings, SETTING_ID_IDENTITY, i);

		if (access(path, R_OK) != 0)
			return print_fail_field(np, STATUS_USAGE, "--identity", NULL, "cannot read '%s': %s", path,
				strerror(errno));
		rc = pssh_add_identity(c->fleet, path);
		if (rc)
			return connect_failed(np, c, rc, STATUS_USAGE, "--identity", NULL);
	}
	if (settings_count(np->settings, SETTING_ID_IDENTITY))
		return STATUS_OK;
	for (size_t i = 0; !rc && usual[i]; i++) {
		char *path = str_expand_home(usual[i]);

		if (!path)
			command_nomem();
		if (access(path, R_OK) == 0)
			rc = pssh_add_identity(c->fleet, path);
		free(path);
	}
	return rc ? connect_failed(np, c, rc, STATUS_FAILURE, NULL, NULL) : STATUS_OK;
}

static int set_agent(struct nanopod *np, struct connect *c)
{
	const char *path = settings_text(np->settings, SETTING_ID_AGENT);
	int rc;

	if (settings_none(np->settings, SETTING_ID_AGENT))
		path = NULL;
	else if (!path || !*path)
		path = getenv("SSH_AUTH_SOCK");
	rc = pssh_set_agent(c->fleet, path && *path ? path : NULL);
	return rc ? connect_failed(np, c, rc, STATUS_FAILURE, "--agent", NULL) : STATUS_OK;
}

static void connect_set_limits(struct nanopod *np, struct connect *c)
{
	unsigned fanout = (unsigned)settings_int(np->settings, SETTING_ID_FANOUT);
	unsigned tries = (unsigned)settings_int(np->settings, SETTING_ID_RETRY) + 1;
	unsigned reach = (unsigned)settings_ms(np->settings, SETTING_ID_CONNECT_TIMEOUT);
	bool chosen = settings_given(np->settings, SETTING_ID_FANOUT);

	/* A small --fanout limits the running commands too, not only connecting. */
	pssh_set_window(c->fleet, fanout, chosen ? fanout : 0);
	pssh_set_retries(c->fleet, tries, 500, 8000);
	if (settings_given(np->settings, SETTING_ID_CONNECT_TIMEOUT)) {
		pssh_set_deadline(c->fleet, PSSH_PHASE_RESOLVE, reach);
		pssh_set_deadline(c->fleet, PSSH_PHASE_CONNECT, reach);
		pssh_set_deadline(c->fleet, PSSH_PHASE_HANDSHAKE, reach);
		pssh_set_deadline(c->fleet, PSSH_PHASE_AUTH, reach);
	}
}

static int connect_make(struct nanopod *np, struct connect *c)
{
	static const enum pssh_log_level levels[] = { PSSH_LOG_WARN, PSSH_LOG_INFO, PSSH_LOG_DEBUG, PSSH_LOG_TRACE };
	const char *keys = settings_text(np->settings, SETTING_ID_HOST_KEY);
	int status;

	keystream_begin();
	if (pssh_new(&c->fleet) != 0 || prompt_new(np, &c->prompt) != 0)
		command_nomem();
	pssh_set_log(c->fleet, levels[np->verbose < 3 ? np->verbose : 3], connect_say, np);
	/* For people; what a script reads stays the same whatever the servers offer. */
	pssh_set_warn_weak(c->fleet, np->tty_err || np->verbose);
	connect_raise_descriptors();
	connect_set_limits(np, c);
	pssh_set_prompts(c->fleet, prompt_possible(c->prompt));
	c->ask_new = strcmp(keys, "ask") == 0 && prompt_possible(c->prompt);
	c->ask_all = c->ask_new && settings_given(np->settings, SETTING_ID_HOST_KEY);
	/* The default: StrictHostKeyChecking of ssh_config, else strict, asking about unknown keys. */
	if (settings_given(np->settings, SETTING_ID_HOST_KEY))
		pssh_set_hostkeys(c->fleet,
			strcmp(keys, "accept-new") == 0 ? PSSH_HOSTKEYS_ACCEPT_NEW : PSSH_HOSTKEYS_STRICT);
	status = settings_none(np->settings, SETTING_ID_SSH_CONFIG) && !np->ssh_lines ? STATUS_OK
										      : read_overrides(np, c);
	if (!status)
		status = read_configs(np, c);
	if (!status)
		status = read_known_hosts(np, c);
	if (!status)
		status = read_identities(np, c);
	if (!status)
		status = set_agent(np, c);
	if (!status)
		keeping_apply(np, c->fleet);
	return status;
}

void connect_free(struct connect *c)
{
	if (!c)
		return;
	pssh_free(c->fleet);
	prompt_free(c->prompt);
	free(c->made_of);
	free(c);
}

int connect_open(struct nanopod *np, struct connect **out)
{
	struct connect_warm *warm = np->shell;
	struct connect *c = calloc(1, sizeof *c);
	int status;

	if (!c)
		command_nomem();
	c->made_of = made_of(np);
	for (size_t i = 0; warm && i < sizeof warm->kept / sizeof *warm->kept; i++) {
		if (warm->kept[i] && strcmp(warm->kept[i]->made_of, c->made_of) == 0) {
			*out = warm->kept[i];
			warm->kept[i] = NULL;
			connect_free(c);
			return STATUS_OK;
		}
	}
	c->loosened = np->hostbook_own; /* its addresses are of this command alone */
	status = connect_make(np, c);
	if (status) {
		connect_free(c);
		return status;
	}
	*out = c;
	return STATUS_OK;
}

/* The newest comes first; the oldest is dropped. */
void connect_close(struct nanopod *np, struct connect *c)
{
	struct connect_warm *warm = np->shell;
	size_t last = sizeof warm->kept / sizeof *warm->kept - 1;

	if (!warm || !c || c->loosened) {
		connect_free(c);
		return;
	}
	connect_free(warm->kept[last]);
	memmove(warm->kept + 1, warm->kept, last * sizeof *warm->kept);
	warm->kept[0] = c;
}

/* Flags and variables win over what the market says; files, which are about hosts in general, do not. */
static bool connect_typed(const struct settings *s, enum setting id)
{
	return settings_given(s, id) && settings_layer(s, id) >= LAYER_ENVIRONMENT;
}

/* A node of the market: address and host key come from there, so there is nothing to ask. */
static int connect_node(struct nanopod *np, struct connect *c, const char *spec, const struct node *n,
	struct pssh_host **out)
{
	const struct settings *s = np->settings;
	const char *jump = settings_text(s, SETTING_ID_JUMP), *own = settings_local_identity(s);
	struct pssh_host *h;
	int rc;

	if (!node_reachable(n))
		return node_unreachable(np, n);
	if (!n->key_count)
		return node_keyless(np, n);
	rc = pssh_host(c->fleet, spec, &h);
	rc = rc ? rc : pssh_host_set_address(h, n->hostname);
	rc = rc ? rc
		: pssh_host_set_port(h,
			  connect_typed(s, SETTING_ID_PORT) ? (unsigned)settings_int(s, SETTING_ID_PORT) : n->port);
	if (!rc && !strchr(spec, '@'))
		rc = pssh_host_set_user(h,
			connect_typed(s, SETTING_ID_USER) ? settings_text(s, SETTING_ID_USER) : n->user);
	if (!rc && jump && *jump)
		rc = pssh_host_set_jump(h, jump);
	rc = rc ? rc : pssh_host_pin(h, NULL);
	for (size_t i = 0; !rc && i < n->key_count; i++)
		rc = pssh_host_pin(h, n->keys[i]);
	if (!rc && own)
		rc = pssh_host_add_identity(h, own);
	if (rc)
		return connect_failed(np, c, rc, STATUS_FAILURE, NULL,
			"'nanopod nodes -o json' shows what the market says of it");
	*out = h;
	return STATUS_OK;
}

/* What an inventory says of the host; options and the name itself win. */
static int connect_from_book(struct pssh_host *h, const char *name, const struct hostbook_host *book)
{
	int rc = book->address ? pssh_host_set_address(h, book->address) : 0;

	if (!rc && book->user && !strchr(name, '@'))
		rc = pssh_host_set_user(h, book->user);
	if (!rc && book->port && !openssh_has_port(name))
		rc = pssh_host_set_port(h, book->port);
	if (!rc && book->key_file)
		rc = pssh_host_add_identity(h, book->key_file);
	return rc;
}

int connect_host(struct nanopod *np, struct connect *c, const char *name, struct pssh_host **out)
{
	const struct node *node = nodes_of_host(np->nodes, name);
	const char *user = settings_text(np->settings, SETTING_ID_USER);
	const char *jump = settings_text(np->settings, SETTING_ID_JUMP);
	struct pssh_host *h;
	int rc;

	const struct hostbook_host *book = np->hostbook ? hostbook_find(np->hostbook, name) : NULL;

	if (node)
		return connect_node(np, c, name, node, out);
	rc = pssh_host(c->fleet, name, &h);
	rc = rc || !book ? rc : connect_from_book(h, name, book);
	if (rc == 0 && user && *user && !strchr(name, '@'))
		rc = pssh_host_set_user(h, user);
	if (rc == 0 && settings_given(np->settings, SETTING_ID_PORT) && !openssh_has_port(name))
		rc = pssh_host_set_port(h, (unsigned)settings_int(np->settings, SETTING_ID_PORT));
	if (rc == 0 && jump && *jump)
		rc = pssh_host_set_jump(h, jump);
	if (rc)
		return connect_failed(np, c, rc,
			rc == PSSH_EINVAL || rc == PSSH_ESYNTAX ? STATUS_USAGE : STATUS_FAILURE, NULL, NULL);
	*out = h;
	return STATUS_OK;
}

static void connect_word(struct buf *list, const char *text)
{
	if (buf_add(list, &text, sizeof text) != 0)
		command_nomem();
}

static void connect_option(struct buf *list, const char *name, const char *value)
{
	char *both;

	if (asprintf(&both, "-o%s=%s", name, value) < 0)
		command_nomem();
	connect_word(list, both); /* until exec */
}

static void connect_path(struct buf *list, const char *name, const char *path)
{
	connect_word(list, openssh_path_option(name, path));
}

/* What counts for jump hosts too. */
static void openssh_common(const struct settings *s, struct buf *list)
{
	static const char *const known[] = { "ask", "yes", "accept-new" };
	char room[32];

	if (settings_given(s, SETTING_ID_KNOWN_HOSTS)) {
		connect_path(list, "UserKnownHostsFile",
			settings_none(s, SETTING_ID_KNOWN_HOSTS) ? "none" : settings_text(s, SETTING_ID_KNOWN_HOSTS));
		connect_option(list, "GlobalKnownHostsFile", "/dev/null");
	}
	if (settings_given(s, SETTING_ID_HOST_KEY))
		connect_option(list, "StrictHostKeyChecking", known[settings_int(s, SETTING_ID_HOST_KEY)]);
	if (settings_given(s, SETTING_ID_CONNECT_TIMEOUT)) {
		snprintf(room, sizeof room, "%lld",
			(long long)(settings_ms(s, SETTING_ID_CONNECT_TIMEOUT) + 999) / 1000);
		connect_option(list, "ConnectTimeout", room);
	}
	if (settings_given(s, SETTING_ID_RETRY)) {
		snprintf(room, sizeof room, "%ld", settings_int(s, SETTING_ID_RETRY) + 1);
		connect_option(list, "ConnectionAttempts", room);
	}
	if (settings_given(s, SETTING_ID_AGENT))
		connect_path(list, "IdentityAgent",
			settings_none(s, SETTING_ID_AGENT) ? "none" : settings_text(s, SETTING_ID_AGENT));
	for (size_t i = 0; i < settings_count(s, SETTING_ID_IDENTITY); i++)
		connect_path(list, "IdentityFile", settings_item(s, SETTING_ID_IDENTITY, i));
}

static void openssh_settings(struct nanopod *np, const char *host, struct buf *list)
{
	const struct settings *s = np->settings;
	const char *jump = settings_text(s, SETTING_ID_JUMP);
	size_t from = list->len / sizeof(char *), plain;
	char room[32];

	if (settings_given(s, SETTING_ID_SSH_CONFIG)) {
		connect_word(list, "-F");
		connect_word(list,
			settings_none(s, SETTING_ID_SSH_CONFIG) ? "none" : settings_text(s, SETTING_ID_SSH_CONFIG));
	}
	plain = list->len / sizeof(char *);
	openssh_common(s, list);
	if (jump && *jump && strcmp(jump, "none") != 0 && list->len / sizeof(char *) > plain)
		connect_word(list,
			openssh_jump_option(jump, (char *const *)(void *)list->data + from,
				list->len / sizeof(char *) - from));
	else if (jump && *jump)
		connect_option(list, "ProxyJump", jump);
	if (settings_given(s, SETTING_ID_PORT) && !openssh_has_port(host)) {
		snprintf(room, sizeof room, "%ld", settings_int(s, SETTING_ID_PORT));
		connect_option(list, "Port", room);
	}
	if (settings_given(s, SETTING_ID_USER) && !strchr(host, '@'))
		connect_option(list, "User", settings_text(s, SETTING_ID_USER));
	if (settings_ms(s, SETTING_ID_TIMEOUT))
		print_warn(np, "the setting 'timeout' has no effect with --openssh: ssh has no such limit");
}

int connect_key_file(struct nanopod *np, const struct node *n, char **out)
{
	char *path = remember_path("hostkeys", n->id);
	struct buf text;
	int rc;

	buf_init(&text, 1 << 16);
	for (size_t i = 0; i < n->key_count; i++)
		if (buf_addf(&text, "%s %s\n", n->id, n->keys[i]))
			command_nomem();
	rc = path ? file_folders(path) : -ENOMEM;
	rc = rc ? rc : file_replace(path, buf_text(&text), text.len, 0600);
	buf_release(&text);
	if (rc) {
		free(path);
		return print_fail(np, STATUS_FAILURE, NULL, "cannot write the host key of '%s': %s", n->name,
			strerror(-rc));
	}
	*out = path;
	return STATUS_OK;
}

/* In a file: ssh closes every descriptor that it would inherit. */
static int openssh_keys(struct nanopod *np, const struct node *n, struct buf *list)
{
	char *path = NULL;
	int status = connect_key_file(np, n, &path);

	if (status)
		return status;
	connect_path(list, "UserKnownHostsFile", path);
	connect_option(list, "GlobalKnownHostsFile", "/dev/null");
	connect_option(list, "HostKeyAlias", n->id);
	connect_option(list, "StrictHostKeyChecking", "yes");
	connect_option(list, "UpdateHostKeys", "no");
	free(path);
	return STATUS_OK;
}

/* First, because ssh takes the first of two equal options. */
static int openssh_node(struct nanopod *np, const char *host, struct buf *list)
{
	const struct node *n = nodes_of_host(np->nodes, host);
	const char *own = settings_local_identity(np->settings);
	char port[16];
	int status;

	if (!n)
		return STATUS_OK;
	if (!node_reachable(n))
		return node_unreachable(np, n);
	status = n->key_count ? openssh_keys(np, n, list) : node_keyless(np, n);
	if (status)
		return status;
	snprintf(port, sizeof port, "%u", n->port);
	connect_option(list, "HostName", n->hostname);
	if (!connect_typed(np->settings, SETTING_ID_PORT) && !openssh_has_port(host))
		connect_option(list, "Port", port);
	if (n->user && !strchr(host, '@') && !connect_typed(np->settings, SETTING_ID_USER))
		connect_option(list, "User", n->user);
	if (own)
		connect_path(list, "IdentityFile", own);
	return STATUS_OK;
}

int connect_openssh(struct nanopod *np, const char *host, char *const *extra, char *const *command)
{
	struct buf list;
	int error, status;

	buf_init(&list, 1 << 20);
	connect_word(&list, "ssh");
	status = openssh_node(np, host, &list);
	if (status) {
		buf_release(&list);
		return status;
	}
	openssh_settings(np, host, &list);
	for (; *extra; extra++)
		connect_word(&list, *extra);
	connect_word(&list, "--");
	connect_word(&list, openssh_destination(host));
	for (; *command; command++)
		connect_word(&list, *command);
	connect_word(&list, NULL);
	fflush(NULL);
	signal(SIGPIPE, SIG_DFL); /* ssh would inherit that it is ignored */
	execvp("ssh", (char *const *)(void *)list.data);
	error = errno;
	buf_release(&list);
	return print_fail(np, STATUS_FAILURE, "install it (Debian: openssh-client), or leave out --openssh",
		"cannot run 'ssh': %s", strerror(error));
}
