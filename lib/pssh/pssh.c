/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for a fleet: they check arguments and pass them on. */
#include "pssh/pssh.h"

#include <errno.h>
#include <libssh2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "pssh/entry.h"

enum { OPENING = 128, READ_ROOM = 128 * 1024, JOIN_MAX = 1 << 30 };

/*
 * Best first. Exchanges that withstand quantum computers are first where libssh2 has them: what is
 * sent today may be kept until there are some. Of the others, curve25519, ed25519 and AES-CTR with
 * HMAC-SHA2 come first because with them a connection costs a third of the processor time of
 * libssh2's own order (which begins with the NIST curves); AES-GCM and ChaCha are the same where
 * libssh2 has them. SHA-1 (with it ssh-rsa, the only RSA of libssh2 before 1.11), DSA, CBC and RC4
 * are left out.
 */
static const char *const default_algorithms[PSSH_ALGS] = {
	[PSSH_ALG_KEX] = "mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,"
			 "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
			 "ecdh-sha2-nistp521,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"
			 "diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256",
	[PSSH_ALG_HOSTKEY] = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
			     "rsa-sha2-512,rsa-sha2-256",
	[PSSH_ALG_CIPHER] = "aes128-gcm@openssh.com,aes128-ctr,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,"
			    "aes192-ctr,aes256-ctr",
	[PSSH_ALG_MAC] = "hmac-sha2-256-etm@openssh.com,hmac-sha2-256,hmac-sha2-512-etm@openssh.com,hmac-sha2-512",
};

const char *pssh_version(void)
{
	return PACKAGE_VERSION;
}

/* ---- Fleet ---- */

static void settings_init(struct pssh *p)
{
	p->opening_max = OPENING;
	p->deadline[PSSH_PHASE_RESOLVE] = 10000;
	p->deadline[PSSH_PHASE_CONNECT] = 15000;
	p->deadline[PSSH_PHASE_HANDSHAKE] = 30000;
	p->deadline[PSSH_PHASE_AUTH] = 30000;
	p->tries = 1;
	p->first_ms = 500;
	p->most_ms = 30000;
}

static void lists_init(struct pssh *p)
{
	struct list *all[] = { &p->host_list, &p->tasks, &p->waiting, &p->shared.ready, &p->idle, &p->prompts_open };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		list_init(all[i]);
	table_init(&p->hosts);
	table_init(&p->known);
	events_init(&p->events);
	keyring_init(&p->shared.keyring);
	p->shared.kind = KIND_CONN;
	p->resolver_watch.kind = KIND_RESOLVER;
	p->reap_timer.kind = KIND_REAP;
	p->wake_watch.kind = KIND_WAKE;
	p->unlock_watch.kind = KIND_UNLOCK;
	p->wake_fd = p->keep_folder = -1;
}

/*
 * libssh2 counts its users without a lock, so two threads must not call libssh2_init() and libssh2_exit() at once.
 * It is set up once and stays: libssh2_exit() has nothing to give back with OpenSSL 3. These are the only globals.
 */
static int set_up_libssh2(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool up;
	int rc;

	pthread_mutex_lock(&lock);
	up = up || libssh2_init(0) == 0;
	rc = up ? 0 : PSSH_ELOCAL;
	pthread_mutex_unlock(&lock);
	return rc;
}

int pssh_new(struct pssh **out)
{
	struct pssh *p;
	int rc = set_up_libssh2();

	if (rc)
		return rc;
	rc = PSSH_ENOMEM;
	p = calloc(1, sizeof *p);
	if (!p)
		return rc;
	p->pid = getpid();
	lists_init(p);
	settings_init(p);
	buf_init(&p->room.join, JOIN_MAX);
	p->room.size = READ_ROOM;
	p->room.data = malloc(READ_ROOM);
	for (int i = 0; i < PSSH_ALGS; i++)
		p->algorithms[i] = strdup(default_algorithms[i]);
	if (!p->room.data || !p->algorithms[PSSH_ALGS - 1])
		goto out;
	rc = PSSH_ELOCAL;
	if (loop_new(&p->shared.loop) != 0 || resolver_new(&p->shared.resolver) != 0 ||
	    loop_watch(p->shared.loop, &p->resolver_watch, resolver_fd(p->shared.resolver), LOOP_READ) != 0)
		goto out;
	if (unlocker_new(&p->shared.unlocker) != 0 ||
		loop_watch(p->shared.loop, &p->unlock_watch, unlocker_fd(p->shared.unlocker), LOOP_READ) != 0)
		goto out;
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0 || loop_watch(p->shared.loop, &p->wake_watch, p->wake_fd, LOOP_READ) != 0)
		goto out;
	rc = 0;
	*out = p;
