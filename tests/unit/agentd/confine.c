/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process still is and may do, asked by one; the name server, threads and files to read stay. */
#include "agentd/os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"

static char heard[16384] = "\n";
static char folder[] = "/tmp/nanopod-confine.XXXXXX", file[64];

static void *confine_thread(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static int confine_starts_thread(void)
{
	pthread_t t;
	int ran = 0;

	if (pthread_create(&t, NULL, confine_thread, &ran) != 0 || pthread_join(t, NULL) != 0)
		return -1;
	return ran ? 0 : -1;
}

static int confine_looks_up(const char *name)
{
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(name, "80", &(struct addrinfo){ .ai_socktype = SOCK_STREAM }, &list);

	if (!rc)
		freeaddrinfo(list);
	return rc ? -1 : 0;
}

/* "name result" or "name -errno" */
#define TELL(name, call) \
	do { \
		errno = 0; \
		long rc_ = (long)(call); \
		dprintf(1, "%s %d\n", (name), rc_ < 0 ? -errno : 0); \
	} while (0)

static void confine_try_forbidden(pid_t parent)
{
	char word[] = "true", *argv[] = { word, NULL };
	int s = socket(AF_INET, SOCK_STREAM, 0);

	TELL("execve", syscall(SYS_execve, "/bin/true", argv, NULL));
	TELL("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0));
	TELL("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	TELL("clone3", syscall(SYS_clone3, NULL, 0));
	TELL("unshare", syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
	TELL("write", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY));
	TELL("create", syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CREAT, 0600));
	TELL("unlink", syscall(SYS_unlinkat, AT_FDCWD, file, 0));
	TELL("mkdir", syscall(SYS_mkdirat, AT_FDCWD, file, 0700));
	TELL("mount", syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL));
	TELL("chroot", syscall(SYS_chroot, "/"));
	TELL("ptrace", syscall(SYS_ptrace, 16 /* ATTACH */, parent, 0, 0));
	TELL("memory", syscall(SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0));
	TELL("kill", syscall(SYS_kill, parent, 0));
	TELL("pidfd", syscall(SYS_pidfd_open, parent, 0));
	TELL("setuid", syscall(SYS_setuid, 0));
	TELL("setgroups", syscall(SYS_setgroups, 0, NULL));
	TELL("capset", syscall(SYS_capset, NULL, NULL));
	TELL("listen", syscall(SYS_listen, s, 1));
	TELL("accept", syscall(SYS_accept4, s, NULL, NULL, 0));
	TELL("packet", syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0));
	TELL("vsock", syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0));
	TELL("bpf", syscall(SYS_bpf, 0, NULL, 0));
	TELL("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	TELL("perf", syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
	TELL("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	TELL("module", syscall(SYS_finit_module, 0, "", 0));
	TELL("tiocsti", syscall(SYS_ioctl, 0, TIOCSTI, "x"));
	TELL("prctl", syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
}

/* What the process has before. */
enum confine_before { CONFINE_ALL, CONFINE_NO_CAPABILITY, CONFINE_NO_SETGID, CONFINE_NO_SECCOMP };

static int confine_drop_before(enum confine_before before)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, has) != 0)
		return -1;
	if (before == CONFINE_NO_CAPABILITY)
		memset(has, 0, sizeof has);
	has[0].effective &= ~(1U << CAP_SETGID);
	has[0].permitted = has[0].effective;
	has[0].inheritable = has[1].inheritable = 0;
	return (int)syscall(SYS_capset, &head, has);
}

/* As a kernel without seccomp. */
static int confine_take_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int confine_prepare(enum confine_before before)
{
	if (before == CONFINE_ALL)
		return 0;
	return before == CONFINE_NO_SECCOMP ? confine_take_seccomp() : confine_drop_before(before);
}

