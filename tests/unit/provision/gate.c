/* SPDX-License-Identifier: Apache-2.0 */
/* Every gate: what it stops, what it only says, in which words, and that it says nothing of nodes that are well. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/provision/model/gate.h"

#include "../../lib/tap.h"

enum { NODES = 4 };

static char folder[PATH_MAX];

/* Nodes that nothing is wrong with; `says` is laid over one of them. */
struct bench {
	struct cluster *c;
	struct facts facts[NODES];
	struct findings found;
};

static void lay(struct bench *b, size_t m, const char *says)
{
	char text[2048];
	struct fail f = { 0 };
	struct pairs pairs = { 0 };
	struct facts more = { 0 };

	snprintf(text, sizeof text, "%s\n", says);
	for (char *p = text; *p; p++)
		*p = *p == '|' ? '\n' : *p;
	if (facts_parse(text, strlen(text), &more, &f))
		ok(false, "facts of the test: %s", f.text);
	pairs = more.pairs;
	for (size_t i = 0; i < pairs.count; i++)
		pairs_set(&b->facts[m].pairs, pairs.at[i].key, pairs.at[i].value);
	b->facts[m].known = true;
	facts_release(&more);
}

static void start(struct bench *b, const char *file, size_t nodes)
{
	char text[1024];
	struct fail f = { 0 };

	*b = (struct bench){ 0 };
	snprintf(text, sizeof text, "cluster: a\nnodes: 'n[1-%zu]'\nstacks: %s\n", nodes, file);
	if (cluster_parse("c.yaml", text, strlen(text), folder, NULL, NULL, &b->c, &f))
		ok(false, "the cluster of the test: %s", f.text);
	for (size_t m = 0; m < nodes; m++) {
		snprintf(text, sizeof text,
			"hostname=n%zu|machine_id=%032zx|address=10.0.0.%zu|os_id=debian|os_version=12|os_codename="
			"bookworm|"
			"arch=x86_64|kernel=6.1.0-30|cgroup=v2|cgroup_write=yes|init=systemd|memory_mb=4000|swap_mb=0|"
			"disk_free_mb=9000|mtu=1500|"
			"route=yes|resolves=yes|root=root|dpkg=free|gpu_count=8|gpu_usable=8|nouveau=no|secure_boot=no|"
			"headers=yes|rdma_count=1|"
			"rdma_0=mlx5_0 1 ACTIVE 400 "
			"InfiniBand|candidate_toyd=22.05.8-4|candidate_toy_client=22.05.8-4|candidate_elsewhere=1.0",
			m + 1, m + 1, m + 1);
		lay(b, m, text);
	}
}

static void end(struct bench *b)
{
	gate_release(&b->found);
	for (size_t m = 0; m < NODES; m++)
		facts_release(&b->facts[m]);
	cluster_free(b->c);
}

/* The one finding there is. */
static void finds(struct bench *b, enum gate gate, bool stops, size_t member, const char *text, const char *hint)
{
	gate_look(b->c, b->facts, NULL, &b->found);
	if (ok(b->found.count == 1, "%s: one finding", gate_name(gate))) {
		is_str(b->found.at[0].text, text, "%s: what it says", gate_name(gate));
		is_str(b->found.at[0].hint, hint, "%s: what to type", gate_name(gate));
		is_int(b->found.at[0].gate, gate, "%s: its gate", gate_name(gate));
		is_int(b->found.at[0].stops, stops, "%s: does it stop", gate_name(gate));
		is_int(b->found.at[0].member, member, "%s: on which node", gate_name(gate));
	}
	for (size_t i = 0; b->found.count != 1 && i < b->found.count; i++)
		diag("%s", b->found.at[i].text);
	gate_release(&b->found);
}

/* What is wrong with n3 alone. */
static void alone(const char *says, enum gate gate, bool stops, const char *text, const char *hint)
{
	struct bench b;

	start(&b, "{toy: }", NODES);
	lay(&b, 2, says);
	finds(&b, gate, stops, 2, text, hint);
	end(&b);
}

