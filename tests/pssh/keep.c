/* SPDX-License-Identifier: Apache-2.0 */
/* Kept connections: keepers that are silent, damaged or hostile, and strangers who talk to a good one. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "drive.h"

enum { LEND = 1, OPEN = 4, START = 9, DATA = 12, END = 13, LENT = 20, DONE = 23, EXITED = 24 };

static struct drive d;
static const char *folder = "kept";
static char name[64]; /* of the socket that keeps n1 */
static char hostkey[512];
static size_t hostkey_len;

static struct pssh_host *begin(void)
{
	if (!drive_start(&d) || pssh_set_keep(d.p, folder, 600) != 0 ||
		pssh_read_config(d.p, env("SSHD_CONFIG")) != 0) {
		printf("Bail out! %s\n", d.p ? pssh_error(d.p) : "no fleet");
		exit(99);
	}
	return host(&d, "n1");
}

static int sockets(void)
{
	DIR *dir = opendir(folder);
	struct dirent *de;
	int n = 0;

	while (dir && (de = readdir(dir)))
		if (*de->d_name != '.') {
			snprintf(name, sizeof name, "%.63s", de->d_name);
			n++;
		}
	if (dir)
		closedir(dir);
	return n;
}

static bool wait_sockets(int want)
{
	int64_t end = now_ms() + 60000;

	while (sockets() != want && now_ms() < end)
		poll(NULL, 0, 20);
	return sockets() == want;
}

static size_t kept(struct pssh_kept *first)
{
	struct pssh_kept *list = NULL;
	size_t n = 0, silent = 1;

	begin();
	/* A keeper that gets no processor for a while does not answer. */
	for (int i = 0; i < 30 && !n && silent; i++) {
		free(list);
		list = NULL;
		if (pssh_keep_list(d.p, &list, &n, &silent) != 0)
			exit(99);
	}
	if (n && first)
		*first = list[0];
	free(list);
	pssh_free(d.p);
	return n;
}

static void stop(void)
{
	struct pssh_kept *list = NULL;
	size_t n, silent;

	begin();
	pssh_keep_stop(d.p, &list, &n, &silent);
	free(list);
	pssh_free(d.p);
	ok(wait_sockets(0), "stopped");
}

static long lines(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* ---- A keeper of our own ---- */

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "%s/%.90s", folder, name);
	return a;
}

static size_t put(char *at, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)(n >> (24 - 8 * i));
	return 4;
}

/* A frame of numbers and one string; numbers < 0 mark the string's place. */
static void say(int fd, int type, uint32_t chan, int numbers, const uint32_t *n, const void *text, size_t len,
	bool last)
{
	char frame[70000];
	size_t at = 4;

	frame[at++] = (char)type;
	at += put(frame + at, chan);
	for (int i = 0; i < numbers; i++)
		at += put(frame + at, n[i]);
	if (last) {
		at += put(frame + at, (uint32_t)len);
		memcpy(frame + at, text, len);
		at += len;
	}
	put(frame, (uint32_t)at - 4);
	if (send(fd, frame, at, MSG_NOSIGNAL) < 0)
		return;
}

/* Reads until a frame of this type came, or the end. */
static bool hear(int fd, int type)
{
	static char buf[1 << 20];
	static size_t have;
	ssize_t n;

	for (;;) {
		size_t len = have < 5
			? 0
			: (size_t)((unsigned char)buf[1] << 16 | (unsigned char)buf[2] << 8 | (unsigned char)buf[3]) +
				4;

		if (len && have >= len) {
			int got = buf[4];

			memmove(buf, buf + len, have - len);
			have -= len;
			if (got == type)
				return true;
			continue;
		}
		n = read(fd, buf + have, sizeof buf - have);
		if (n <= 0) {
			have = 0;
			return false;
		}
		have += (size_t)n;
	}
}

enum fake {
	SILENT,
	CLOSES,
	GARBAGE,
	HUGE_FRAME,
	WRONG_KEY,
	NO_KEY,
	LENDS_AND_CLOSES,
	LENDS_AND_IS_SILENT,
	LENDS_AND_RAVES,
	DENIES,
	OTHER_USER,
	LATE_CLOSE,
	FLOODS,
	EXITS_EARLY,
	FAKES
};

