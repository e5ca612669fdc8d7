/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/guest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

const char vmguest_init_begin[] =
	"#!/bin/busybox sh\n"
	"B=/bin/busybox\n"
	"$B mount -t proc proc /proc; $B mount -t sysfs sys /sys; $B mount -t devtmpfs dev /dev\n";

const char vmguest_init_disk[] =
	"n=0; while [ ! -b /dev/vda ] && [ $n -lt 100 ]; do $B sleep 0.1; n=$((n+1)); done\n"
	"$B mount -t ext4 -o rw,noatime /dev/vda /new || { echo 'nanopod: the disk cannot be mounted'; $B sleep 5; $B "
	"reboot -f; }\n"
	"$B mount -o move /dev /new/dev; $B mount -o move /sys /new/sys; $B mount -o move /proc /new/proc\n"
	"exec $B switch_root /new /sbin/init\n";

const char vmguest_init_probe[] =
	"echo " VMGUEST_PROBE_MARK "\n"
	"$B poweroff -f\n";

/*
 * identity MODE. boot: runs once a boot; if the kernel's command line says so, it first waits to be frozen. serve: runs
 * for ever after. A disk that is being rewritten shows two different serials and is read again. All it holds is data.
 */
static const char identity[] =
	"#!/bin/sh\n"
	"# Gives this node the identity from its second disk. Part of nanopod.\n"
	"umask 077\n"
	"I=/run/nanopod N=/run/nanopod/now KEEP=/var/lib/nanopod\n"
	"mkdir -p $I $KEEP\n"
	"take() {\n"
	"	n=0\n"
	"	while [ $n -lt 50 ]; do\n"
	"		rm -rf $I/new; mkdir $I/new\n"
	"		dd if=/dev/vdb bs=1M iflag=direct 2>/dev/null | tar -xf - -C $I/new --no-same-owner "
	"2>/dev/null\n"
	"		a=$(cat $I/new/serial 2>/dev/null); b=$(cat $I/new/end 2>/dev/null)\n"
	"		[ -n \"$a\" ] && [ \"$a\" = \"$b\" ] && { rm -rf $N; mv $I/new $N; return 0; }\n"
	"		n=$((n+1)); sleep 0.1\n"
	"	done\n"
	"	return 1\n"
	"}\n"
	"stir() {\n"
	"	cat $N/seed > /dev/urandom\n"
	"	perl -e 'open R, \">\", \"/dev/urandom\"; open S, \"<\", $ARGV[0]; local $/; $s = <S>;"
	" ioctl(R, 0x40085203, pack(\"iia*\", 8 * length $s, length $s, $s)); ioctl(R, 0x5207, 0)' $N/seed\n"
	"	rm -f $N/seed\n"
	"}\n"
	"keys() {\n"
	"	mkdir -p /root/.ssh; cp $N/authorized_keys /root/.ssh/.nanopod; mv /root/.ssh/.nanopod "
	"/root/.ssh/authorized_keys\n"
	"}\n"
	"named() {\n"
	"	h=$(cat $N/name); echo \"$h\" > /etc/hostname; hostname \"$h\"\n"
	"	printf '127.0.0.1 localhost\\n127.0.1.1 %s\\n::1 localhost ip6-localhost ip6-loopback\\n' \"$h\" > "
	"$I/hosts\n"
	"	cat $I/hosts > /etc/hosts; chmod 644 /etc/hosts /etc/hostname\n"
	"	m=$(cat $N/machine-id); [ \"$m\" = \"$(cat /etc/machine-id)\" ] || { echo \"$m\" > /etc/machine-id; "
	"chmod 444 /etc/machine-id; }\n"
	"}\n"
	"net() {\n"
	"	n=0; while [ ! -e /sys/class/net/eth0 ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done\n"
	"	read -r address gateway mac < $N/address\n"
	"	ip link set lo up; ip link set eth0 down; ip link set eth0 address \"$mac\"; ip addr flush dev eth0; "
	"ip link set eth0 up\n"
	"	ip addr add \"$address\" dev eth0; ip route replace default via \"$gateway\"\n"
	"	rm -f /etc/resolv.conf; cp $N/resolv.conf /etc/resolv.conf; chmod 644 /etc/resolv.conf\n"
	"}\n"
	"host() {\n"
	"	rm -f /etc/ssh/ssh_host_*\n"
	"	cp $N/hostkey /etc/ssh/ssh_host_ed25519_key; cp $N/hostkey.pub /etc/ssh/ssh_host_ed25519_key.pub; rm "
	"-f $N/hostkey\n"
	"	if [ -e $N/script ] && [ ! -e $KEEP/script.taken ]; then\n"
	"		cp $N/script $KEEP/script; : > $KEEP/script.taken\n"
	"	fi\n"
	"	rm -f $N/script\n"
	"}\n"
	"all() { take && { stir; named; net; keys; host; sync; }; }\n"
	"port() { stty -F /dev/ttyS1 raw -echo 2>/dev/null; exec 3<>/dev/ttyS1; }\n"
	/* Waits until all else that starts at boot has started, and caches the files that a clone reads first. */
	"settled() {\n"
	"	n=0\n"
	"	while [ $n -lt 240 ] && systemctl list-jobs --no-legend | grep -v nanopod- | grep -q ' running'; do "
	"sleep 0.25; n=$((n+1)); done\n"
	"	take; perl -e 1; ip addr > /dev/null; date > /dev/null; cat /usr/sbin/sshd > /dev/null; /usr/sbin/sshd "
	"-t 2>/dev/null\n"
	"	rm -rf $N; sync\n"
	"}\n"
	"clone() {\n"
	"	port; settled; n=0\n"
	"	( while :; do echo " VMGUEST_FROZEN " >&3; sleep 0.5; done ) & teller=$!\n"
	"	while read -r word serial now <&3; do [ \"$word\" = go ] && break; done\n"
	"	kill $teller; date -s \"@$now\" > /dev/null; all\n"
	"	cat /proc/sys/kernel/random/uuid > $I/boot_id; chmod 644 $I/boot_id; mount --bind $I/boot_id "
	"/proc/sys/kernel/random/boot_id\n"
	"	echo \"" VMGUEST_DONE " $serial\" >&3; echo \"nanopod: $h goes on from a frozen boot\" > /dev/ttyS0\n"
	"	systemctl --no-block restart systemd-journald\n"
	"}\n"
	"case $1 in\n"
	"boot)\n"
	"	if grep -q -w " VMGUEST_FREEZE_WORD " /proc/cmdline; then clone; else all; fi;;\n"
	"serve)\n"
	"	port\n"
	"	while read -r word serial rest <&3; do\n"
	"		[ \"$word\" = apply ] && take && keys && echo \"" VMGUEST_DONE " $(cat $N/serial)\" >&3\n"
	"		rm -f $N/seed $N/hostkey $N/script\n"
	"	done;;\n"
	"script)\n"
	"	mv $KEEP/script $KEEP/script.ran && chmod 700 $KEEP/script.ran && cd /root || exit 1\n"
	"	case $(head -c 2 $KEEP/script.ran | tr -d '\\000') in '#!') exec $KEEP/script.ran;; *) exec /bin/sh "
	"$KEEP/script.ran;; esac;;\n"
	"esac\n";

