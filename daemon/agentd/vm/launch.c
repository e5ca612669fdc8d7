/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/spawn.h"
#include "agentd/vm/accel.h"
#include "agentd/vm/passthrough.h"
#include "agentd/vm/qemu.h"

enum { WORDS = 2048 };

/* QEMU inherits its tap open: the user that QEMU runs as may not be allowed to open /dev/net/tun. */
static int launch_open_tap(const char *name)
{
	struct ifreq want = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	snprintf(want.ifr_name, sizeof want.ifr_name, "%s", name);
	if (ioctl(fd, TUNSETIFF, &want) != 0 || (fd != VMLAUNCH_TAP_FD && dup2(fd, VMLAUNCH_TAP_FD) < 0) ||
	    fcntl(VMLAUNCH_TAP_FD, F_SETFD, 0) != 0)
		rc = -errno;
	if (fd != VMLAUNCH_TAP_FD)
		close(fd);
	return rc;
}

/* Runs in the child: enters the node's groups, then drops to the rights of its own user. */
static int launch_become(void *arg)
{
	const struct vmlaunch *v = arg;
	int rc = v->group ? cgroup_enter(v->group, CGROUP_NODE) : 0;

	rc = rc == 0 && v->tap ? launch_open_tap(v->tap) : rc;
	if (rc)
		return rc;
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (geteuid() == 0)
		rc = vmaccel_drop(v->shape.kvm, v->uid);
	if (rc)
		return rc;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -errno : 0;
}

static_assert(PASSTHROUGH_WORDS + 80 < SPAWN_ARGS, "all words fit");
static const char sandbox[] = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

int vmlaunch(const struct vmlaunch *v, pid_t *pid, struct fail *f)
{
	char mem[24], cpus[24], words[WORDS], nic[64], disk[80];
	const char *argv[SPAWN_ARGS] = { VMPROC_QEMU, "-name", v->name, "-accel", vmaccel_word(v->shape.kvm),
		"-machine", "q35,usb=off,vmport=off", "-cpu", v->shape.kvm ? "host" : "max", "-smp", cpus, "-m", mem,
		"-nodefaults", "-no-user-config", "-display", "none", "-sandbox", sandbox, "-rtc", "base=utc",
		"-kernel", "vmlinuz", "-initrd", "initrd", "-append", words, "-chardev", "stdio,id=con,signal=off",
		"-serial", "chardev:con", "-chardev", "socket,id=ctl,path=run/ctl,server=on,wait=off", "-serial",
		"chardev:ctl", "-drive", disk, "-device", "virtio-blk-pci,drive=d0,addr=3", "-drive",
		"file=identity,format=raw,readonly=on,if=none,id=d1", "-device", "virtio-blk-pci,drive=d1,addr=4",
		"-netdev", v->net, "-device", nic, "-object", "rng-random,id=r0,filename=/dev/urandom", "-device",
		"virtio-rng-pci,rng=r0,addr=6", "-chardev", "socket,id=qmp,path=run/qmp,server=on,wait=off", "-mon",
		"chardev=qmp,mode=control", NULL };
	struct passthrough gpus;
	size_t n = 0;
	int rc = passthrough_words(v->devices, &gpus, f);

	if (rc)
		return rc;
	while (argv[n])
		n++;
	for (size_t i = 0; i < gpus.count; i++)
		argv[n++] = gpus.text[i];
	if (v->state >= 0) {
		argv[n++] = "-incoming";
		argv[n++] = "fd:3";
	}
	argv[n] = NULL;
	snprintf(mem, sizeof mem, "%u", v->shape.mib);
	snprintf(cpus, sizeof cpus, "%u", v->shape.cpus);
	snprintf(disk, sizeof disk, "file=disk.qcow2,format=qcow2,if=none,id=d0,discard=%s",
		v->keeps_disk ? "ignore" : "unmap");
	snprintf(nic, sizeof nic, "virtio-net-pci,netdev=e0,romfile=,mac=%s,addr=5", v->mac);
	if (snprintf(words, sizeof words,
		    "console=ttyS0 loglevel=5 panic=5 net.ifnames=0 audit=0 systemd.show_status=1 TERM=dumb%s %s",
		    v->shape.kvm ? "" : " tsc=reliable mitigations=off", v->words) >= (int)sizeof words)
		return fail_set(f, -E2BIG, "the kernel's command line is too long");
	return spawn_leave(&(struct spawn){ .argv = argv,
				   .dir = v->dir,
				   .net = v->ns,
				   .prepare = launch_become,
				   .arg = (void *)(uintptr_t)v },
		v->console, v->state, pid, f);
}
