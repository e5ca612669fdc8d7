/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of nanopod-marketd. */
#ifndef MARKETD_OPTIONS_H
#define MARKETD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "marketd/api/may/quota.h"
#include "marketd/http/trusted.h"
#include "marketd/oidc/issuer.h"
#include "marketd/passport/passport.h"
#include "marketd/policy/opa.h"
#include "marketd/stripe/checkout.h"

enum { OPTIONS_LISTEN_MAX = 8, OPTIONS_PATH_MAX = 4096 };

#define OPTIONS_DATA "/var/lib/nanopod-marketd"
#define OPTIONS_LISTEN "127.0.0.1:8470"

struct options {
	const char *verb;   /* check, backup, restore, migrate, policy, gateway; NULL: serve */
	const char *action; /* policy: check or test; gateway: nginx, apisix or serve */
	const char *path;   /* backup, restore: the other file; policy, gateway: what it reads */
	const char *out;    /* gateway: the file to replace; NULL: print it */
	bool force, json, watch;
	const char *policy;            /* rules; NULL: none */
	struct opa_settings opa;       /* where NULL: no policy server */
	const char *data;              /* folder */
	const char *listen[OPTIONS_LISTEN_MAX];
	int listen_count;
	const char *socket;            /* NULL: "socket" in data */
	const char *tls_cert, *tls_key, *tls_next;
	const char *name;
	struct issuer_settings issuer; /* url NULL: none */
	struct signin_settings signin;
	struct stripe_settings stripe; /* no files: none */
	struct passport_settings passport; /* no key: none */
	long payout_hold;                  /* hours */
	int32_t dunning[3];                /* days; 0: no rule */
	const char *public_url;            /* NULL: what it listens on, and nobody proves an address */
	struct trusted trusted;            /* proxies before the market */
	bool insecure, test_clock, private_book;
	int64_t test_start;            /* --test-clock=UNIX: when a new market begins; 0: now */
	long snapshot_every;           /* -1: the market's default */
	long agent_silent, node_wait;  /* seconds; 0: the watch's default */
	long connections, connections_per_address, rate;   /* 0: the server's default; rate -1: none */
	struct quota_row quotas[QUOTA_ROWS];
	size_t quota_count;
	enum log_level level;
	char issuer_kept[OPTIONS_PATH_MAX], decisions[OPTIONS_PATH_MAX];
	char database[OPTIONS_PATH_MAX], socket_room[OPTIONS_PATH_MAX];
};

/* -1: continue; else an exit status, after help, version or an error (on stderr) was printed. */
int options_read(struct options *o, int argc, char **argv);

/* options_text.c: options whose text has parts. Whether they have their form. */
bool options_roles_valid(const char *text);
bool options_url_valid(const char *text);
bool options_dunning_read(const char *text, int32_t days[3]);

#endif
