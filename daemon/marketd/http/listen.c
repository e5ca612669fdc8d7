/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define KEY_PREFIX "sha256//"

enum { BACKLOG = 1024 };

/* Splits "[::1]:80" or "host:80"; false without a port. */
static bool listen_split(const char *text, char host[LISTEN_TEXT], char port[16])
{
	const char *colon = strrchr(text, ':');
	size_t len;

	if (!colon || !colon[1] || strlen(colon + 1) > 5 || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= LISTEN_TEXT || memchr(text, ']', len))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	snprintf(port, 16, "%s", colon + 1);
	return true;
}

static bool listen_is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
	if (a->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
	return false;
}

static void tell_where(int fd, char where[LISTEN_TEXT])
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof bound;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	snprintf(where, LISTEN_TEXT, "?");
	if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0 ||
		getnameinfo((struct sockaddr *)&bound, len, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(where, LISTEN_TEXT, bound.ss_family == AF_INET6 ? "[%.120s]:%.8s" : "%.120s:%.8s", host, port);
}

static int listen_open_one(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol), on = 1, saved;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	close(fd);
	return -saved;
}

int listen_tcp(const char *text, int *fd, bool *loopback, char where[LISTEN_TEXT], struct fail *f)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found = NULL;
	char host[LISTEN_TEXT], port[16];
	int rc;

	if (!listen_split(text, host, port))
		return fail_set(f, -EINVAL, "cannot listen on '%s'; use 127.0.0.1:8080 or [::1]:8080", text);
	rc = getaddrinfo(host, port, &hints, &found);
	if (rc != 0)
		return fail_set(f, -EINVAL, "cannot find the address '%s': %s", text, gai_strerror(rc));
	rc = listen_open_one(found);
	*loopback = listen_is_loopback(found->ai_addr);
	freeaddrinfo(found);
	if (rc < 0)
		return fail_errno(f, rc, -rc, "cannot listen on '%s'", text);
	*fd = rc;
	tell_where(rc, where);
	return 0;
}

struct listen_id listen_id(int fd)
{
	struct listen_id id = { 0 };
	struct stat st;

	if (fstat(fd, &st) == 0)
		id = (struct listen_id){ st.st_dev, st.st_ino };
	return id;
}

void listen_drop(int fd, struct listen_id id)
{
	struct listen_id is = listen_id(fd);

	if (is.number && is.device == id.device && is.number == id.number)
		close(fd);
}

static bool somebody_listens(const struct sockaddr_un *where)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes = fd >= 0 && (connect(fd, (const struct sockaddr *)where, sizeof *where) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return yes;
}

int listen_unix(const char *path, int *fd, struct fail *f)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t before;
	int sock, rc;

	if (strlen(path) >= sizeof where.sun_path)
		return fail_set(f, -EINVAL, "the socket's path '%s' is longer than %zu bytes", path,
			sizeof where.sun_path - 1);
	memcpy(where.sun_path, path, strlen(path) + 1);
	if (somebody_listens(&where))
		return fail_set(f, -EADDRINUSE,
			"a market already listens on '%s'; stop it first, or give another --socket", path);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return fail_errno(f, -errno, errno, "cannot make a socket");
	before = umask(0177);
	rc = bind(sock, (struct sockaddr *)&where, sizeof where) == 0 && listen(sock, BACKLOG) == 0 ? 0 : -errno;
	umask(before);
	if (rc != 0) {
		close(sock);
		return fail_errno(f, rc, -rc, "cannot listen on '%s'", path);
	}
	*fd = sock;
	return 0;
}

bool listen_peer_uid(int fd, uid_t *uid)
{
	struct ucred who;
	socklen_t len = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
		return false;
	*uid = who.uid;
	return true;
}

uint64_t listen_address_key(const struct sockaddr *addr)
{
	uint64_t key = 0;

	if (!addr)
		return 0;
	if (addr->sa_family == AF_INET)
		return (uint64_t)((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr | (uint64_t)4 << 32;
	if (addr->sa_family == AF_INET6)
		memcpy(&key, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, sizeof key);
	return key;
}

/* The public key as a certificate has it, of a certificate, a public or a private key. Its length; -1: none. */
static int listen_read_key(const char *pem, unsigned char **der)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
	EVP_PKEY *key = NULL;
	int len = cert ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), der) : -1;

	if (in && !cert && BIO_reset(in) == 1)
		key = PEM_read_bio_PUBKEY(in, NULL, NULL, NULL);
	if (in && !cert && !key && BIO_reset(in) == 1)
		key = PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)"");
	if (key)
		len = i2d_PUBKEY(key, der);
	EVP_PKEY_free(key);
	X509_free(cert);
	BIO_free(in);
	return len;
}

int listen_tls_key(const char *pem, char out[LISTEN_KEY_TEXT])
{
	unsigned char *der = NULL, hash[SHA256_DIGEST_LENGTH], text[LISTEN_KEY_TEXT];
	int len = listen_read_key(pem, &der);

	if (len > 0) {
		SHA256(der, (size_t)len, hash);
		EVP_EncodeBlock(text, hash, sizeof hash);
		memcpy(out, KEY_PREFIX, strlen(KEY_PREFIX));
		memcpy(out + strlen(KEY_PREFIX), text, strlen((char *)text) + 1);
	}
	OPENSSL_free(der);
	return len > 0 ? 0 : -EINVAL;
}
