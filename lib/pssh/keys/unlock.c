/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/unlock.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/list.h"
#include "pssh/keys/keyfile.h"
#include "pssh/pssh_types.h"

enum { UNLOCK_STACK = 512 * 1024 };

struct unlock_job {
	struct list link;
	struct key *key;
	char *passphrase;
	bool done;
	int rc;
	struct keyfile opened;
};

/* The lock guards the list and what the thread writes into its jobs. */
struct unlocker {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list jobs; /* oldest first */
	pthread_t thread;
	bool running, ending, left; /* left: this is a forked child */
	atomic_bool stop;
	int fd;
};

int unlocker_new(struct unlocker **out)
{
	struct unlocker *u = calloc(1, sizeof *u);

	if (!u)
		return PSSH_ENOMEM;
	u->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (u->fd < 0) {
		free(u);
		return PSSH_ELOCAL;
	}
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->work, NULL);
	list_init(&u->jobs);
	*out = u;
	return 0;
}

static void unlock_job_end(struct unlock_job *j)
{
	list_remove(&j->link);
	OPENSSL_cleanse(j->passphrase, strlen(j->passphrase));
	free(j->passphrase);
	free(j);
}

void unlocker_free(struct unlocker *u)
{
	struct list *first;

	if (!u)
		return;
	if (u->running && !u->left) {
		atomic_store(&u->stop, true);
		pthread_mutex_lock(&u->lock);
		u->ending = true;
		pthread_cond_signal(&u->work);
		pthread_mutex_unlock(&u->lock);
		pthread_join(u->thread, NULL);
	}
	while ((first = list_first(&u->jobs))) {
		struct unlock_job *j = list_entry(first, struct unlock_job, link);

		if (!u->left) /* else the thread may have been writing it at the fork */
			keyfile_release(&j->opened);
		unlock_job_end(j);
	}
	if (!u->left) {
		pthread_cond_destroy(&u->work);
		pthread_mutex_destroy(&u->lock);
	}
	close(u->fd);
	free(u);
}

void unlocker_leave(struct unlocker *u)
{
	u->left = true;
}

int unlocker_fd(const struct unlocker *u)
{
	return u->fd;
}

void unlocker_clear(struct unlocker *u)
{
	uint64_t n;

	while (read(u->fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}

static struct unlock_job *unlock_find(struct unlocker *u, bool done)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &u->jobs) {
		struct unlock_job *j = list_entry(pos, struct unlock_job, link);

		if (j->done == done)
			return j;
	}
	return NULL;
}

static void *unlock_thread(void *arg)
{
	struct unlocker *u = arg;

	pthread_mutex_lock(&u->lock);
	while (!u->ending) {
		struct unlock_job *j = unlock_find(u, false);
		struct keyfile opened = { 0 };
		int rc;

		if (!j) {
			pthread_cond_wait(&u->work, &u->lock);
			continue;
		}
		pthread_mutex_unlock(&u->lock);
		rc = key_try(j->key, j->passphrase, &u->stop, &opened, NULL);
		pthread_mutex_lock(&u->lock);
		j->rc = rc;
		j->opened = opened;
		j->done = true;
		eventfd_write(u->fd, 1); /* fails only if it is raised far enough already */
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

/* Blocks all signals in the thread, so that the application's threads get them. */
static int unlock_run(struct unlocker *u)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, UNLOCK_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&u->thread, &attr, unlock_thread, u);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	u->running = rc == 0;
	return rc ? PSSH_ELOCAL : 0;
}

int unlocker_start(struct unlocker *u, struct key *key, const char *passphrase)
{
	struct unlock_job *j = calloc(1, sizeof *j);
	int rc = 0;

	if (!j)
		return PSSH_ENOMEM;
	list_init(&j->link);
	j->key = key;
	j->passphrase = strdup(passphrase);
	if (!j->passphrase) {
		free(j);
		return PSSH_ENOMEM;
	}
	pthread_mutex_lock(&u->lock);
	if (!u->running)
		rc = unlock_run(u);
	if (!rc)
		list_append(&u->jobs, &j->link);
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
	if (rc)
		unlock_job_end(j);
	return rc;
}

bool unlocker_has(struct unlocker *u, const struct key *key)
{
	struct list *pos, *tmp;

	/* Only this thread adds and removes jobs. */
	list_each (pos, tmp, &u->jobs)
		if (list_entry(pos, struct unlock_job, link)->key == key)
			return true;
	return false;
}

struct key *unlocker_next_done(struct unlocker *u, int *rc)
{
	struct unlock_job *j;
	struct key *key = NULL;

	pthread_mutex_lock(&u->lock);
	j = unlock_find(u, true);
	if (j) {
		key = j->key;
		*rc = j->rc ? j->rc : key_take(key, &j->opened, NULL);
		unlock_job_end(j);
	}
	pthread_mutex_unlock(&u->lock);
	return key;
}