static const struct {
	const char *what;
	const char *end; /* of the task */
	long ran;
} fakes[FAKES] = {
	[SILENT] = { "a keeper that says nothing", "exit 0", 1 },
	[CLOSES] = { "one that closes at once", "exit 0", 1 },
	[GARBAGE] = { "one that sends garbage", "exit 0", 1 },
	[HUGE_FRAME] = { "one that announces a huge frame", "exit 0", 1 },
	[WRONG_KEY] = { "one with another host key", "exit 0", 1 },
	[NO_KEY] = { "one without a host key", "exit 0", 1 },
	[LENDS_AND_CLOSES] = { "one that lends and closes", "exit 0", 1 },
	[LENDS_AND_IS_SILENT] = { "one that lends and says no more", "exit 0", 1 },
	[LENDS_AND_RAVES] = { "one that lends and sends garbage", "exit 0", 1 },
	[DENIES] = { "one whose server opens no channel", "exit 0", 1 },
	[OTHER_USER] = { "one of another user", "exit 0", 1 },
	[LATE_CLOSE] = { "one that ends once it has the command", "PSSH_ECLOSED", 0 },
	[FLOODS] = { "one that sends more than it may", "PSSH_ECLOSED", 0 },
	[EXITS_EARLY] = { "one that tells of the end before it", "PSSH_ECLOSED", 0 },
};

static void lend(int fd, const void *key, size_t len)
{
	if (hear(fd, LEND))
		say(fd, LENT, 0, 0, NULL, key, len, true);
}

static void fake_lent(int fd, enum fake how)
{
	static char bytes[32768];

	lend(fd, hostkey, hostkey_len);
	if (how == LENDS_AND_CLOSES || !hear(fd, OPEN))
		return;
	if (how == LENDS_AND_RAVES)
		say(fd, 99, 1, 0, NULL, "x", 1, true);
	else if (how == DENIES)
		say(fd, DONE, 1, 1, (const uint32_t[]){ 16 }, "no more sessions", 16, true);
	else if (how != LENDS_AND_IS_SILENT)
		say(fd, DONE, 1, 1, (const uint32_t[]){ 0 }, "", 0, true);
	if (how < LATE_CLOSE) {
		hear(fd, -1);
		return;
	}
	if (!hear(fd, START) || how == LATE_CLOSE)
		return;
	say(fd, DONE, 1, 1, (const uint32_t[]){ 0 }, "", 0, true);
	for (int i = 0; how == FLOODS && i < 64; i++)
		say(fd, DATA, 1, 1, (const uint32_t[]){ 0 }, bytes, sizeof bytes, true);
	if (how == EXITS_EARLY)
		say(fd, EXITED, 1, 2, (const uint32_t[]){ 1, 0 }, "", 0, true);
	hear(fd, -1);
}

static void fake_serve(int fd, enum fake how)
{
	char bytes[4096];

	switch (how) {
	case CLOSES:
		return;
	case GARBAGE:
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (char)(i * 7919 >> 3);
		send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
		break;
	case HUGE_FRAME:
		send(fd, "\x7f\xff\xff\xff\x14", 5, MSG_NOSIGNAL);
		break;
	case WRONG_KEY:
		memcpy(bytes, hostkey, hostkey_len);
		bytes[hostkey_len - 1] ^= 1;
		lend(fd, bytes, hostkey_len);
		break;
	case NO_KEY:
		lend(fd, "", 0);
		break;
	case SILENT:
		break;
	default:
		fake_lent(fd, how);
		return;
	}
	hear(fd, -1);
}

static pid_t fake_start(enum fake how)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		exit(99);
	if (how != OTHER_USER)
		listen(fd, 8);
	pid = fork();
	if (pid == 0) {
		if (how == OTHER_USER && (setuid(65534) != 0 || listen(fd, 8) != 0))
			_exit(1);
		for (;;) {
			int c = accept(fd, NULL, NULL);

			fake_serve(c, how);
			close(c);
		}
	}
	close(fd);
	return pid;
}

static void check_fake(enum fake how)
{
	struct pssh_host *h;
	int64_t since = now_ms();
	pid_t pid = fake_start(how);
	char here[1024], text[1100];

	for (int i = 0; how == OTHER_USER && i < 200; i++) { /* until it listens */
		char path[64], line[256] = "";
		FILE *f;

		snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
		f = fopen(path, "r");
		if (f && fgets(line, sizeof line, f) && strstr(line, "accept"))
			i = 200;
		if (f)
			fclose(f);
		poll(NULL, 0, 10);
	}
	unlink("ran");
	h = begin();
	snprintf(text, sizeof text, "echo ran >>%s/ran", getcwd(here, sizeof here));
	ends(once(&d, h, text), fakes[how].end, "%s", fakes[how].what);
	ok(now_ms() - since < 60000, "soon");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, fakes[how].what);
	is_int(lines("ran"), fakes[how].ran, "and the command ran %ld times", fakes[how].ran);
	sockets();
	unlink(address().sun_path);
}

/* ---- Strangers at a good keeper ---- */

static int stranger(const char *says, size_t len)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct timeval patience = { 60, 0 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		return -1;
	send(fd, says, len, MSG_NOSIGNAL);
	return fd;
}

