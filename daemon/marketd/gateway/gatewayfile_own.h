/* SPDX-License-Identifier: Apache-2.0 */
/* A gateway as its file says it. All texts are checked: none can end a word or a line of what is written. */
#ifndef MARKETD_GATEWAY_GATEWAYFILE_OWN_H
#define MARKETD_GATEWAY_GATEWAYFILE_OWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

enum { GATEWAY_TEXT = 256, GATEWAY_BACKENDS = 1024, GATEWAY_ROUTES = 64, GATEWAY_BYTES = 64 << 20 };

struct gateway_backend {
	char address[GATEWAY_TEXT]; /* HOST:PORT; "": the nodes of this reservation, at this port */
	char reservation[GATEWAY_TEXT];
	long port, weight;
};

struct gateway_server {
	char address[GATEWAY_TEXT + 8];
	long weight;
};

struct gateway_route {
	char path[GATEWAY_TEXT]; /* begins with '/', ends with one: all below it */
	char key[GATEWAY_TEXT];  /* what backends want as "Bearer KEY"; "": none */
	struct gateway_backend *backends;
	size_t count;
	struct gateway_server *servers; /* that the backends are now, each address once */
	size_t server_count;
};

struct gateway {
	char market[GATEWAY_TEXT];                                             /* HOST:PORT */
	bool tls;                                                              /* of the market */
	char market_ca[GATEWAY_TEXT], token[GATEWAY_TEXT]; /* "": the system's; no reservation is followed */
	char reload[GATEWAY_TEXT];                         /* for the shell; "": none */
	long reload_s, names_s;                            /* how long it, and names of new nodes, may take */
	char listen[GATEWAY_TEXT], cert[GATEWAY_TEXT], cert_key[GATEWAY_TEXT]; /* nginx; cert "": plain HTTP */
	struct gateway_route *routes;
	size_t count;
};

struct conf;
struct conf_file;

struct gateway_reader {
	const struct conf_file *file;
	struct fail *f;
};

/* Letters, digits and the characters of more, fewer than GATEWAY_TEXT. */
bool gateway_word(const char *text, const char *more);
bool gateway_address(const char *text); /* HOST:PORT; IPv6 in brackets */
bool gateway_listen(const char *text);  /* the same, or a port */
bool gateway_file(const char *text);

/* A member that must be a text of this form. may_lack: out stays "" without it. 0 or negative, as all that read. */
int gateway_text(const struct gateway_reader *r, const struct conf *map, const char *name, bool (*good)(const char *),
	const char *form, bool may_lack, char out[GATEWAY_TEXT]);
/* The file that this member names has one word; without it key stays as it is. */
int gateway_read_key(const struct gateway_reader *r, const struct conf *from, const char *name, char key[GATEWAY_TEXT]);
/* {reservation: NAME, port: N}. */
int gateway_read_reservation(const struct gateway_reader *r, const struct conf *from, char name[GATEWAY_TEXT],
	long *port);
/* Those need "token-file", which this reads. */
int gateway_read_token(const struct gateway_reader *r, bool needed, char token[GATEWAY_TEXT]);
int gateway_read_market(const struct gateway_reader *r, char out[GATEWAY_TEXT], bool *tls);            /* "market" */

void gateway_wipe(struct buf *text); /* frees what may hold a key */

int gateway_read(const char *path, struct gateway *out, struct fail *f); /* 0 or negative, and nothing to release */
void gateway_release(struct gateway *g);
bool gateway_follows(const struct gateway *g); /* a backend is of a reservation */

struct reserved;
/* Sets what the backends are now; reserved: the nodes of all reservations that they name. 0 or -ENOMEM. */
int gateway_serve_from(struct gateway *g, const struct reserved *reserved, size_t count);

int gateway_nginx(const struct gateway *g, struct buf *out);
int gateway_apisix(const struct gateway *g, struct buf *out);

#endif
