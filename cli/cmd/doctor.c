/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod doctor: checks what run, ssh and cp need on this machine, and tells how to fix it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/remote/keeping.h"
#include "pssh/pssh.h"

extern char **environ;

enum { FINDINGS_MAX = 64 };
enum state { STATE_OK, STATE_WARN, STATE_FAIL };

/* What --fix may do: nothing that loses or reveals anything. */
enum fix { FIX_NONE, FIX_CHMOD, FIX_MKDIR };

struct finding {
	const char *check;
	enum state state;
	char why[512], mend[512];
	enum fix fix;
	char path[512];
	mode_t mode;
};

struct doctor {
	struct nanopod *np;
	struct finding findings[FINDINGS_MAX];
	size_t count;
	size_t keys; /* keys that could sign in */
};

/* ---- Findings -------------------------------------------------------------------------- */

static __attribute__((format(printf, 4, 5))) struct finding *doctor_find(struct doctor *d, const char *check,
	enum state state, const char *fmt, ...)
{
	/* Where there are too many findings, the last place is overwritten. */
	struct finding *f = &d->findings[d->count < FINDINGS_MAX ? d->count++ : FINDINGS_MAX - 1];
	va_list ap;

	*f = (struct finding){ .check = check, .state = state };
	va_start(ap, fmt);
	vsnprintf(f->why, sizeof f->why, fmt, ap);
	va_end(ap);
	return f;
}

static __attribute__((format(printf, 2, 3))) void doctor_mend(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->mend, sizeof f->mend, fmt, ap);
	va_end(ap);
}

/* A command with a path, quoted for the shell. */
static void mend_with(struct finding *f, const char *command, const char *path)
{
	struct buf word;

	buf_init(&word, sizeof f->mend);
	(void)str_quote_sh(&word, path);
	doctor_mend(f, "%s %s", command, buf_text(&word));
	buf_release(&word);
}

/* The same for --fix. */
static void mend_path(struct finding *f, enum fix fix, const char *path, mode_t mode)
{
	char command[32];

	snprintf(command, sizeof command, fix == FIX_MKDIR ? "mkdir -m %o" : "chmod %o", (unsigned)mode);
	mend_with(f, command, path);
	if (strlen(path) >= sizeof f->path)
		return;
	f->fix = fix;
	f->mode = mode;
	memcpy(f->path, path, strlen(path) + 1);
}

/*
 * Does the path belong to us, with none of the mode bits in `bad`? False after noting what is wrong. The caller
 * handles a path that does not exist.
 */
static bool check_mode(struct doctor *d, const char *check, const char *path, mode_t bad, mode_t good)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return true;
	if (st.st_uid != geteuid() && st.st_uid != 0) {
		mend_with(doctor_find(d, check, STATE_FAIL, "'%s' belongs to another user", path),
			"sudo chown \"$USER\"", path);
		return false;
	}
	if (st.st_mode & bad) {
		mend_path(doctor_find(d, check, STATE_FAIL, "'%s' has mode %o: others may %s it", path,
				  st.st_mode & 07777u, st.st_mode & bad & 022 ? "write" : "read"),
			FIX_CHMOD, path, good);
		return false;
	}
	if (access(path, R_OK) < 0) {
		mend_path(doctor_find(d, check, STATE_FAIL, "'%s' cannot be read: %s", path, strerror(errno)),
			FIX_CHMOD, path, good);
		return false;
	}
	return true;
}

/* ---- Checks ---------------------------------------------------------------------------- */

static bool is_setting_name(const char *name, size_t len)
{
	static const char *const others[] = { "NANOPOD_PROFILE", "NANOPOD_CONFIG", "NANOPOD_TOKEN",
		"NANOPOD_JOIN_TOKEN", "NANOPOD_LIBEXEC", "NANOPOD_NODE", "NANOPOD_PROCESS", "NANOPOD_STACKS",
		"NANOPOD_SUDO_PASSWORD" };
	char env[64];

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return true;
	for (int i = 0; i < SETTING_IDS; i++) {
		settings_env((enum setting)i, env, sizeof env);
		if (strlen(env) == len && memcmp(env, name, len) == 0)
			return true;
	}
	return false;
}

static void check_settings(struct doctor *d)
{
	const struct settings *s = d->np->settings;
	const char *warning;
	size_t before = d->count;

	if (d->np->settings_fail.code)
		doctor_mend(doctor_find(d, "settings", STATE_FAIL, "%s", d->np->settings_fail.text),
			"nanopod config path");
	for (size_t i = 0; (warning = settings_warning(s, i)); i++)
		doctor_find(d, "settings", STATE_WARN, "%s", warning);
	for (char **word = environ; *word; word++) {
		size_t len = strcspn(*word, "=");

		if (str_starts(*word, "NANOPOD_") && !is_setting_name(*word, len))
			doctor_mend(doctor_find(d, "settings", STATE_WARN, "'%.*s' is not a setting of nanopod",
					    (int)len, *word),
				"unset %.*s", (int)len, *word);
	}
	if (d->count > before)
		return;
	if (settings_loaded(s, LAYER_PERSON))
		doctor_find(d, "settings", STATE_OK, "'%s' is read", settings_path(s, LAYER_PERSON));
	else
		doctor_find(d, "settings", STATE_OK, "no file of your own; the defaults apply");
}

