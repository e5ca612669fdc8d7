/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of web.h: a marketd as a child, and a market with something in it. */
#include "web.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 60000, ARGS = 32, FIRST = 1800000000 };

static const char *program(void)
{
	static char path[4096];
	const char *build = getenv("abs_top_builddir"), *given = getenv("TEST_MARKETD");

	if (given)
		return given;
	snprintf(path, sizeof path, "%s/nanopod-marketd", build ? build : ".");
	return path;
}

void proc_init(struct proc *p, const char *dir)
{
	memset(p, 0, sizeof *p);
	snprintf(p->dir, sizeof p->dir, "%s", dir);
	snprintf(p->socket, sizeof p->socket, "%s.sock", dir);
	snprintf(p->log, sizeof p->log, "%s.log", dir);
}

static void become(const struct proc *p, const char *const *options)
{
	const char *args[ARGS] = { program(), "--data", p->dir, "--socket", p->socket, "--listen" };
	char listen[32];
	int n = 6, log = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(listen, sizeof listen, "127.0.0.1:%d", p->port);
	args[n++] = listen;
	for (int i = 0; options && options[i] && n < ARGS - 1; i++)
		args[n++] = options[i];
	dup2(log, STDERR_FILENO);
	execv(args[0], (char *const *)(uintptr_t)args);
	_exit(127);
}

/* The line that says where it listens, after what the log had before. */
static bool read_ready(struct proc *p)
{
	char line[512];
	FILE *f = fopen(p->log, "r");
	bool found = false;

	if (!f)
		return false;
	fseek(f, p->log_at, SEEK_SET);
	while (!found && fgets(line, sizeof line, f)) {
		char *at = strstr(line, "ready http");

		at = at ? strstr(at, "://127.0.0.1:") : NULL;
		if (!at || !strchr(line, '\n'))
			continue;
		p->port = (int)strtol(at + strlen("://127.0.0.1:"), NULL, 10);
		found = p->port > 0;
	}
	fclose(f);
	return found;
}

static long size_of(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;

	if (f && fseek(f, 0, SEEK_END) == 0)
		n = ftell(f);
	if (f)
		fclose(f);
	return n;
}

bool proc_start(struct proc *p, const char *const *options)
{
	int64_t deadline = web_now_us() + (int64_t)START_MS * 1000;
	int status;

	p->log_at = size_of(p->log);
	fflush(stdout);
	p->pid = fork();
	if (p->pid == 0)
		become(p, options);
	while (p->pid > 0 && web_now_us() < deadline) {
		if (read_ready(p))
			return true;
		if (waitpid(p->pid, &status, WNOHANG) == p->pid)
			break;
		web_nap(2);
	}
	return false;
}

int proc_end(struct proc *p, int how)
{
	int status = 0;

	if (p->pid <= 0)
		return -1;
	kill(p->pid, how);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return status;
}

void proc_tell(const struct proc *p)
{
	char line[512];
	FILE *f = fopen(p->log, "r");

	if (!f)
		return;
	fseek(f, p->log_at, SEEK_SET);
	while (fgets(line, sizeof line, f))
		printf("#   %s", line);
	fclose(f);
}

void proc_clear(const struct proc *p)
{
	char path[PROC_TEXT * 4];
	DIR *dir = opendir(p->dir);

	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		snprintf(path, sizeof path, "%s/%s", p->dir, d->d_name);
		if (d->d_name[0] != '.')
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(p->dir);
	unlink(p->log);
	unlink(p->socket);
}

int64_t proc_anon_kib(const struct proc *p)
{
	char path[64], line[128];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)p->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

int64_t proc_cpu_us(const struct proc *p)
{
	char path[64], text[1024], *at;
	unsigned long user = 0, sys = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
		return 0;
	return (int64_t)(user + sys) * 1000000 / sysconf(_SC_CLK_TCK);
}