static const char identity_unit[] =
	"[Unit]\nDescription=nanopod: who this node is\nDefaultDependencies=no\n"
	"After=local-fs.target systemd-udevd.service systemd-udev-trigger.service systemd-remount-fs.service\n"
	"Before=network.target ssh.service\nConflicts=shutdown.target\n"
	"[Service]\nType=oneshot\nRemainAfterExit=yes\nRestart=on-failure\nRestartSec=1\nTimeoutStartSec=infinity\n"
	"ExecStart=/usr/lib/nanopod/identity boot\n"
	"[Install]\nWantedBy=multi-user.target\n";

static const char serve_unit[] =
	"[Unit]\nDescription=nanopod: new keys for this node\nAfter=nanopod-identity.service\n"
	"[Service]\nExecStart=/usr/lib/nanopod/identity serve\nRestart=always\nRestartSec=1\n"
	"[Install]\nWantedBy=multi-user.target\n";

static const char grow_unit[] =
	"[Unit]\nDescription=nanopod: the file system as large as the disk\nAfter=nanopod-identity.service\n"
	"[Service]\nType=oneshot\nExecStart=-/sbin/resize2fs /dev/vda\n"
	"[Install]\nWantedBy=multi-user.target\n";

static const char script_unit[] =
	"[Unit]\nDescription=nanopod: the first boot's script\n"
	"After=nanopod-identity.service nanopod-grow.service network.target\n"
	"ConditionPathExists=/var/lib/nanopod/script\n"
	"[Service]\nType=oneshot\nTimeoutStartSec=infinity\nEnvironment=HOME=/root\n"
	"StandardOutput=journal+console\nStandardError=journal+console\n"
	"ExecStart=/usr/lib/nanopod/identity script\n"
	"[Install]\nWantedBy=multi-user.target\n";