out:
	if (rc)
		pssh_free(p);
	return rc;
}

void pssh_free(struct pssh *p)
{
	if (!p)
		return;
	if (!fleet_forked(p))
		keeper_hand_over(p);
	fleet_release(p);
	unlocker_free(p->shared.unlocker);
	keyring_release(&p->shared.keyring);
	algorithms_release(&p->shared.algorithms);
	resolver_free(p->shared.resolver);
	if (p->wake_fd >= 0)
		close(p->wake_fd);
	loop_free(p->shared.loop);
	sshconfig_free(p->config);
	strings_free(&p->known_files, &p->known_count);
	strings_free(&p->known_texts, &p->known_text_count);
	strings_free(&p->identities, &p->identity_count);
	for (int i = 0; i < PSSH_ALGS; i++)
		free(p->algorithms[i]);
	if (p->keep_folder >= 0)
		close(p->keep_folder);
	free(p->room.data);
	buf_release(&p->room.join);
	free(p);
}

const char *pssh_error(const struct pssh *p)
{
	return p->why.text;
}

int pssh_set_window(struct pssh *p, unsigned opening, unsigned open)
{
	if (!opening)
		return entry_refuse(p, "the window must let at least one connection open");
	p->opening_max = opening;
	p->open_max = open;
	return 0;
}

int pssh_set_deadline(struct pssh *p, enum pssh_phase phase, unsigned ms)
{
	if ((unsigned)phase >= PSSH_PHASES)
		return entry_refuse(p, "unknown phase");
	p->deadline[phase] = ms;
	return 0;
}

int pssh_set_retries(struct pssh *p, unsigned tries, unsigned first_ms, unsigned most_ms)
{
	if (!tries || first_ms > most_ms)
		return entry_refuse(p, "retries need at least one try and a first pause no longer than the longest");
	p->tries = tries;
	p->first_ms = first_ms;
	p->most_ms = most_ms;
	return 0;
}

int pssh_set_keepalive(struct pssh *p, unsigned ms)
{
	void *host;
	size_t at = 0;

	p->keepalive = ms && ms < 2000 ? 2000 : ms;
	while (table_next(&p->hosts, &at, NULL, &host))
		host_plan_keepalive(host);
	return 0;
}

int pssh_set_hostkeys(struct pssh *p, enum pssh_hostkeys policy)
{
	if (policy != PSSH_HOSTKEYS_STRICT && policy != PSSH_HOSTKEYS_ACCEPT_NEW && policy != PSSH_HOSTKEYS_ASK)
		return entry_refuse(p, "unknown host-key policy");
	p->policy = policy;
	p->policy_chosen = true;
	return 0;
}

int pssh_add_known_hosts(struct pssh *p, const char *path)
{
	return strings_add(&p->known_files, &p->known_count, path) ? entry_no_memory(p) : 0;
}

int pssh_add_identity(struct pssh *p, const char *path)
{
	return strings_add(&p->identities, &p->identity_count, path) ? entry_no_memory(p) : 0;
}

int pssh_set_agent(struct pssh *p, const char *socket_path)
{
	struct agent *agent = NULL;
	int rc = entry_here(p);

	if (rc)
		return rc;
	rc = socket_path
		? keyring_find_agent(&p->shared.keyring, p->shared.loop, KIND_AGENT, socket_path, &agent, &p->why)
		: 0;

	if (!rc)
		p->shared.keyring.agent = agent;
	return rc;
}