static void well(const char *says, const char *what)
{
	struct bench b;

	start(&b, "{toy: }", NODES);
	lay(&b, 2, says);
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "%s: nothing is said", what);
	end(&b);
}

static void test_well(void)
{
	struct bench b;

	start(&b, "{toy: }", NODES);
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "nodes that are well: nothing is said");
	end(&b);
	start(&b, "{base: }", 1);
	facts_release(&b.facts[0]);
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 1, "a node that was not reached: one finding");
	is_str(b.found.count ? b.found.at[0].text : NULL, "'n1' was not reached", "that it was not");
	end(&b);
}

static void test_names(void)
{
	alone("hostname=", GATE_NAME, true, "'n3' has no host name", "hostnamectl set-hostname n3");
	alone("hostname=n3;reboot", GATE_NAME, true, "the host name of 'n3' is 'n3;reboot', which is not valid",
		"hostnamectl set-hostname n3");
	alone("hostname=localhost", GATE_NAME, true, "the host name of 'n3' is 'localhost', which every machine has",
		"hostnamectl set-hostname n3");
	alone("hostname=deb.debian.org", GATE_NAME, true,
		"the host name of 'n3' is 'deb.debian.org', which belongs to another machine",
		"hostnamectl set-hostname n3");
	alone("hostname=n33.example.com", GATE_NAME, true,
		"the host name of 'n3' is 'n33.example.com', which belongs to another machine",
		"hostnamectl set-hostname n3");
	well("hostname=n3.example.com", "a name of its own with its domain");
	well("hostname=worker", "a plain name");
	alone("machine_id=", GATE_MACHINE, true, "'n3' has no machine-id", "systemd-machine-id-setup");
	alone("machine_id=|init=sysv", GATE_MACHINE, false, "'n3' has no machine-id", "systemd-machine-id-setup");
	alone("address=", GATE_ADDRESS, true, "'n3' has no address at which other nodes can reach it",
		"ip -br address");
	alone("address=x y", GATE_ADDRESS, true, "the address of 'n3' is 'x y', which is not valid", "ip -br address");
	alone("address=127.0.0.1", GATE_ADDRESS, true,
		"the address of 'n3' is 127.0.0.1, which no other node can reach", "ip -br address");
}

/* Where the base stack writes /etc/hosts a name that is not known yet is no finding. */
static void test_hosts(void)
{
	struct bench b;

	start(&b, "{toy: {}, base: {hosts: no}}", NODES);
	lay(&b, 2, "resolves=no");
	finds(&b, GATE_NAMES, true, 2, "'n3' cannot resolve its own name, 'n3'", "echo '127.0.1.1 n3' >>/etc/hosts");
	end(&b);
	start(&b, "{toy: {}, base: {hosts: yes}}", NODES);
	lay(&b, 2, "resolves=no");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "names: base is about to mend it");
	end(&b);
}

static void test_name_of_other(void)
{
	struct bench b;

	start(&b, "{toy: }", NODES);
	lay(&b, 0, "hostname=worker");
	lay(&b, 2, "hostname=N1");
	finds(&b, GATE_NAME, true, 2, "the host name of 'n3' is 'n1', the name of another node",
		"hostnamectl set-hostname n3");
	end(&b);
}

static void test_twins(void)
{
	static const struct {
		const char *says, *first, *second, *hint;
		enum gate gate;
	} rows[] = {
		{ "hostname=N1", "the host name of 'n1' is 'n1', as is that of 'n3'",
			"the host name of 'n3' is 'N1', as is that of 'n1'", "hostnamectl set-hostname n1", GATE_NAME },
		{ "machine_id=00000000000000000000000000000001",
			"'n1' has the machine-id of 'n3': one was cloned from the other",
			"'n3' has the machine-id of 'n1': one was cloned from the other",
			"rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup", GATE_MACHINE },
		{ "address=10.0.0.1", "the address of 'n1' is 10.0.0.1, as is that of 'n3'",
			"the address of 'n3' is 10.0.0.1, as is that of 'n1'", "ip -br address", GATE_ADDRESS },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench b;

		start(&b, "{toy: }", NODES);
		lay(&b, 2, rows[i].says);
		gate_look(b.c, b.facts, NULL, &b.found);
		if (ok(b.found.count == 2, "%s: both are stopped", gate_name(rows[i].gate))) {
			is_str(b.found.at[0].text, rows[i].first, "the one");
			is_str(b.found.at[0].hint, rows[i].hint, "what to type");
			is_str(b.found.at[1].text, rows[i].second, "and the other");
			ok(b.found.at[0].stops && b.found.at[1].stops && b.found.at[0].gate == rows[i].gate,
				"nothing is begun on them");
		}
		end(&b);
	}
}