static void check_folder(struct doctor *d)
{
	char *folder = str_expand_home("~/.ssh");
	struct stat st;

	if (!folder)
		command_nomem();
	if (stat(folder, &st) < 0)
		mend_path(doctor_find(d, "ssh-folder", STATE_WARN, "'%s' does not exist: %s", folder, strerror(errno)),
			FIX_MKDIR, folder, 0700);
	else if (!S_ISDIR(st.st_mode))
		doctor_find(d, "ssh-folder", STATE_FAIL, "'%s' is not a directory", folder);
	else if (check_mode(d, "ssh-folder", folder, 022, 0700))
		doctor_find(d, "ssh-folder", STATE_OK, "'%s' is yours", folder);
	free(folder);
}

/* How many keys the agent has; -1 where it does not answer. */
static int count_agent_keys(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	static const unsigned char question[] = { 0, 0, 0, 1, 11 };
	unsigned char answer[9];
	struct timeval limit = { .tv_sec = 2 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), keys = -1;

	if (fd < 0 || strlen(path) >= sizeof address.sun_path)
		goto out;
	memcpy(address.sun_path, path, strlen(path) + 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0
	    && send(fd, question, sizeof question, MSG_NOSIGNAL) == (ssize_t)sizeof question
	    && recv(fd, answer, sizeof answer, MSG_WAITALL) == (ssize_t)sizeof answer && answer[4] == 12)
		keys = answer[5] || answer[6] ? 65535 : answer[7] << 8 | answer[8];
out:
	if (fd >= 0)
		close(fd);
	return keys;
}

static void check_agent(struct doctor *d)
{
	const char *path = settings_text(d->np->settings, SETTING_ID_AGENT);
	int keys;

	if (path && settings_none(d->np->settings, SETTING_ID_AGENT)) {
		doctor_find(d, "agent", STATE_OK, "switched off (agent: none)");
		return;
	}
	path = path ? path : getenv("SSH_AUTH_SOCK");
	if (!path || !*path) {
		doctor_mend(
			doctor_find(d, "agent", STATE_WARN,
				"none: SSH_AUTH_SOCK is not set, so each use of a key with a passphrase asks for it"),
			"eval \"$(ssh-agent)\" && ssh-add");
		return;
	}
	keys = count_agent_keys(path);
	if (keys < 0)
		doctor_mend(doctor_find(d, "agent", STATE_FAIL, "no agent answers at '%s'", path),
			"eval \"$(ssh-agent)\" && ssh-add");
	else if (keys == 0)
		doctor_mend(doctor_find(d, "agent", STATE_WARN, "it answers, but has no keys"), "ssh-add");
	else
		doctor_find(d, "agent", STATE_OK, "it answers and has %d key%s", keys, keys == 1 ? "" : "s");
	d->keys += keys > 0 ? (size_t)keys : 0;
}

static bool doctor_check_key(struct doctor *d, const char *path)
{
	if (access(path, F_OK) < 0)
		return false;
	if (check_mode(d, "keys", path, 077, 0600)) {
		doctor_find(d, "keys", STATE_OK, "'%s'", path);
		d->keys++;
	}
	return true;
}

static void doctor_check_keys(struct doctor *d)
{
	static const char *const names[] = { "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa" };
	const struct settings *s = d->np->settings;
	const char *named;
	size_t before = d->count;

	for (size_t i = 0; (named = settings_item(s, SETTING_ID_IDENTITY, i)); i++)
		if (!doctor_check_key(d, named))
			mend_with(doctor_find(d, "keys", STATE_FAIL, "'%s' does not exist; %s names it", named,
					  settings_where(s, SETTING_ID_IDENTITY)),
				"ssh-keygen -t ed25519 -f", named);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = str_expand_home(names[i]);

		if (path)
			doctor_check_key(d, path);
		free(path);
	}
	if (d->count == before && d->keys)
		doctor_find(d, "keys", STATE_OK, "the agent's");
	else if (d->count == before)
		doctor_mend(doctor_find(d, "keys", STATE_WARN,
				    "none under their usual names, nor in an agent: only passwords and keys that "
				    "ssh_config names are left"),
			"ssh-keygen -t ed25519");
}