int pssh_read_config(struct pssh *p, const char *path)
{
	bool user_file = !str_starts(path, "/etc/");
	int rc = 0;

	if (!p->config)
		rc = sshconfig_new(&p->config);
	if (rc)
		return entry_no_memory(p);
	return sshconfig_read(p->config, path, user_file, &p->why);
}

int pssh_set_algorithms(struct pssh *p, enum pssh_algorithm kind, const char *list)
{
	if ((unsigned)kind >= PSSH_ALGS)
		return entry_refuse(p, "unknown kind of algorithm");
	return entry_set_text(p, &p->algorithms[kind], list && *list ? list : default_algorithms[kind]);
}

int pssh_set_prompts(struct pssh *p, int on)
{
	p->prompts = on != 0;
	return 0;
}

int pssh_set_warn_weak(struct pssh *p, int on)
{
	p->shared.warn_weak = on != 0;
	return 0;
}

int pssh_set_log(struct pssh *p, enum pssh_log_level level,
	void (*sink)(void *arg, enum pssh_log_level level, const char *text), void *arg)
{
	/* base/log.h and pssh_types.h each list the levels, so that strangers need no base/. */
	_Static_assert((int)PSSH_LOG_TRACE == (int)LOG_TRACE && (int)PSSH_LOG_ERROR == (int)LOG_ERROR, "levels");
	p->shared.log = (struct log){
		.sink = (void (*)(void *, enum log_level, const char *))(void (*)(void))sink,
		.arg = arg, .level = (enum log_level)level,
	};
	return 0;
}

/* ---- Events ---- */

int pssh_next(struct pssh *p, const struct pssh_event **ev)
{
	const struct pssh_event *next;
	int rc = entry_here(p);

	if (rc)
		return rc;
	if (p->events.lost)
		return entry_no_memory(p);
	next = fleet_turn(p);
	if (!next)
		return 0;
	*ev = next;
	return 1;
}

int pssh_wait(struct pssh *p, const struct pssh_event **ev, int ms)
{
	int64_t end = clock_ms() + ms;
	int rc, sleep;

	for (;;) {
		if (atomic_exchange(&p->woken, false)) /* before events, which may never end */
			return 0;
		rc = pssh_next(p, ev);
		if (rc != 0 || (ms >= 0 && clock_ms() >= end))
			return rc;
		sleep = fleet_timeout(p);
		if (ms >= 0 && (sleep < 0 || end - clock_ms() < sleep))
			sleep = end > clock_ms() ? (int)(end - clock_ms()) : 0;
		rc = loop_wait(p->shared.loop, sleep);
		if (rc == -EINTR)
			return 0;
		if (rc)
			return fail_set(&p->why, PSSH_ELOCAL, "cannot wait: %s", strerror(-rc));
	}
}

void pssh_wake(struct pssh *p)
{
	int kept = errno; /* a signal handler must not change it */

	atomic_store(&p->woken, true);
	eventfd_write(p->wake_fd, 1); /* fails only if it is raised far enough already */
	errno = kept;
}

int pssh_fd(const struct pssh *p)
{
	return loop_fd(p->shared.loop);
}

int pssh_timeout(const struct pssh *p)
{
	return fleet_timeout(p);
}

int pssh_answer(struct pssh *p, uint64_t prompt, const char *text)
{
	int rc = entry_here(p);

	return rc ? rc : question_answer(p, prompt, text);
}

int pssh_answer_sign(struct pssh *p, uint64_t prompt, const void *signature, size_t len)
{
	int rc = entry_here(p);

	return rc ? rc : question_sign(p, prompt, signature, len);
}

int pssh_answer_hostkey(struct pssh *p, uint64_t prompt, enum pssh_hostkey_answer answer)
{
	int rc = entry_here(p);

	if (!rc && (unsigned)answer > PSSH_HOSTKEY_REMEMBER)
		rc = entry_refuse(p, "unknown answer about a host key");
	return rc ? rc : question_hostkey(p, prompt, answer);
}