static const char sshd_lines[] = "HostKey /etc/ssh/ssh_host_ed25519_key\nUseDNS no\nPasswordAuthentication "
				 "no\nPermitRootLogin prohibit-password\n";

static const struct {
	const char *path, *text;
	unsigned mode;
} files[] = {
	{ "usr/lib/nanopod/identity", identity, 0755 },
	{ "etc/systemd/system/nanopod-identity.service", identity_unit, 0644 },
	{ "etc/systemd/system/nanopod-serve.service", serve_unit, 0644 },
	{ "etc/systemd/system/nanopod-grow.service", grow_unit, 0644 },
	{ "etc/systemd/system/nanopod-script.service", script_unit, 0644 },
	{ "etc/ssh/sshd_config.d/nanopod-vm.conf", sshd_lines, 0644 },
	/* sshd waits for its key; nothing else of the boot waits for us. */
	{ "etc/systemd/system/ssh.service.d/nanopod.conf", "[Unit]\nAfter=nanopod-identity.service\n", 0644 },
	{ "etc/fstab", "/dev/vda / ext4 rw,noatime 0 1\n", 0644 },
	{ "etc/machine-id", "", 0444 },
};

static const struct {
	const char *path, *to;
} links[] = {
	{ "etc/systemd/system/multi-user.target.wants/nanopod-identity.service", "../nanopod-identity.service" },
	{ "etc/systemd/system/multi-user.target.wants/nanopod-serve.service", "../nanopod-serve.service" },
	{ "etc/systemd/system/multi-user.target.wants/nanopod-grow.service", "../nanopod-grow.service" },
	{ "etc/systemd/system/multi-user.target.wants/nanopod-script.service", "../nanopod-script.service" },
};

/* Units that a node does not need, that slow its boot, or that would reconfigure its network. */
static const char *const masked[] = { "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer",
	"e2scrub_reap.service", "fstrim.timer", "dpkg-db-backup.timer", "systemd-random-seed.service",
	"systemd-pstore.service", "getty@tty1.service", "serial-getty@ttyS0.service", "networking.service",
	"systemd-networkd.service", "systemd-firstboot.service", "user@0.service", "modprobe@dm_mod.service",
	"modprobe@drm.service", "modprobe@loop.service", "systemd-update-utmp-runlevel.service" };

static int guest_at(char room[PATH_MAX], const char *root, const char *path, struct fail *f)
{
	int rc;

	if (snprintf(room, PATH_MAX, "%s/%s", root, path) >= PATH_MAX)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", root);
	rc = file_folders(room);
	return rc ? fail_errno(f, rc, -rc, "cannot make the folder of '%s'", room) : 0;
}

static int vmguest_put_link(const char *root, const char *path, const char *to, struct fail *f)
{
	char room[PATH_MAX];
	int rc = guest_at(room, root, path, f);

	if (rc)
		return rc;
	if ((unlink(room) != 0 && errno != ENOENT) || symlink(to, room) != 0)
		return fail_errno(f, -errno, errno, "cannot make '%s'", room);
	return 0;
}

/* Folders that we make below root may be readable by root alone: others must be able to read them. */
static int guest_put_file(const char *root, const char *path, const char *text, unsigned mode, struct fail *f)
{
	char room[PATH_MAX];
	int rc = guest_at(room, root, path, f);

	if (rc)
		return rc;
	rc = file_replace(room, text, strlen(text), mode);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", room);
	*strrchr(room, '/') = '\0';
	return chmod(room, 0755) != 0 ? fail_errno(f, -errno, errno, "cannot let others read '%s'", room) : 0;
}

int vmguest_install(const char *root, struct fail *f)
{
	char path[256];
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof files / sizeof *files; i++)
		rc = guest_put_file(root, files[i].path, files[i].text, files[i].mode, f);
	for (size_t i = 0; !rc && i < sizeof links / sizeof *links; i++)
		rc = vmguest_put_link(root, links[i].path, links[i].to, f);
	for (size_t i = 0; !rc && i < sizeof masked / sizeof *masked; i++) {
		snprintf(path, sizeof path, "etc/systemd/system/%s", masked[i]);
		rc = vmguest_put_link(root, path, "/dev/null", f);
	}
	return rc;
}
