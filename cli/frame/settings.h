/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that can be set, in one table, and from where each value came: flags > NANOPOD_* >
 * ./.nanopod.yaml > ~/.config/nanopod/config.yaml > /etc/nanopod/config.yaml > the local market, where
 * `nanopod local` runs one > default.
 *
 * A directory's file is written by whoever made the directory, so it may only set what can
 * neither run a program, nor choose keys, nor weaken the check of host keys, nor send the
 * connection through somebody else: those rows have trust PERSON.
 */
#ifndef CLI_FRAME_SETTINGS_H
#define CLI_FRAME_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* SETTING_PATH: ~/ is understood, else relative to where the command runs. */
enum setting_type {
	SETTING_INT, SETTING_DURATION, SETTING_TEXT, SETTING_PATH, SETTING_ENUM, SETTING_LIST, SETTING_BOOL,
};

enum setting_trust {
	TRUST_ANY,    /* ./.nanopod.yaml may set it */
	TRUST_PERSON, /* only the person's own and the system's files, the environment and flags */
};

/*
 * X(id, key, type, trust, default, values or NULL, min, max, help). The environment's name is
 * NANOPOD_ and the key in upper case with _ for -. A default of NULL: not set. A minimum of 0 in
 * a duration: "none" is accepted and gives 0.
 */
#define SETTINGS(X) \
	X(FANOUT, "fanout", SETTING_INT, TRUST_ANY, "128", NULL, 1, 65536, "connections that may be opening at once") \
	X(TIMEOUT, "timeout", SETTING_DURATION, TRUST_ANY, "none", NULL, 0, 0, \
		"longest that a command or copy may take on one host") \
	X(CONNECT_TIMEOUT, "connect-timeout", SETTING_DURATION, TRUST_ANY, "15s", NULL, 1, 0, \
		"longest that reaching a host may take") \
	X(RETRY, "retry", SETTING_INT, TRUST_ANY, "0", NULL, 0, 100, \
		"further tries where a connection fails in a way that may pass") \
	X(USER, "user", SETTING_TEXT, TRUST_ANY, NULL, NULL, 0, 0, "user on the hosts, where they do not say it") \
	X(PORT, "port", SETTING_INT, TRUST_ANY, NULL, NULL, 1, 65535, "port of the hosts, where they do not say it") \
	X(IDENTITY, "identity", SETTING_LIST, TRUST_PERSON, NULL, NULL, 0, 0, "private key files to offer") \
	X(JUMP, "jump", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, "hosts to go through: a,user@b:22; none") \
	X(SSH_CONFIG, "ssh-config", SETTING_PATH, TRUST_PERSON, "~/.ssh/config", NULL, 0, 0, \
		"ssh_config(5) file to follow; none") \
	X(KNOWN_HOSTS, "known-hosts", SETTING_PATH, TRUST_PERSON, "~/.ssh/known_hosts", NULL, 0, 0, \
		"file of known host keys; none") \
	X(HOST_KEY, "host-key", SETTING_ENUM, TRUST_PERSON, "ask", "ask|strict|accept-new", 0, 0, \
		"what to do about an unknown host key") \
	X(AGENT, "agent", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"socket of the ssh agent, or none; not set: SSH_AUTH_SOCK") \
	X(OUTPUT, "output", SETTING_ENUM, TRUST_ANY, NULL, "table|wide|json|jsonl|csv|name|text", 0, 0, \
		"how it is printed, where the command has it") \
	X(COLOR, "color", SETTING_ENUM, TRUST_ANY, "auto", "auto|always|never", 0, 0, "colours") \
	X(URL, "url", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, \
		"the market: https://host, or unix:/path for its operator") \
	X(TOKEN_FILE, "token-file", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"file with the market's token; not set: token beside your settings, token-PROFILE in a profile") \
	X(MARKET_CA, "market-ca", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"file of certificates to believe instead of the system's") \
	X(MARKET_PLAIN, "market-plain", SETTING_BOOL, TRUST_PERSON, "no", NULL, 0, 0, \
		"send the token over http:// to other machines too") \
	X(SPEND_MAX, "spend-max", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, \
		"most that one command may spend, in dollars; not set: no limit") \
	X(HISTORY, "history", SETTING_PATH, TRUST_PERSON, "~/.local/state/nanopod/history", NULL, 0, 0, \
		"history file of the shell; none")

enum setting {
#define SETTING_X(id, ...) SETTING_ID_##id,
	SETTINGS(SETTING_X)
#undef SETTING_X
	SETTING_IDS
};

