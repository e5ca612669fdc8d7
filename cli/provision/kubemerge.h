/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster's access laid into a kubeconfig that has others: its three entries are put in or replaced as lines, all else
 * stays byte for byte, and the result is read again and compared before anybody writes it. What that cannot do is refused.
 */
#ifndef CLI_PROVISION_KUBEMERGE_H
#define CLI_PROVISION_KUBEMERGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/fail.h"

/* Of one cluster and its administrator. Texts are malloc'd; NULL: there is none. */
struct kubeaccess {
	char *server;            /* "https://10.0.0.1:6443" */
	char *tls_name;          /* that the certificate is asked for, where it is not the server's */
	char *ca, *cert, *key;   /* base64, as they stand there */
	char *token;
};

/* What a kubeconfig with one cluster (k3s.yaml) says. 0 or -EINVAL. */
int kubeaccess_read(const char *text, size_t len, struct kubeaccess *out, struct fail *f);
void kubeaccess_release(struct kubeaccess *a); /* wiped */

/* "10.0.0.1" and 6443 of its server; false: it has another form. */
bool kubeaccess_server(const struct kubeaccess *a, char *host, size_t size, long *port);

/*
 * text: of the file, empty where it is not there. name: of the cluster's and the user's entry; context: of the context's,
 * which becomes the current one only where there is none. 0, -EEXIST where somebody else's context has the name, -EINVAL.
 */
int kubemerge(const char *file, const struct buf *text, const char *name, const char *context,
	const struct kubeaccess *a, struct buf *out, struct fail *f);

#endif
