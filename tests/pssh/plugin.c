/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's fleet: loaded, used and unloaded while a thread of it still looks up a name. */
#include <dlfcn.h>
#include <netdb.h>

#include "drive.h"

static int asked[2], answer[2], answered[2]; /* pipes; a byte is a word */

static void say(const int *to)
{
	if (write(to[1], "x", 1) != 1)
		abort();
}

static void hear(const int *from)
{
	char byte;

	while (read(from[0], &byte, 1) != 1)
		;
}

/* Stands for libc's in the whole program: a name server that answers when the test says so. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
	const struct addrinfo *hints, struct addrinfo **out)
{
	(void)name, (void)service, (void)out;
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	say(asked);
	hear(answer);
	say(answered);
	return EAI_AGAIN;
}

struct face {
	int (*make)(struct pssh **out);
	void (*free)(struct pssh *p);
	int (*host)(struct pssh *p, const char *spec, struct pssh_host **out);
	int (*exec)(struct pssh *p, const char *command, struct pssh_task **out);
	int (*add)(struct pssh_task *t, struct pssh_host *h);
	int (*start)(struct pssh_task *t);
	int (*next)(struct pssh *p, const struct pssh_event **ev);
};

static void symbol(void *library, const char *name, void *to)
{
	void *found = dlsym(library, name);

	if (!found)
		exit(99);
	memcpy(to, &found, sizeof found);
}

/* Asks for a name, and frees and unloads everything while the answer is not there. */
static void begin_and_unload(void)
{
	void *library = dlopen(env("LIBPSSH"), RTLD_NOW | RTLD_LOCAL);
	const struct pssh_event *ev;
	struct pssh_host *h;
	struct pssh_task *t;
	struct pssh *p;
	struct face f;

	if (!library) {
		printf("Bail out! %s\n", dlerror());
		exit(99);
	}
	symbol(library, "pssh_new", &f.make);
	symbol(library, "pssh_free", &f.free);
	symbol(library, "pssh_host", &f.host);
	symbol(library, "pssh_exec", &f.exec);
	symbol(library, "pssh_task_add", &f.add);
	symbol(library, "pssh_task_start", &f.start);
	symbol(library, "pssh_next", &f.next);
	if (f.make(&p) != 0 || f.host(p, "slow.example", &h) != 0 || f.exec(p, "true", &t) != 0 || f.add(t, h) != 0 ||
		f.start(t) != 0)
		exit(99);
	while (f.next(p, &ev) > 0)
		;
	hear(asked);
	f.free(p);
	dlclose(library);
}

/* Waits until the threads have returned into the library and ended; without its code they would crash. */
static bool wait_alone(int ms)
{
	int64_t end = now_ms() + ms;

	while (now_ms() < end) {
		DIR *dir = opendir("/proc/self/task");
		int n = 0;

		while (dir && readdir(dir))
			n++;
		if (dir)
			closedir(dir);
		if (n == 3) /* ".", ".." and this one */
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

int main(void)
{
	enum { TIMES = 3 };

	plan_none;
	if (pipe(asked) != 0 || pipe(answer) != 0 || pipe(answered) != 0)
		exit(99);
	for (int i = 0; i < TIMES; i++) {
		begin_and_unload();
		say(answer);
		hear(answered);
	}
	ok(wait_alone(20000), "a plugin was unloaded %d times while it looked up a name; its threads ended", TIMES);
	return done();
}