static void clock_of(int64_t skew, int64_t error, int64_t rest, bool stops, const char *text)
{
	struct bench b;

	start(&b, "{toy: }", NODES);
	for (size_t m = 0; m < NODES; m++)
		b.facts[m].skew_us = rest;
	b.facts[2].skew_us = skew;
	b.facts[2].skew_error_us = error;
	if (text) {
		finds(&b, GATE_CLOCK, stops, 2, text, "timedatectl set-ntp true");
	} else {
		gate_look(b.c, b.facts, NULL, &b.found);
		is_int(b.found.count, 0, "a clock %ld us off, %ld us of doubt: nothing", (long)(skew - rest),
			(long)error);
	}
	end(&b);
}

static void test_clock(void)
{
	struct bench b;

	clock_of(130000000, 1000, 0, true, "the clock of 'n3' is 130 s ahead of the others");
	clock_of(-61000000, 1000, 0, true, "the clock of 'n3' is 61 s behind the others");
	clock_of(-59000000, 1000, 0, false, "the clock of 'n3' is 59 s behind the others");
	clock_of(2500000, 1000, 0, false, "the clock of 'n3' is 2.5 s ahead of the others");
	clock_of(1900000, 1000, 0, false, NULL);
	clock_of(2500000, 600000, 0, false, NULL);
	clock_of(61000000, 2000000, 0, false, "the clock of 'n3' is 61 s ahead of the others");
	clock_of(500000000, 1000, 500000000, false, NULL);
	clock_of(36000000000, 1000, 0, true, "the clock of 'n3' is 10 h ahead of the others");
	clock_of(-864000000000, 1000, 0, true, "the clock of 'n3' is 10 days behind the others");
	clock_of(INT64_MIN, 1000, INT64_MAX, true, "the clock of 'n3' is 213503982 days behind the others");
	start(&b, "{toy: }", 2);
	b.facts[1].skew_us = 130000000;
	finds(&b, GATE_CLOCK, true, 1, "the clock of 'n2' is 130 s ahead of the others", "timedatectl set-ntp true");
	end(&b);
	start(&b, "{toy: }", 1);
	b.facts[0].skew_us = 130000000;
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "one node has nobody to differ from");
	end(&b);
}

