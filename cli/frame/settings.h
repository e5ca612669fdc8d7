/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All settings in one table, and where each value comes from: flags > NANOPOD_* >
 * ./.nanopod.yaml > ~/.config/nanopod/config.yaml > /etc/nanopod/config.yaml > the local market, where
 * `nanopod local` runs one > default.
 *
 * Anybody may have made the directory and its file, so that file may not set what runs a program, chooses
 * keys, weakens the check of host keys, or sends the connection through another host: those rows have trust
 * PERSON.
 */
#ifndef CLI_FRAME_SETTINGS_H
#define CLI_FRAME_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* SETTING_PATH: ~/ is expanded; else relative to the current directory. */
enum setting_type {
	SETTING_INT, SETTING_DURATION, SETTING_TEXT, SETTING_PATH, SETTING_ENUM, SETTING_LIST, SETTING_BOOL,
};

enum setting_trust {
	TRUST_ANY,    /* ./.nanopod.yaml may set it */
	TRUST_PERSON, /* only the person's and the system's files, the environment and flags may */
};

/*
 * X(id, key, type, trust, default, values or NULL, min, max, help). The variable is NANOPOD_ and the key in
 * upper case, with _ for -. Default NULL: not set. A duration with minimum 0 accepts "none", which is 0.
 */
#define SETTINGS(X) \
	X(FANOUT, "fanout", SETTING_INT, TRUST_ANY, "128", NULL, 1, 65536, \
		"how many connections may be opening at once") \
	X(TIMEOUT, "timeout", SETTING_DURATION, TRUST_ANY, "none", NULL, 0, 0, \
		"timeout for a command or copy on one host") \
	X(CONNECT_TIMEOUT, "connect-timeout", SETTING_DURATION, TRUST_ANY, "15s", NULL, 1, 0, \
		"timeout for reaching a host") \
	X(RETRY, "retry", SETTING_INT, TRUST_ANY, "0", NULL, 0, 100, \
		"how often to retry a connection that fails for a passing reason") \
	X(KEEP, "keep", SETTING_DURATION, TRUST_PERSON, "none", NULL, 0, 7 * 24 * 3600, \
		"how long connections stay open for later commands") \
	X(USER, "user", SETTING_TEXT, TRUST_ANY, NULL, NULL, 0, 0, "user, for hosts without one") \
	X(PORT, "port", SETTING_INT, TRUST_ANY, NULL, NULL, 1, 65535, "port, for hosts without one") \
	X(IDENTITY, "identity", SETTING_LIST, TRUST_PERSON, NULL, NULL, 0, 0, "private key files to offer") \
	X(JUMP, "jump", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, "jump hosts to go through: a,user@b:22; none") \
	X(SSH_CONFIG, "ssh-config", SETTING_PATH, TRUST_PERSON, "~/.ssh/config", NULL, 0, 0, \
		"ssh_config(5) file to follow; none") \
	X(KNOWN_HOSTS, "known-hosts", SETTING_PATH, TRUST_PERSON, "~/.ssh/known_hosts", NULL, 0, 0, \
		"file of known host keys; none") \
	X(HOST_KEY, "host-key", SETTING_ENUM, TRUST_PERSON, "ask", "ask|strict|accept-new", 0, 0, \
		"what to do about an unknown host key") \
	X(AGENT, "agent", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"socket of the ssh agent, or none; default: SSH_AUTH_SOCK") \
	X(OUTPUT, "output", SETTING_ENUM, TRUST_ANY, NULL, "table|wide|json|jsonl|csv|name|yaml|text", 0, 0, \
		"output format, for commands that have it") \
	X(COLOR, "color", SETTING_ENUM, TRUST_ANY, "auto", "auto|always|never", 0, 0, "colours") \
	X(URL, "url", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, \
		"URL of the market: https://host, or unix:/path for its operator") \
	X(TOKEN_FILE, "token-file", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"file with the market's token; default: token beside your settings, token-PROFILE in a profile") \
	X(MARKET_CA, "market-ca", SETTING_PATH, TRUST_PERSON, NULL, NULL, 0, 0, \
		"file of certificates to trust instead of the system's") \
	X(MARKET_KEY, "market-key", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, \
		"the market's key, sha256//…: trust it alone; what follows '#' in url sets it") \
	X(MARKET_PLAIN, "market-plain", SETTING_BOOL, TRUST_PERSON, "no", NULL, 0, 0, \
		"send the token over http:// to other machines too") \
	X(SPEND_MAX, "spend-max", SETTING_TEXT, TRUST_PERSON, NULL, NULL, 0, 0, \
		"limit on what one command may spend, in dollars; default: no limit") \
	X(ALERT_THRESHOLD, "alert-threshold", SETTING_LIST, TRUST_PERSON, NULL, NULL, 0, 0, \
		"from which value on a rule of alerts tells, RULE=VALUE") \
	X(ALERT_FOR, "alert-for", SETTING_LIST, TRUST_PERSON, NULL, NULL, 0, 0, \
		"for how long it has to be so, RULE=DURATION") \
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
	LAYER_LOCAL, /* the market of `nanopod local`, where no other one is named */
	LAYER_SYSTEM,
	LAYER_PERSON,
	LAYER_DIRECTORY,
	LAYER_ENVIRONMENT,
	LAYER_FLAG,
	LAYER_LINE, /* flags of a line in the shell, over those of the shell itself */
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