struct setting_row {
	const char *key;
	enum setting_type type;
	enum setting_trust trust;
	const char *fallback, *values;
	long min, max;
	const char *help;
};

enum settings_layer {
	LAYER_DEFAULT,
	LAYER_LOCAL, /* `nanopod local`: which market and whose; only as long as nobody names another one */
	LAYER_SYSTEM, LAYER_PERSON, LAYER_DIRECTORY, LAYER_ENVIRONMENT, LAYER_FLAG,
	LAYER_LINE, /* flags of a line in the shell, over those that the shell was started with */
	LAYERS
};

struct settings;

const struct setting_row *settings_row(enum setting id);
int settings_find(const char *key); /* an enum setting, or -1 */
void settings_env(enum setting id, char *room, size_t size); /* NANOPOD_FANOUT */

int settings_new(struct settings **out);
void settings_free(struct settings *s);

/*
 * Reads files and environment (cli/frame/sources.c). file: --config, instead of the person's and the
 * directory's file; profile: --profile; both may be NULL. 0, or a negative code with a sentence.
 */
int settings_load(struct settings *s, const char *file, const char *profile, struct fail *f);

/* Would this text do? */
int settings_check(enum setting id, const char *text, struct fail *f);
int settings_check_group(const char *name, struct fail *f);

/* What is wrong but can be lived with (a directory's file that was ignored); NULL past the end. */
const char *settings_warning(const struct settings *s, size_t i);

/* A flag's value; lists grow by repetition. settings_clear takes the whole layer off again. */
int settings_set(struct settings *s, enum setting id, enum settings_layer layer,
	const char *text, const char *where, struct fail *f);
void settings_clear(struct settings *s, enum settings_layer layer);

/* The value that counts. Never set and no default: NULL, 0, false. A path is expanded; of a list the first. */
const char *settings_text(const struct settings *s, enum setting id);
long settings_int(const struct settings *s, enum setting id);      /* of an enum its place in values */
int64_t settings_ms(const struct settings *s, enum setting id);    /* 0: none */
bool settings_bool(const struct settings *s, enum setting id);
size_t settings_count(const struct settings *s, enum setting id);
const char *settings_item(const struct settings *s, enum setting id, size_t i); /* paths expanded */

bool settings_given(const struct settings *s, enum setting id);    /* set by anyone but the default */
enum settings_layer settings_layer(const struct settings *s, enum setting id);
const char *settings_where(const struct settings *s,
	enum setting id); /* "default", "--fanout", "NANOPOD_FANOUT", "FILE:LINE" */

/* The market is that of `nanopod local`: the private key that its nodes know; else NULL. */
const char *settings_local_identity(const struct settings *s);

/* SETTING_PATH whose value is "none". */
bool settings_none(const struct settings *s, enum setting id);

/* Groups of hosts: `groups: {web: 'n[1-4]', gpu: [g1, g2]}`; the nearest file's group wins. */
size_t settings_groups(const struct settings *s);
const char *settings_group_name(const struct settings *s, size_t i);
/* Its hosts as text for pssh_list_add, parted by commas; NULL: no such group. */
const char *settings_group(const struct settings *s, const char *name);
const char *settings_group_where(const struct settings *s, const char *name);

/* "default", "system", "person" … */
const char *settings_layer_name(enum settings_layer layer);

/* The profile in force, or NULL; and all that the files know. */
const char *settings_profile(const struct settings *s);
const char *settings_profile_name(const struct settings *s, size_t i); /* NULL past the end */

/* Where the file of a layer is or would be, NULL for layers that are none; and whether it was read. */
const char *settings_path(const struct settings *s, enum settings_layer layer);
bool settings_loaded(const struct settings *s, enum settings_layer layer);

/* ---- For cli/frame/sources.c, which fills it ------------------------------------------------- */

/* A group of hosts; replaces one of the same name. 0, or a negative code with a sentence. */
int settings_set_group(struct settings *s, const char *name, const char *hosts, const char *where, struct fail *f);
void settings_forget(struct settings *s, enum setting id, enum settings_layer layer);
int settings_add_profile(struct settings *s, const char *name);   /* that a file knows it */
int settings_use_profile(struct settings *s, const char *name);   /* that it is in force */
int settings_set_local_identity(struct settings *s, const char *path);
int settings_set_path(struct settings *s, enum settings_layer layer, const char *path, bool loaded);
int settings_warn(struct settings *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