int proc_run(const struct proc *p, const char *verb)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int log = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		dup2(log, STDERR_FILENO);
		dup2(log, STDOUT_FILENO);
		execl(program(), program(), verb, "--data", p->dir, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Calls ------------------------------------------------------------------------------- */

static char *read_all(int fd, size_t *len)
{
	char *text = malloc(1);
	size_t n = 0;

	for (;;) {
		char room[8192];
		ssize_t got = recv(fd, room, sizeof room, 0);

		if (got <= 0)
			break;
		text = realloc(text, n + (size_t)got + 1);
		if (!text)
			abort();
		memcpy(text + n, room, (size_t)got);
		n += (size_t)got;
	}
	text[n] = '\0';
	*len = n;
	return text;
}

char *proc_call(const struct proc *p, const char *method, const char *path, const char *body, int *status)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *request, *text = NULL, *end, *out = NULL;
	size_t len;

	*status = 0;
	memcpy(to.sun_path, p->socket, strnlen(p->socket, sizeof to.sun_path - 1));
	request = web_request(method, path, "Connection: close\r\n", body, &len);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
		send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len)
		text = read_all(fd, &len);
	end = text ? strstr(text, "\r\n\r\n") : NULL;
	if (end && sscanf(text, "HTTP/1.1 %d", status) == 1)
		out = strdup(end + 4);
	free(text);
	free(request);
	if (fd >= 0)
		close(fd);
	return out;
}

bool json_field(const char *json, const char *name, char room[PROC_TEXT])
{
	char key[64];
	const char *at;
	size_t n;

	snprintf(key, sizeof key, "\"%s\":\"", name);
	at = json ? strstr(json, key) : NULL;
	if (!at)
		return false;
	at += strlen(key);
	n = strcspn(at, "\"");
	snprintf(room, PROC_TEXT, "%.*s", (int)n, at);
	return true;
}

/* ---- A market with something in it --------------------------------------------------------- */

static bool made(struct proc *p, const char *path, const char *body, const char *field, char room[PROC_TEXT])
{
	int status;
	char *text = proc_call(p, "POST", path, body, &status);
	bool good = text && status >= 200 && status < 300 && (!field || json_field(text, field, room));

	if (!good)
		fprintf(stderr, "# POST %s %s: %d %s\n", path, body, status, text ? text : "no answer");
	free(text);
	return good;
}

bool stage_set(struct proc *p, int hosts, struct stage *out)
{
	char body[512], path[512], host[PROC_TEXT];
	bool good;

	memset(out, 0, sizeof *out);
	out->now = FIRST;
	good = made(p, "/np/v1/accounts", "{\"name\":\"seller\"}", NULL, NULL) &&
		made(p, "/np/v1/accounts", "{\"name\":\"buyer\"}", NULL, NULL) &&
		made(p, "/np/v1/accounts/buyer/credits", "{\"amount_dollars\":\"1000000000.00\"}", NULL, NULL) &&
		made(p, "/np/v1/skus", "{\"alias\":\"h100\",\"gpus\":8,\"properties\":{\"accelerator\":\"h100\"}}",
			"id", out->sku) &&
		made(p, "/np/v1/accounts/buyer/tokens", "{\"name\":\"load\",\"scopes\":[\"read\",\"trade\",\"nodes\"]}",
			"token", out->token) &&
		made(p, "/v2/pools?account=buyer", "{\"name\":\"work\",\"workspace\":\"sfc:workspace:buyer:default\"}",
			"id", out->pool);
	for (int i = 0; good && i < hosts; i++) {
		snprintf(body, sizeof body, "{\"name\":\"host-%d\",\"instance_sku\":\"%s\",\"account\":\"seller\"}", i,
			out->sku);
		good = made(p, "/np/v1/hosts", body, "id", host);
		snprintf(path, sizeof path, "/np/v1/hosts/%s/offers?account=seller", host);
		snprintf(body, sizeof body, "{\"price_dollars_per_node_hour\":\"6.000000\",\"end_at\":%" PRId64 "}",
			out->now + (int64_t)365 * 86400);
		good = good && made(p, path, body, NULL, NULL);
	}
	return good;
}