static void test_system(void)
{
	alone("root=none", GATE_ROOT, true, "the user on 'n3' is neither root nor may use sudo",
		"nanopod provision --user root …");
	alone("cluster=other", GATE_CLUSTER, true, "'n3' is already in the cluster 'other'",
		"'nanopod provision drop other -w n3' takes it out of that cluster; '--name other' works on that "
		"cluster");
	alone("os_id=", GATE_SYSTEM, true, "'n3' has no /etc/os-release, so its operating system is unknown", NULL);
	alone("os_id=fedora|os_version=40|os_codename=bookworm", GATE_SYSTEM, true,
		"'n3' runs fedora 40, not Debian or Ubuntu", NULL);
	alone("arch=aarch64", GATE_SYSTEM, false, "the processor of 'n3' is aarch64, that of others is x86_64", NULL);
	alone("os_codename=trixie", GATE_SYSTEM, false, "the release of 'n3' is trixie, that of others is bookworm",
		NULL);
	alone("disk_free_mb=512", GATE_DISK, true, "'n3' has 512 MB of free disk space, 'toy' needs 2048 MB",
		"df -h / /var /usr/local");
	alone("memory_mb=900", GATE_MEMORY, true, "'n3' has 900 MB of memory, 'toy' needs 1024 MB", "free -m");
	alone("dpkg=held|dpkg_holder=123 apt-get", GATE_DPKG, false,
		"'apt-get' (process 123) is installing packages on 'n3': nanopod will wait for it", "ps -fp 123");
	alone("dpkg=held|dpkg_holder=$(x)", GATE_DPKG, false,
		"somebody is installing packages on 'n3': nanopod will wait for them", NULL);
	alone("dpkg=broken", GATE_DPKG, false,
		"a package installation was interrupted on 'n3': nanopod will finish it first", "dpkg --configure -a");
	alone("route=no", GATE_ROUTE, true, "'n3' has no default route", "ip route add default via GATEWAY");
	alone("mtu=1450", GATE_MTU, false, "the MTU of 'n3' is 1450, that of others is 1500",
		"ip link set dev DEVICE mtu 1500");
	alone("cgroup=none", GATE_CGROUP, true, "'n3' has neither cgroup v1 nor v2",
		"mount -t cgroup2 none /sys/fs/cgroup");
	alone("cgroup_write=no", GATE_CGROUP, true, "cannot create a group in the cgroups (v2) of 'n3'",
		"mount -o remount,rw /sys/fs/cgroup");
	alone("swap_mb=2048", GATE_SWAP, false, "'n3' has 2048 MB of swap, which Kubernetes does not account for",
		"swapoff -a");
	alone("candidate_toyd=1:23.11.4-1|candidate_toy_client=1:23.11.4-1|candidate_elsewhere=9", GATE_VERSION, true,
		"'n3' has or would get toyd 23.11, others 22.05: these versions are incompatible", NULL);
	alone("installed_toyd=21.08.1", GATE_VERSION, true,
		"'n3' has or would get toyd 21.08, others 22.05: these versions are incompatible", NULL);
}

/* The shipped stack 'storage', whose kind decides. */
static void test_nfs(const char *top)
{
	char kept[PATH_MAX];
	struct bench b;

	snprintf(kept, sizeof kept, "%s", folder);
	snprintf(folder, sizeof folder, "%s/stacks", top);
	start(&b, "{storage: }", 3);
	lay(&b, 2, "nfs_server=no|nfs_client=no");
	finds(&b, GATE_NFS, true, 2,
		"the kernel of 'n3' cannot mount NFS (it has no module 'nfs'), which 'storage' needs",
		"use nodes with a kernel of their own, which containers lack");
	end(&b);
	start(&b, "{storage: }", 3);
	lay(&b, 0, "nfs_server=no|nfs_client=yes");
	finds(&b, GATE_NFS, true, 0,
		"the kernel of 'n1' cannot serve NFS (it has no module 'nfsd'), which 'storage' needs",
		"'--role storage.server=NODE' names another server, e.g. one that is no container");
	end(&b);
	start(&b, "{storage: {kind: minio}}", 3);
	lay(&b, 0, "nfs_server=no|nfs_client=no");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "another kind needs no NFS");
	end(&b);
	start(&b, "{storage: {kind: s3}}", 3);
	lay(&b, 1, "nfs_server=no|nfs_client=no|fuse=no");
	finds(&b, GATE_FUSE, true, 1,
		"'n2' cannot mount a bucket, as 'storage' would: a program cannot be a file system there "
		"(no /dev/fuse that it may open)",
		"use nodes with a kernel of their own, which containers lack ('modprobe fuse' makes the device there), "
		"or "
		"another kind of storage");
	end(&b);
	start(&b, "{storage: }", 3);
	lay(&b, 1, "fuse=no");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "NFS needs no FUSE");
	end(&b);
	snprintf(folder, sizeof folder, "%s", kept);
}

static void write_to(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	if (ok(f != NULL, "(%s is written)", name)) {
		fputs(text, f);
		fclose(f);
	}
}