static void confine_child(pid_t parent, enum confine_before before)
{
	struct fail f = { 0 };
	char text[4096];
	int fd, n;

	if (confine_prepare(before) != 0) {
		dprintf(1, "prepare failed\n");
		_exit(0);
	}
	if (confine(&f) != 0) {
		dprintf(1, "confine %s\n", f.text);
		_exit(0);
	}
	confine_try_forbidden(parent);
	TELL("raw", socket(AF_INET, SOCK_RAW, 1));
	TELL("stream", socket(AF_INET6, SOCK_STREAM, 0));
	TELL("thread", confine_starts_thread());
	TELL("name", confine_looks_up("localhost"));
	TELL("number", confine_looks_up("127.0.0.1"));
	TELL("scope", if_nametoindex("lo") ? 0 : -1);
	TELL("parent", prctl(PR_SET_PDEATHSIG, SIGKILL));
	TELL("read", fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	close(fd);
	for (int i = 0; i < 2; i++) {
		fd = open(i ? "/proc/self/limits" : "/proc/self/status", O_RDONLY | O_CLOEXEC);
		while ((n = (int)read(fd, text, sizeof text)) > 0)
			n = (int)write(1, text, (size_t)n);
		close(fd);
	}
	_exit(0);
}

static bool confine_ask(enum confine_before before)
{
	pid_t parent = getpid(), pid;
	size_t len = 1;
	int ends[2];
	ssize_t n;

	if (pipe(ends) != 0 || (pid = fork()) < 0)
		return false;
	if (pid == 0) {
		dup2(ends[1], 1);
		confine_child(parent, before);
	}
	close(ends[1]);
	memset(heard + 1, 0, sizeof heard - 1);
	while ((n = read(ends[0], heard + len, sizeof heard - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	return waitpid(pid, &(int){ 0 }, 0) == pid && len > 1;
}

/* What follows the word at the beginning of a line. */
static const char *confine_said(const char *word)
{
	static char room[256];
	char start[64];
	const char *at;

	snprintf(start, sizeof start, "\n%s", word);
	at = strstr(heard, start);
	at = at ? at + strlen(start) : "nothing";
	at += strspn(at, " \t:");
	snprintf(room, sizeof room, "%.*s", (int)strcspn(at, "\n"), at);
	room[strcspn(room, "\t")] = '\0';
	return room;
}

/* A user namespace of one user, in which root cannot become another one. */
static bool confine_has_one_user(void)
{
	FILE *map = fopen("/proc/self/uid_map", "r");
	unsigned long first = 0, outside = 0, count = 0;
	int n = map ? fscanf(map, "%lu %lu %lu", &first, &outside, &count) : 0;

	if (map)
		fclose(map);
	return n == 3 && count == 1;
}

static void test_left_root(void)
{
	char refused[16];

	ok(*confine_said("Uid") > '0', "root is another user: %s", confine_said("Uid"));
	ok(*confine_said("Gid") > '0', "in another group: %s", confine_said("Gid"));
	is_str(confine_said("Groups"), "", "and in no other");
	is_str(confine_said("CapBnd"), "0000000000000000", "that can get no capability");
	snprintf(refused, sizeof refused, "%d", -EPERM);
	is_str(confine_said("raw"), refused, "and opens no raw socket");
}

/* At most: whoever started the test may have lower ones. */
static void test_limits(void)
{
	static const struct {
		const char *name;
		long most;
	} limits[] = {
		{ "Max core file size", 0 },
		{ "Max open files", 256 },
#ifndef __SANITIZE_ADDRESS__
		{ "Max address space", 1L << 30 },
#endif
	};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		const char *said = confine_said(limits[i].name);

		ok(*said >= '0' && *said <= '9' && strtol(said, NULL, 10) <= limits[i].most, "%s: %.8s", limits[i].name,
			said);
	}
	if (getuid() == 0 && getpwnam(CONFINE_USER) && !confine_has_one_user())
		ok(strtol(confine_said("Max processes"), NULL, 10) <= 256, "all of its user has few threads");
	else
		skip("it has a user whose other processes count, too");
}

static void test_lacking(void)
{
	if (confine_ask(CONFINE_NO_SECCOMP))
		is_str(confine_said("confine"),
			"this kernel cannot filter system calls: it lacks CONFIG_SECCOMP_FILTER",
			"a kernel without filters is refused");
	if (getuid() != 0 || confine_has_one_user()) {
		skip("only root has capabilities");
		return;
	}
	ok(confine_ask(CONFINE_NO_CAPABILITY), "a root without capabilities runs");
	is_str(confine_said("confine"), "nothing", "it has nothing to give up");
	is_str(confine_said("Uid"), "0", "and stays who he is");
	is_str(confine_said("Seccomp"), "2", "the kernel filters his calls");
	ok(confine_ask(CONFINE_NO_SETGID), "a root who cannot change his group runs");
	ok(strstr(confine_said("confine"), "CAP_SETUID and CAP_SETGID"), "and is refused: %s", confine_said("confine"));
}

int main(void)
{
	static const char *const forbidden[] = { "execve", "execveat", "fork", "clone3", "unshare", "write", "create",
		"unlink", "mkdir", "mount", "chroot", "ptrace", "memory", "kill", "pidfd", "setuid", "setgroups",
		"capset", "listen", "accept", "packet", "vsock", "bpf", "keyctl", "perf", "io_uring", "module",
		"tiocsti", "prctl" };
	static const char *const allowed[] = { "stream", "thread", "name", "number", "scope", "parent", "read" };
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };
	char self[32], refused[16];

	plan_none;
#if !defined __x86_64__ && !defined __aarch64__ && !(defined __riscv && __riscv_xlen == 64)
	skip_all("no list of system calls for this processor");
#endif
	if (!mkdtemp(folder))
		skip_all("no folder in /tmp");
	snprintf(file, sizeof file, "%s/file", folder);
	ok(confine_ask(CONFINE_ALL), "a confined process runs");
	rmdir(folder);
	is_str(confine_said("confine"), "nothing", "it lost what it should");
	snprintf(refused, sizeof refused, "%d", -ENOSYS);
	for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
		is_str(confine_said(forbidden[i]), refused, "no %s", forbidden[i]);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		is_str(confine_said(allowed[i]), "0", "yet: %s", allowed[i]);
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		is_str(confine_said(sets[i]), "0000000000000000", "%s is empty", sets[i]);
	is_str(confine_said("NoNewPrivs"), "1", "no program gives it rights");
	is_str(confine_said("Seccomp"), "2", "the kernel filters its calls");
	snprintf(self, sizeof self, "%d", (int)getuid());
	if (getuid() != 0)
		is_str(confine_said("Uid"), self, "an ordinary user stays who he is");
	else if (confine_has_one_user())
		skip("here is no user but root");
	else
		test_left_root();
	test_limits();
	test_lacking();
	return done();
}
