/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keywords of ssh_config(5): what kind of value each takes, and whether libpssh honours it,
 * may ignore it without harm, or must warn that it cannot honour it.
 */
#ifndef PSSH_CONFIG_SSHKEYWORD_H
#define PSSH_CONFIG_SSHKEYWORD_H

enum keyword_kind {
	KEYWORD_HOST, KEYWORD_MATCH, KEYWORD_INCLUDE, KEYWORD_IGNORE_UNKNOWN,
	KEYWORD_QUIET,    /* harmless to ignore */
	KEYWORD_WARN,     /* warn, unless the value is what libpssh does anyway */
	KEYWORD_TEXT,     /* one word */
	KEYWORD_CHOICE,   /* one word of a few, becomes a number */
	KEYWORD_NUMBER, KEYWORD_TIME, KEYWORD_PORT, KEYWORD_ESCAPE,
	KEYWORD_SOCKET,   /* one word, where $NAME names an environment variable */
	KEYWORD_FORWARD,  /* yes, no or a socket */
	KEYWORD_WORDS,    /* a list; the whole first line wins */
	KEYWORD_MORE,     /* one word; lines add up */
	KEYWORD_SENDENV, KEYWORD_SETENV,
	KEYWORD_REST,     /* the rest of the line, unchanged */
	KEYWORD_JUMP,
};

/* The settings that a host can have: of each, the first line that applies. */
enum setting {
	SET_NONE,
	SET_HOSTNAME,
	SET_USER,
	SET_PORT,
	SET_PROXY,
	SET_HOST_KEY_ALIAS,
	SET_IDENTITY_AGENT,
	SET_BIND_ADDRESS,
	SET_BIND_INTERFACE,
	SET_PREFERRED,
	SET_REMOTE_COMMAND,
	SET_FORWARD_AGENT,
	SET_KEX,
	SET_HOSTKEYS,
	SET_CIPHERS,
	SET_MACS,
	SET_PUBKEY_ALGORITHMS,
	SET_IDENTITY_FILE,
	SET_CERTIFICATE_FILE,
	SET_USER_KNOWN_HOSTS,
	SET_GLOBAL_KNOWN_HOSTS,
	SET_SEND_ENV,
	SET_SET_ENV,
	SET_CONNECT_TIMEOUT,
	SET_CONNECTION_ATTEMPTS,
	SET_ALIVE_INTERVAL,
	SET_ALIVE_COUNT,
	SET_PROMPTS,
	SET_ADDRESS_FAMILY,
	SET_REQUEST_TTY,
	SET_STRICT,
	SET_ESCAPE,
	SET_IDENTITIES_ONLY,
	SET_PUBKEY,
	SET_PASSWORD,
	SET_KBDINT,
	SET_BATCH,
	SET_HASH,
	SET_COMPRESSION,
	SET_WARN_WEAK,
	SET_TCP_KEEPALIVE,
	SET_NO_LOCALHOST,
	SET_TAG,
	SETTINGS
};

struct choice {
	const char *word;
	int number;
};

struct keyword {
	const char *name;
	enum keyword_kind kind;
	enum setting setting;
	const struct choice *choices; /* end with a NULL word */
	const char *harmless;         /* KEYWORD_WARN: "no,false": values that need no warning */
	const char *why;              /* KEYWORD_WARN: what libpssh does not do */
};

enum { KEYWORD_UNSET = -1, KEYWORD_NO_ESCAPE = -2 };

const struct keyword *keyword_find(const char *name);    /* ignores case; NULL: unknown */
const char *keyword_nearest(const char *name);           /* the most similar keyword, or NULL */

/*
 * Checks whether ssh would accept the value. NULL: yes, with *number set if the kind has one; else
 * what was expected. args ends with NULL and has at least one word.
 */
const char *keyword_check(const struct keyword *k, char *const *args, int *number);

/* KEYWORD_FORWARD: true for a socket, false for yes or no. */
int keyword_forwards_socket(const char *value);

/* KEYWORD_WARN: true if this value needs no warning. */
int keyword_is_harmless(const struct keyword *k, const char *value);

#endif