static void check_known_hosts(struct doctor *d)
{
	const char *path = settings_text(d->np->settings, SETTING_ID_KNOWN_HOSTS);
	struct stat st;

	if (settings_none(d->np->settings, SETTING_ID_KNOWN_HOSTS))
		doctor_find(d, "known-hosts", STATE_OK, "switched off (known-hosts: none)");
	else if (stat(path, &st) < 0 && errno == ENOENT)
		doctor_find(d, "known-hosts", STATE_OK, "'%s' does not exist yet; accepting the first key creates it",
			path);
	else if (stat(path, &st) < 0)
		doctor_find(d, "known-hosts", STATE_FAIL, "'%s' cannot be read: %s", path, strerror(errno));
	else if (check_mode(d, "known-hosts", path, 022, 0600))
		doctor_find(d, "known-hosts", STATE_OK, "'%s' is readable", path);
}

static void take_warning(void *arg, enum pssh_log_level level, const char *text)
{
	(void)level;
	doctor_find(arg, "ssh-config", STATE_WARN, "%s", text);
}

static void check_ssh_config(struct doctor *d)
{
	const char *path = settings_text(d->np->settings, SETTING_ID_SSH_CONFIG);
	struct pssh *fleet = NULL;
	size_t before = d->count;

	if (settings_none(d->np->settings, SETTING_ID_SSH_CONFIG) || (access(path, F_OK) < 0 && errno == ENOENT)) {
		if (settings_layer(d->np->settings, SETTING_ID_SSH_CONFIG) != LAYER_DEFAULT
		    && !settings_none(d->np->settings, SETTING_ID_SSH_CONFIG))
			doctor_find(d, "ssh-config", STATE_FAIL, "'%s' does not exist; %s names it", path,
				settings_where(d->np->settings, SETTING_ID_SSH_CONFIG));
		else
			doctor_find(d, "ssh-config", STATE_OK, "no file to follow");
		return;
	}
	if (!check_mode(d, "ssh-config", path, 022, 0600))
		return;
	if (pssh_new(&fleet))
		command_nomem();
	pssh_set_log(fleet, PSSH_LOG_WARN, take_warning, d);
	if (pssh_read_config(fleet, path))
		doctor_find(d, "ssh-config", STATE_FAIL, "%s", pssh_error(fleet));
	else if (d->count == before)
		doctor_find(d, "ssh-config", STATE_OK, "'%s' is valid", path);
	pssh_free(fleet);
}

static void check_descriptors(struct doctor *d)
{
	enum { OURS = 32 }; /* files, terminal, agent …, besides one for each connection */
	struct rlimit limit;
	rlim_t needed = (rlim_t)settings_int(d->np->settings, SETTING_ID_FANOUT) + OURS;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		doctor_find(d, "descriptors", STATE_WARN, "their limit cannot be read: %s", strerror(errno));
	else if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < needed)
		doctor_mend(doctor_find(d, "descriptors", limit.rlim_cur < OURS ? STATE_FAIL : STATE_WARN,
				    "%llu files may be open, %llu would be needed for a fanout of %ld",
				    (unsigned long long)limit.rlim_cur, (unsigned long long)needed,
				    settings_int(d->np->settings, SETTING_ID_FANOUT)),
			"ulimit -n %llu", (unsigned long long)needed);
	else
		doctor_find(d, "descriptors", STATE_OK, "%llu files may be open", (unsigned long long)limit.rlim_cur);
}

static void check_terminal(struct doctor *d)
{
	const char *term = getenv("TERM");

	if (!d->np->tty_in && !d->np->tty_out && !d->np->tty_err)
		doctor_find(d, "terminal", STATE_OK, "none: no questions and no progress line");
	else if (!term || !*term)
		doctor_mend(doctor_find(d, "terminal", STATE_WARN, "TERM is not set"), "export TERM=xterm-256color");
	else
		doctor_find(d, "terminal", STATE_OK, "%s, %u columns", term, print_columns(d->np->out));
}

/* Only where a market is set: one request with a short timeout. */
static void check_market(struct doctor *d)
{
	const char *url = settings_text(d->np->settings, SETTING_ID_URL);
	bool local = url && settings_layer(d->np->settings, SETTING_ID_URL) == LAYER_LOCAL;
	struct market_link *m = NULL;
	struct client_call q = { .method = "GET", .path = "/np/v1/whoami" };

	if (!url) {
		doctor_mend(doctor_find(d, "market", STATE_WARN,
				    market_local_stopped() ? "none is set: the local market is stopped"
							   : "none is set, and buying nodes needs one"),
			"nanopod local start");
		return;
	}
	if (market_sign_in(d->np, NULL, MARKET_BRIEFLY | MARKET_TOKEN_OPTIONAL, &m)) {
		doctor_find(d, "market", STATE_FAIL, "'%s' does not answer", url);
		return;
	}
	if (market_call(m, &q) == 0)
		doctor_find(d, "market", STATE_OK, "'%s' answers and accepts the token", url);
	else if (m->fail.code == REASON_UNAUTHENTICATED || m->fail.code == REASON_TOKEN_EXPIRED)
		doctor_mend(doctor_find(d, "market", STATE_WARN, "'%s': %s", url, m->fail.text),
			local ? "nanopod local start" : "nanopod login");
	else
		doctor_mend(doctor_find(d, "market", STATE_FAIL, "%s", m->fail.text),
			local ? "nanopod local start" : "nanopod config get url --origin");
	market_sign_out(m);
}

