/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges access to one cluster into a kubeconfig that has others: adds or replaces the lines of three entries and keeps
 * all other bytes. It reads the result back and compares it before anybody writes it, and refuses a file that it cannot
 * change so.
 */
#ifndef CLI_PROVISION_KUBEMERGE_H
#define CLI_PROVISION_KUBEMERGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/fail.h"

/* Access to one cluster as its administrator. Texts are malloc'd, or NULL. */
struct kubeaccess {
	char *server;            /* "https://10.0.0.1:6443" */
	char *tls_name;          /* the name to expect in the certificate, if it is not the server's */
	char *ca, *cert, *key;   /* base64, as in the file */
	char *token;
};

/* Reads a kubeconfig with one cluster (k3s.yaml). 0 or -EINVAL. */
int kubeaccess_read(const char *text, size_t len, struct kubeaccess *out, struct fail *f);
void kubeaccess_release(struct kubeaccess *a); /* wiped */

/* Splits its server into "10.0.0.1" and 6443; false if it has another form. */
bool kubeaccess_server(const struct kubeaccess *a, char *host, size_t size, long *port);

/*
 * text: the file's, empty if it does not exist. name: of the cluster entry and the user entry. context: name of the
 * context, which becomes the current one only if there is none. 0; -EEXIST if another cluster's context has the name;
 * -EINVAL.
 */
int kubemerge(const char *file, const struct buf *text, const char *name, const char *context,
	const struct kubeaccess *a, struct buf *out, struct fail *f);

#endif