static void test_airgap(void)
{
	char dir[] = "/tmp/nanopod-gate.XXXXXX", debs[PATH_MAX], bundle[PATH_MAX], file[128];
	struct bench b;

	if (!ok(mkdtemp(dir) != NULL, "(a folder)"))
		return;
	snprintf(debs, sizeof debs, "%s/debs", dir);
	snprintf(bundle, sizeof bundle, "%s/bundle", dir);
	snprintf(file, sizeof file, "{toy: {}, base: {airgap: %s}}", dir);
	write_to(dir, "bundle", "stacks: base toy\nrelease: trixie\narch: amd64\n");
	start(&b, file, NODES);
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "airgap: one without packages is for any release");
	gate_release(&b.found);
	ok(mkdir(debs, 0700) == 0, "(and one with packages)");
	for (size_t m = 0; m < NODES; m++)
		lay(&b, m, "os_codename=trixie");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "airgap: nothing is said where it is the nodes' own");
	gate_release(&b.found);
	end(&b);
	start(&b, file, 1);
	finds(&b, GATE_SYSTEM, true, 0, "the packages of the airgap folder are for 'trixie', but 'n1' is 'bookworm'",
		"nanopod provision bundle … -d DIR --release bookworm");
	write_to(dir, "bundle", "stacks: base toy\nrelease: bookworm\narch: arm64\n");
	finds(&b, GATE_SYSTEM, true, 0, "the airgap folder is for arm64, but 'n1' is amd64",
		"make the bundle on a machine that is amd64");
	lay(&b, 0, "arch=aarch64");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "airgap: as uname says it");
	end(&b);
	ok(unlink(bundle) == 0 && rmdir(debs) == 0 && rmdir(dir) == 0, "(and gone)");
}

static void test_devices(void)
{
	alone("nouveau=yes", GATE_GPU, true,
		"the driver 'nouveau' holds the GPUs of 'n3', so NVIDIA's driver cannot use them",
		"echo 'blacklist nouveau' >/etc/modprobe.d/nouveau.conf; update-initramfs -u; reboot");
	alone("gpu_usable=7", GATE_GPU, true, "'n3' has 8 GPUs on PCI, but only 7 are usable",
		"dmesg | grep -e Xid -e NVRM -e amdgpu");
	alone("gpu_usable=0", GATE_GPU, false, "'n3' has 8 GPUs on PCI but no driver for them", "lspci -nnk");
	alone("gpu_count=7", GATE_GPU, false, "'n3' has 7 GPUs, others have 8", "lspci -d ::0302");
	alone("rdma_0=mlx5_0 1 DOWN 10 InfiniBand", GATE_RDMA, false, "port 1 of 'mlx5_0' on 'n3' is DOWN", "ibstat");
	well("rdma_count=0|gpu_count=0", "no RDMA where there are no GPUs");
	alone("rdma_count=0", GATE_RDMA, false, "'n3' has 0 RDMA ports, others have 1", "ibstat");
}

/* Secure Boot and headers only matter where a driver is still to come. */
static void test_driver(void)
{
	static const struct {
		const char *says, *text, *hint;
		enum gate gate;
	} rows[] = {
		{ "secure_boot=yes|gpu_usable=0",
			"Secure Boot is on at 'n3': its kernel will not load a driver that is built there",
			"mokutil --disable-validation", GATE_BOOT },
		{ "headers=no|gpu_usable=0", "'n3' lacks the headers of its kernel, 6.1.0-30, to build a driver",
			"apt-get install linux-headers-6.1.0-30", GATE_HEADERS },
		{ "headers=no|gpu_usable=0|kernel=6;x", "'n3' lacks the headers of its kernel, 6;x, to build a driver",
			"apt-get install linux-headers-$(uname -r)", GATE_HEADERS },
	};
	struct bench b;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		start(&b, "{toy: }", NODES);
		lay(&b, 2, rows[i].says);
		gate_look(b.c, b.facts, NULL, &b.found);
		if (ok(b.found.count == 2 && b.found.at[1].gate == rows[i].gate, "%s: after that of the GPUs",
			    gate_name(rows[i].gate))) {
			is_str(b.found.at[1].text, rows[i].text, "what it says");
			is_str(b.found.at[1].hint, rows[i].hint, "what to type");
			ok(b.found.at[1].stops, "it stops");
		}
		end(&b);
	}
	start(&b, "{toy: }", NODES);
	lay(&b, 2, "secure_boot=yes|headers=no");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "where the driver works they are nothing");
	end(&b);
}