static void check_kept(struct doctor *d)
{
	struct pssh_kept *list = NULL;
	size_t count = 0, silent = 0;

	if (keeping_list(d->np, false, &list, &count, &silent) != STATUS_OK)
		doctor_mend(doctor_find(d, "kept", STATE_WARN, "kept connections cannot be listed"), "nanopod keep");
	else if (silent)
		doctor_mend(doctor_find(d, "kept", STATE_WARN, "%zu kept connection%s: the keeper does not answer",
				    silent, silent == 1 ? "" : "s"),
			"nanopod keep stop");
	else if (count)
		doctor_mend(doctor_find(d, "kept", STATE_OK, "%zu connection%s kept open: %s%s%s%s", count,
				    count == 1 ? " is" : "s are", list[0].name, count > 1 ? ", " : "",
				    count > 1 ? list[1].name : "",
				    count > 2 ? " and others that 'nanopod keep' lists" : ""),
			"nanopod keep stop");
	free(list);
}

static void doctor_examine(struct doctor *d)
{
	d->count = d->keys = 0;
	check_settings(d);
	check_folder(d);
	check_ssh_config(d);
	check_agent(d);
	doctor_check_keys(d);
	check_known_hosts(d);
	check_descriptors(d);
	check_kept(d);
	check_market(d);
	check_terminal(d);
}

/* ---- The command ----------------------------------------------------------------------- */

/* Runs the fixes. How many succeeded. */
static int fix_all(struct doctor *d)
{
	int mended = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct finding *f = &d->findings[i];
		int rc = 0;

		if (f->fix == FIX_NONE)
			continue;
		if (f->fix == FIX_CHMOD)
			rc = chmod(f->path, f->mode);
		else if (f->fix == FIX_MKDIR)
			rc = mkdir(f->path, f->mode);
		if (rc < 0) {
			print_warn(d->np, "cannot do '%s': %s", f->mend, strerror(errno));
			continue;
		}
		print_note(d->np, "done: %s", f->mend);
		mended++;
	}
	return mended;
}

static const struct column columns[] = {
	{ "state", COLUMN_STATE, "ok, warn or fail" },
	{ "check", COLUMN_ID, "what was checked" },
	{ "why", COLUMN_TEXT, "what was found" },
	{ "mend", COLUMN_TEXT | COLUMN_UNDER, "command that fixes it" },
	{ 0 },
};

static int doctor_show(struct doctor *d, const struct options *o)
{
	static const char *const names[] = { "ok", "warn", "fail" };
	int status = STATUS_OK;
	struct rows *r = rows_new(d->np, o, columns, &status);

	for (size_t i = 0; r && i < d->count; i++) {
		const struct finding *f = &d->findings[i];

		rows_add(r, (const char *[]){ names[f->state], f->check, f->why, *f->mend ? f->mend : NULL });
		if (f->state == STATE_FAIL)
			status = STATUS_CHECK;
	}
	if (r)
		rows_end(r);
	return status;
}

static int doctor_command(struct nanopod *np, const struct options *o)
{
	struct doctor *d = calloc(1, sizeof *d);
	int status;

	if (!d)
		command_nomem();
	d->np = np;
	doctor_examine(d);
	if (option_given(o, "fix") && fix_all(d) > 0)
		doctor_examine(d);
	status = doctor_show(d, o);
	free(d);
	return status;
}

static const struct option options[] = {
	{ "fix", 0, OPTION_FLAG, .help = "fix what is safe to fix: modes of your own files, a missing ~/.ssh" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod doctor", "check what run, ssh and cp need" },
	{ "nanopod doctor --fix", "fix what is safe to fix" },
	{ "nanopod doctor -o json", "the same for programs" },
	{ 0 },
};

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "",
	.summary = "check this machine and tell how to fix it",
	.examples = examples,
	.description = "Checks the settings, ~/.ssh, ssh_config, the agent, keys, known hosts, the limit of open "
		       "files, the terminal, and whether a market is set and answers. It contacts no other "
		       "host. The exit status is 11 where a check failed; warnings do not count.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_LENIENT,
	.run = doctor_command,
};