static void check_strangers(void)
{
	static const char garbage[] = "GET / HTTP/1.0\r\n\r\n", lends[] = "\0\0\0\x09\x01\0\0\0\0\0\0\0\x03",
			  old[] = "\0\0\0\x09\x01\0\0\0\0\0\0\0\x63", early[] = "\0\0\0\x09\x04\0\0\0\x01\0\0\0\x01";
	char byte;
	int fd, status;
	pid_t pid;

	fd = stranger(garbage, sizeof garbage - 1);
	ok(fd >= 0 && read(fd, &byte, 1) == 0, "a keeper closes on garbage");
	close(fd);
	fd = stranger(old, sizeof old - 1);
	ok(fd >= 0 && read(fd, &byte, 1) == 0, "on another version");
	close(fd);
	fd = stranger(early, sizeof early - 1);
	ok(fd >= 0 && read(fd, &byte, 1) == 0, "and on a channel for somebody who borrowed nothing");
	close(fd);
	is_int(kept(NULL), 1, "and keeps its connection");
	if (getuid() != 0)
		return;
	chmod(folder, 0711);
	chmod(address().sun_path, 0777);
	pid = fork();
	if (pid == 0) {
		if (chdir(folder) != 0 || setuid(65534) != 0)
			_exit(99);
		folder = ".";
		fd = stranger(lends, sizeof lends - 1);
		_exit(fd < 0 ? 2 : read(fd, &byte, 1) > 0);
	}
	waitpid(pid, &status, 0);
	chmod(folder, 0700);
	is_int(WEXITSTATUS(status), 0, "it lends nothing to another user");
}

/* Who borrows a connection and dies leaves a command on it, which the next one would count among its own. */
static void check_vanished(void)
{
	struct pssh_kept k = { 0 };
	struct pssh_task *t;
	pid_t pid = fork();

	if (pid == 0) {
		struct pssh_host *h = begin();

		t = command(&d, "sleep 1000");
		pssh_task_add(t, h);
		pssh_task_start(t);
		drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ok(wait_sockets(0), "a connection on which a command was left is not kept");
	is_int(kept(&k), 0, "nor listed");
}

/* The server's key as SSH sends it, from known_hosts. */
static void read_hostkey(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[1024] = "", *at;
	FILE *f = fopen(env("SSHD_KNOWN"), "r");
	unsigned bits = 0, have = 0;

	if (!f || !fgets(line, sizeof line, f) || !(at = strrchr(line, ' ')))
		exit(99);
	for (at++; *at && strchr(digits, *at); at++) {
		bits = bits << 6 | (unsigned)(strchr(digits, *at) - digits);
		have += 6;
		if (have >= 8)
			hostkey[hostkey_len++] = (char)(bits >> (have -= 8));
	}
	fclose(f);
}

/* Programs of other versions step through the array by this size. */
static void check_told(const char *agreed)
{
	static const uint64_t zeros[8];
	struct pssh_kept k = { 0 };
	char told[300];

	is_int((long)kept(&k), 1, "it stays");
	snprintf(told, sizeof told, "%s %s %s %s", k.kex, k.hostkey, k.cipher, k.mac);
	is_str(told, agreed, "the list tells what it agreed on");
	ok(sizeof k == 600 && sizeof k.reserved == sizeof zeros, "the size of an element is what it always was");
	ok(memcmp(k.reserved, zeros, sizeof zeros) == 0, "what has no name yet is 0");
}

int main(void)
{
	struct pssh_facts f;
	struct pssh_host *h;
	struct seen *s;
	char text[256], agreed[300];

	signal(SIGPIPE, SIG_IGN);
	read_hostkey();
	h = begin();
	s = once(&d, h, "echo $SSH_CONNECTION");
	snprintf(text, sizeof text, "%s", s->out);
	is_int(pssh_host_facts(h, &f, sizeof f), 0, "a connection is made");
	snprintf(agreed, sizeof agreed, "%s %s %s %s", f.kex, f.hostkey, f.cipher, f.mac);
	is_int(pssh_keep(d.p), 0, "connections are handed over");
	is_int(sockets(), 1, "there is one");
	s = once(&d, h, "echo $SSH_CONNECTION");
	is_str(s->out, text, "the same fleet goes on over it");
	drive_end(&d, "a fleet that keeps");
	check_told(agreed);
	check_strangers();
	stop();
	for (int i = 0; i < FAKES; i++) {
		if (i == OTHER_USER && getuid() != 0)
			continue;
		check_fake((enum fake)i);
	}
	h = begin();
	ends(once(&d, h, "true"), "exit 0", "a good keeper again");
	drive_end(&d, "a fleet that keeps");
	check_vanished();
	return done();
}
