/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree/treehash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TREEHASH_BLOCK = 1 << 20 };

static int treehash_all(int fd, uint64_t size, char hex[TREEHASH_HEX])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char *block = malloc(TREEHASH_BLOCK);
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len;
	int rc = ctx && block && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) ? 0 : -1;

	for (uint64_t at = 0; !rc && at < size;) {
		size_t want = size - at < TREEHASH_BLOCK ? (size_t)(size - at) : TREEHASH_BLOCK;
		ssize_t n = pread(fd, block, want, (off_t)at);

		if (n <= 0 || !EVP_DigestUpdate(ctx, block, (size_t)n))
			rc = -1;
		else
			at += (uint64_t)n;
	}
	if (!rc && (!EVP_DigestFinal_ex(ctx, sum, &len) || len * 2 + 1 != TREEHASH_HEX))
		rc = -1;
	for (unsigned i = 0; !rc && i < len; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", sum[i]);
	free(block);
	EVP_MD_CTX_free(ctx);
	return rc;
}

int treehash_begin(struct treehash *h, int fd, uint64_t size)
{
	char hex[TREEHASH_HEX];
	int ends[2];

	*h = (struct treehash){ .pid = -1, .pipe = -1 };
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	h->pid = fork();
	if (h->pid == 0) {
		/* Without the command nobody may keep its connections open. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The command's own handlers write to a pipe that both share. */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		signal(SIGWINCH, SIG_IGN);
		_exit(treehash_all(fd, size, hex) == 0 && write(ends[1], hex, TREEHASH_HEX) == TREEHASH_HEX ? 0 : 1);
	}
	close(ends[1]);
	h->pipe = ends[0];
	if (h->pid < 0) {
		close(ends[0]);
		h->pipe = -1;
		return -EAGAIN;
	}
	return 0;
}

void treehash_step(struct treehash *h)
{
	ssize_t n;

	if (*h->hex || h->failed || h->pipe < 0)
		return;
	n = read(h->pipe, h->hex, sizeof h->hex);
	if (n == TREEHASH_HEX || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	h->hex[0] = '\0';
	h->failed = true;
}

void treehash_end(struct treehash *h)
{
	if (h->pid > 0) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
	if (h->pipe >= 0)
		close(h->pipe);
	h->pid = h->pipe = -1;
}
