/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/confine.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 256, THREADS = 256, NOBODY = 65534, CODE_MAX = 512, LOW_WORD = __BYTE_ORDER == __BIG_ENDIAN ? 4 : 0 };

/* ---- Who it is ---------------------------------------------------------------------------- */

static bool confine_has_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capget, &head, has) != 0 || has[0].effective || has[1].effective;
}

/*
 * Two kinds of root are ordinary users to the kernel and stay who they are: one without any capability, and the only
 * user of a user namespace.
 */
static int confine_become(uid_t uid, gid_t gid, struct fail *f)
{
	if (setresgid(gid, gid, gid) == 0 && setgroups(0, NULL) == 0 && setresuid(uid, uid, uid) == 0)
		return 0;
	if (errno == EINVAL || (errno == EPERM && !confine_has_capabilities()))
		return 0;
	if (errno == EPERM)
		return fail_set(f, -EPERM,
			"root cannot become another user here; give this container CAP_SETUID and CAP_SETGID "
			"(--cap-add SETUID --cap-add SETGID)");
	return fail_errno(f, -errno, errno, "cannot give up root");
}

static int confine_leave_root(struct fail *f)
{
	const struct passwd *who = getpwnam(CONFINE_USER);
	uid_t uid;
	gid_t gid;

	who = who ? who : getpwnam("nobody");
	uid = who ? who->pw_uid : NOBODY;
	gid = who ? who->pw_gid : NOBODY;
	if (!uid || !gid)
		return fail_set(f, -EPERM, "cannot give up root: the user '%s' has root's number or group",
			who->pw_name);
	/* Where a container does not allow it, PR_SET_NO_NEW_PRIVS alone keeps programs from getting any. */
	for (int c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
		;
	return confine_become(uid, gid, f);
}

static int confine_leave_capabilities(struct fail *f)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capset, &head, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return fail_errno(f, -errno, errno, "cannot give up capabilities");
	/* Its memory has tokens in it, which other processes of this user have no business with. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return fail_errno(f, -errno, errno, "cannot keep others from reading this process");
	return 0;
}

/* ---- What it may take ---------------------------------------------------------------------- */

static int confine_limit(int which, rlim_t most, struct fail *f)
{
	struct rlimit now;

	if (getrlimit(which, &now) != 0)
		return fail_errno(f, -errno, errno, "cannot read a limit");
	most = now.rlim_max < most ? now.rlim_max : most;
	if (setrlimit(which, &(struct rlimit){ most, most }) != 0)
		return fail_errno(f, -errno, errno, "cannot lower a limit");
	return 0;
}

/* Where its user is its own: the threads of all agents' network sides count together. Elsewhere others' would count. */
static int confine_limit_threads(struct fail *f)
{
	const struct passwd *who = getpwnam(CONFINE_USER);

	return who && who->pw_uid && who->pw_uid == geteuid() ? confine_limit(RLIMIT_NPROC, THREADS, f) : 0;
}

static int confine_limits(struct fail *f)
{
	int rc = confine_limit(RLIMIT_CORE, 0, f);

	rc = rc ? rc : confine_limit(RLIMIT_NOFILE, FILES, f);
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes */
	rc = rc ? rc : confine_limit(RLIMIT_AS, (rlim_t)1 << 30, f);
#endif
	return rc ? rc : confine_limit_threads(f);
}

/* ---- What it may ask of the kernel ---------------------------------------------------------- */

#if defined __x86_64__
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define CONFINE_ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef CONFINE_ARCH

/* What libc, libcurl, TLS and the look-up of names need: no programs, no processes, no files to write, no listening. */
static const int confine_calls[] = {
#ifdef __x86_64__ /* older forms of those below */
	SYS_poll, SYS_select, SYS_epoll_wait, SYS_pipe, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_time,
#endif
	/* bytes */
	SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_fcntl, SYS_ppoll,
	SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_pipe2,
	/* sockets */
	SYS_connect, SYS_bind, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
	SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_shutdown,
	/* files: names */
	SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64,
	SYS_fstatfs, SYS_statfs,
	/* memory and threads: the look-up of names runs in one */
	SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_set_robust_list, SYS_rseq,
	SYS_sched_yield, SYS_sched_getaffinity, SYS_gettid, SYS_membarrier,
	/* itself */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_exit,
	SYS_exit_group, SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname,
	SYS_getrandom, SYS_sysinfo, SYS_getrusage,
	/* time */
	SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday
};

/* Calls that it may make while one argument has this value in these bits. */
static const struct {
	int call, argument;
	uint32_t bits, value;
} confine_forms[] = {
	{ SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, O_RDONLY },
#ifdef SYS_open
	{ SYS_open, 1, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, O_RDONLY },
#endif
	{ SYS_clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM },
	{ SYS_socket, 0, ~0U, AF_UNIX },
	{ SYS_socket, 0, ~0U, AF_INET },
	{ SYS_socket, 0, ~0U, AF_INET6 },
	{ SYS_socket, 0, ~0U, AF_NETLINK }, /* which addresses this machine has */
	{ SYS_socketpair, 0, ~0U, AF_UNIX },
	{ SYS_ioctl, 1, ~0U, FIONBIO },
	{ SYS_ioctl, 1, ~0U, FIONREAD },
	{ SYS_ioctl, 1, ~0U, SIOCGIFINDEX }, /* an interface's number, for a name server at fe80::1%eth0 */
	{ SYS_prctl, 0, ~0U, PR_SET_PDEATHSIG },
};

#define STATEMENT(code, k) ((struct sock_filter)BPF_STMT((code), (k)))
#define JUMP(code, k, yes, no) ((struct sock_filter)BPF_JUMP((code), (k), (yes), (no)))

/* A call that is not listed is answered as by a kernel without it: libraries then do without or use an older one. */
static unsigned short confine_program(struct sock_filter room[CODE_MAX])
{
	struct sock_filter *p = room;

	*p++ = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	*p++ = JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0);
	*p++ = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	*p++ = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof confine_calls / sizeof *confine_calls; i++) {
		*p++ = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)confine_calls[i], 0, 1);
		*p++ = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < sizeof confine_forms / sizeof *confine_forms; i++) {
		*p++ = STATEMENT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
		*p++ = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)confine_forms[i].call, 0, 4);
		*p++ = STATEMENT(BPF_LD | BPF_W | BPF_ABS,
			(uint32_t)offsetof(struct seccomp_data, args) + 8 * (uint32_t)confine_forms[i].argument +
				LOW_WORD);
		*p++ = STATEMENT(BPF_ALU | BPF_AND | BPF_K, confine_forms[i].bits);
		*p++ = JUMP(BPF_JMP | BPF_JEQ | BPF_K, confine_forms[i].value, 0, 1);
		*p++ = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*p++ = STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return (unsigned short)(p - room);
}

_Static_assert(5 + 2 * sizeof confine_calls / sizeof *confine_calls +
			6 * (sizeof confine_forms / sizeof *confine_forms) <=
		CODE_MAX,
	"the program has room");

static int confine_close_kernel(struct fail *f)
{
	struct sock_filter code[CODE_MAX];
	struct sock_fprog program = { .len = confine_program(code), .filter = code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
		return 0;
	if (errno == EINVAL)
		return fail_set(f, -EINVAL, "this kernel cannot filter system calls: it lacks CONFIG_SECCOMP_FILTER");
	return fail_errno(f, -errno, errno, "cannot give up system calls");
}

#else

static int confine_close_kernel(struct fail *f)
{
	(void)f;
	return 0;
}

#endif

int confine(struct fail *f)
{
	int rc = geteuid() == 0 ? confine_leave_root(f) : 0;

	rc = rc ? rc : confine_limits(f);
	rc = rc ? rc : confine_leave_capabilities(f);
	return rc ? rc : confine_close_kernel(f);
}