static void test_other(void)
{
	struct bench b;
	char *name;

	start(&b, "{toy: }", NODES);
	lay(&b, 2, "other_slurm=/usr/sbin/slurmd|other_k3s=x|other_kubernetes=y");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "other: a Slurm or Kubernetes does not disturb what is neither");
	end(&b);
	for (int i = 0; i < 3; i++) {
		static const char
			*const stacks[] = { "slurm", "k3s", "k3s" },
			       *const says[] = { "other_slurm=/usr/sbin/slurmd", "other_k3s=/usr/local/bin/k3s",
				       "other_kubernetes=/usr/bin/kubelet" },
			       *const texts[] = { "'n3' has a Slurm that nanopod did not install: /usr/sbin/slurmd",
				       "'n3' has a K3s that nanopod did not install: /usr/local/bin/k3s",
				       "'n3' has a Kubernetes that nanopod did not install: /usr/bin/kubelet" },
			       *const hints[] = { "apt-get purge slurm-wlm slurmctld slurmd slurmdbd",
				       "k3s-uninstall.sh", "kubeadm reset" };

		start(&b, "{toy: }", NODES);
		name = b.c->uses[1].stack->name;
		b.c->uses[1].stack->name = strdup(stacks[i]);
		free(name);
		lay(&b, 2, says[i]);
		finds(&b, GATE_OTHER, true, 2, texts[i], hints[i]);
		end(&b);
	}
}

/* Who is not asked, and what is skipped. */
static void test_asked(void)
{
	static const char *const skipped[] = { "route", "version", NULL };
	struct bench b;

	start(&b, "{toy: {}, base: {airgap: /x}}", NODES);
	lay(&b, 2, "candidate_toyd=23.11.4");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "version: what a node's own sources have does not matter where packages are brought");
	end(&b);
	start(&b, "{toy: }", NODES);
	lay(&b, 2, "route=no");
	gate_look(b.c, b.facts, skipped, &b.found);
	ok(b.found.count == 1 && !b.found.at[0].stops, "a gate that is skipped is only said");
	end(&b);
	start(&b, "{base: }", NODES);
	lay(&b, 2, "route=no|cgroup=none|swap_mb=1|disk_free_mb=1|os_codename=trixie");
	finds(&b, GATE_SYSTEM, false, 2, "the release of 'n3' is trixie, that of others is bookworm", NULL);
	end(&b);
	start(&b, "{toy: }", NODES);
	b.facts[2].known = false;
	b.facts[2].why = strdup("cannot connect to 'n3': timed out");
	lay(&b, 1, "hostname=n3");
	finds(&b, GATE_REACH, true, 2, "cannot connect to 'n3': timed out", NULL);
	end(&b);
	start(&b, "{toy: }", NODES);
	b.c->uses[1].roles[2] = 0;
	lay(&b, 2, "route=no");
	gate_look(b.c, b.facts, NULL, &b.found);
	is_int(b.found.count, 0, "a node that has no role of the stack is not asked for it");
	end(&b);
}

int main(void)
{
	const char *top = getenv("abs_top_srcdir");

	plan_none;
	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	for (int g = 0; g < GATE_COUNT; g++)
		ok(gate_name((enum gate)g) && *gate_name((enum gate)g), "gate %d has a name", g);
	test_well();
	test_names();
	test_nfs(top ? top : ".");
	test_hosts();
	test_twins();
	test_name_of_other();
	test_clock();
	test_system();
	test_airgap();
	test_devices();
	test_driver();
	test_other();
	test_asked();
	return done();
}