/* Is this a valid value? 0 or a negative code with a sentence. */
int settings_check(enum setting id, const char *text, struct fail *f);
int settings_check_group(const char *name, struct fail *f);

/* Warnings, such as that a directory's file was ignored; NULL past the end. */
const char *settings_warning(const struct settings *s, size_t i);

/* Sets one layer's value; repetition makes a list. settings_clear() removes the whole layer. */
int settings_set(struct settings *s, enum setting id, enum settings_layer layer,
	const char *text, const char *where, struct fail *f);
void settings_clear(struct settings *s, enum settings_layer layer);

/* The key that the market of the URL in force shows: one that was set below that URL is another market's. NULL: any. */
const char *settings_market_key(const struct settings *s);

/* The value in force; NULL, 0 or false where there is none. Paths come expanded; of a list the first. */
const char *settings_text(const struct settings *s, enum setting id);
long settings_int(const struct settings *s, enum setting id);      /* an enum's index in values */
int64_t settings_ms(const struct settings *s, enum setting id);    /* 0: none */
bool settings_bool(const struct settings *s, enum setting id);
size_t settings_count(const struct settings *s, enum setting id);
const char *settings_item(const struct settings *s, enum setting id, size_t i); /* paths expanded */

bool settings_given(const struct settings *s, enum setting id); /* set by any layer but the default */
enum settings_layer settings_layer(const struct settings *s, enum setting id);
const char *settings_where(const struct settings *s,
	enum setting id); /* "default", "--fanout", "NANOPOD_FANOUT", "FILE:LINE" */

/* The private key for nodes of `nanopod local`, where that is the market in force; else NULL. */
const char *settings_local_identity(const struct settings *s);

/* SETTING_PATH whose value is "none". */
bool settings_none(const struct settings *s, enum setting id);

/* Groups of hosts: `groups: {web: 'n[1-4]', gpu: [g1, g2]}`; the nearest file's group wins. */
size_t settings_groups(const struct settings *s);
const char *settings_group_name(const struct settings *s, size_t i);
/* Its hosts for pssh_list_add, comma-separated; NULL: no such group. */
const char *settings_group(const struct settings *s, const char *name);
const char *settings_group_where(const struct settings *s, const char *name);

/* "default", "system", "person" … */
const char *settings_layer_name(enum settings_layer layer);

/* The profile in force, or NULL; and all profiles of the files. */
const char *settings_profile(const struct settings *s);
const char *settings_profile_name(const struct settings *s, size_t i); /* NULL past the end */

/* Path of a layer's file, read or not; NULL for layers without one. And was it read? */
const char *settings_path(const struct settings *s, enum settings_layer layer);
bool settings_loaded(const struct settings *s, enum settings_layer layer);

/*
 * The path of this name in the folder where `nanopod local` keeps everything: ~/.local/share/nanopod/local, or
 * below XDG_DATA_HOME. "": the folder. malloc'd, or NULL where there is no home.
 */
char *settings_local_path(const char *name);

/* ---- For cli/frame/sources.c, which fills it ------------------------------------------------- */

/* A group of hosts; replaces one of the same name. 0, or a negative code with a sentence. */
int settings_set_group(struct settings *s, const char *name, const char *hosts, const char *where, struct fail *f);
void settings_forget(struct settings *s, enum setting id, enum settings_layer layer);
int settings_add_profile(struct settings *s, const char *name); /* a file has it */
int settings_use_profile(struct settings *s, const char *name); /* it is in force */
int settings_set_local_identity(struct settings *s, const char *path);
int settings_set_path(struct settings *s, enum settings_layer layer, const char *path, bool loaded);
int settings_warn(struct settings *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
