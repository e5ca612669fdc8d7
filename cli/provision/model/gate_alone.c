/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is wrong with a node by itself. */
#include "cli/provision/model/gate_part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* A stack asks nothing of members without a role in it. */
static const char *setting_of(const struct use *u, size_t member, const char *key)
{
	return u->roles[member] ? pairs_get(&u->settings, key) : NULL;
}

/*
 * Other nodes get the name into /etc/hosts. With dots it is in somebody's domain, so its first label must be the
 * member's own.
 */
static bool is_own(const char *host, const char *name)
{
	size_t label = strcspn(name, ".");

	return !strchr(host, '.') || strcasecmp(host, name) == 0 ||
		(!name[label] && strncasecmp(host, name, label) == 0 && host[label] == '.');
}

/* The member with this name; gate_same.c finds two nodes with one host name. */
static const char *gate_alone_whose(const struct gate_look *l, size_t m, const char *host)
{
	for (size_t i = 0; i < l->c->count; i++)
		if (i != m && strcasecmp(l->c->members[i], host) == 0 &&
			strcasecmp(facts_get(&l->all[i], "hostname"), host) != 0)
			return l->c->members[i];
	return NULL;
}

static void look_name(struct gate_look *l, size_t m)
{
	const char *host = facts_get(&l->all[m], "hostname"), *name = l->c->members[m];
	const char *other = gate_alone_whose(l, m, host);
	char hint[128];

	snprintf(hint, sizeof hint, "hostnamectl set-hostname %.*s", (int)strcspn(name, ".:"),
		facts_hostname(name) ? name : "NAME");
	if (!*host)
		gate_say(l, GATE_NAME, true, m, hint, "'%s' has no host name", name);
	else if (!facts_hostname(host))
		gate_say(l, GATE_NAME, true, m, hint, "the host name of '%s' is '%.64s', which is not valid", name,
			host);
	else if (strcmp(host, "localhost") == 0 || str_starts(host, "localhost."))
		gate_say(l, GATE_NAME, true, m, hint, "the host name of '%s' is '%.64s', which every machine has", name,
			host);
	else if (!is_own(host, name))
		gate_say(l, GATE_NAME, true, m, hint,
			"the host name of '%s' is '%.253s', which belongs to another machine", name, host);
	else if (strcasecmp(host, name) != 0 && other)
		gate_say(l, GATE_NAME, true, m, hint, "the host name of '%s' is '%.64s', the name of another node",
			name, other);
}

static void look_machine(struct gate_look *l, size_t m)
{
	if (!*facts_get(&l->all[m], "machine_id"))
		gate_say(l, GATE_MACHINE, strcmp(facts_get(&l->all[m], "init"), "systemd") == 0, m,
			"systemd-machine-id-setup", "'%s' has no machine-id", l->c->members[m]);
}

static void look_address(struct gate_look *l, size_t m)
{
	const char *address = facts_get(&l->all[m], "address"), *name = l->c->members[m];

	if (!*address)
		gate_say(l, GATE_ADDRESS, true, m, "ip -br address",
			"'%s' has no address at which other nodes can reach it", name);
	else if (!facts_address(address))
		gate_say(l, GATE_ADDRESS, true, m, "ip -br address",
			"the address of '%s' is '%.64s', which is not valid", name, address);
	else if (l->c->count > 1 && (str_starts(address, "127.") || strcmp(address, "::1") == 0))
		gate_say(l, GATE_ADDRESS, true, m, "ip -br address",
			"the address of '%s' is %s, which no other node can reach", name, address);
}

static void look_root(struct gate_look *l, size_t m)
{
	if (strcmp(facts_get(&l->all[m], "root"), "none") == 0)
		gate_say(l, GATE_ROOT, true, m, "nanopod provision --user root …",
			"the user on '%s' is neither root nor may use sudo", l->c->members[m]);
}

/* dpkg's word for uname's architecture; NULL if unknown, which is not compared. */
static const char *debian_arch(const char *machine)
{
	static const char *const rows[][2] = {
		{ "x86_64", "amd64" },
		{ "aarch64", "arm64" },
		{ "ppc64le", "ppc64el" },
		{ "riscv64", "riscv64" },
		{ "s390x", "s390x" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i][0], machine) == 0)
			return rows[i][1];
	return NULL;
}

/* The step that uploads the folder checks this too, but only after the whole upload. */
static void look_airgap(struct gate_look *l, size_t m)
{
	const char *own = facts_get(&l->all[m], "os_codename"), *arch = debian_arch(facts_get(&l->all[m], "arch")),
		   *name = l->c->members[m];
	char hint[160];

	if (*l->arch && arch && strcmp(l->arch, arch) != 0) {
		snprintf(hint, sizeof hint, "make the bundle on a machine that is %s", arch);
		gate_say(l, GATE_SYSTEM, true, m, hint, "the airgap folder is for %s, but '%s' is %s", l->arch, name,
			arch);
	}
	if (*l->release && *own && strcmp(l->release, own) != 0) {
		snprintf(hint, sizeof hint, "nanopod provision bundle … -d DIR --release %.60s", own);
		gate_say(l, GATE_SYSTEM, true, m, hint,
			"the packages of the airgap folder are for '%s', but '%s' is '%.60s'", l->release, name, own);
	}
}

static void look_system(struct gate_look *l, size_t m)
{
	const char *id = facts_get(&l->all[m], "os_id"), *version = facts_get(&l->all[m], "os_version"),
		   *name = l->c->members[m];

	if (!*id)
		gate_say(l, GATE_SYSTEM, true, m, "", "'%s' has no /etc/os-release, so its operating system is unknown",
			name);
	else if (strcmp(id, "debian") != 0 && strcmp(id, "ubuntu") != 0)
		gate_say(l, GATE_SYSTEM, true, m, "", "'%s' runs %.32s%s%.32s, not Debian or Ubuntu", name, id,
			*version ? " " : "", version);
	else
		look_airgap(l, m);
}

static void look_disk(struct gate_look *l, size_t m)
{
	long free_mb = facts_number(&l->all[m], "disk_free_mb", -1), most = 0;
	const char *stack = "";

	for (size_t i = 0; i < l->c->use_count; i++) {
		const struct use *u = &l->c->uses[i];
		const char *said = u->roles[m] ? pairs_or(&u->settings, "disk-mb", "1024") : "";
		long need;

		if (*said && !str_to_long(said, 0, LONG_MAX, &need) && need > most) {
			most = need;
			stack = u->stack->name;
		}
	}
	if (free_mb >= 0 && free_mb < most)
		gate_say(l, GATE_DISK, true, m, "df -h / /var /usr/local",
			"'%s' has %ld MB of free disk space, '%s' needs %ld MB", l->c->members[m], free_mb, stack,
			most);
}

/* Steps wait for dpkg's lock and finish an interrupted installation, so both are only warnings. */
static void look_dpkg(struct gate_look *l, size_t m)
{
	const char *state = facts_get(&l->all[m], "dpkg"), *holder = facts_get(&l->all[m], "dpkg_holder"),
		   *name = l->c->members[m];
	size_t digits = strspn(holder, "0123456789");
	char hint[64] = "";

	if (strcmp(state, "broken") == 0)
		gate_say(l, GATE_DPKG, false, m, "dpkg --configure -a",
			"a package installation was interrupted on '%s': nanopod will finish it first", name);
	if (strcmp(state, "held") != 0)
		return;
	if (digits && digits < 20)
		snprintf(hint, sizeof hint, "ps -fp %.*s", (int)digits, holder);
	if (*hint && holder[digits] == ' ' && holder[digits + 1])
		gate_say(l, GATE_DPKG, false, m, hint,
			"'%.32s' (process %.*s) is installing packages on '%s': nanopod will wait for it",
			holder + digits + 1, (int)digits, holder, name);
	else
		gate_say(l, GATE_DPKG, false, m, hint,
			"somebody is installing packages on '%s': nanopod will wait for them", name);
}

static void look_route(struct gate_look *l, size_t m)
{
	if (strcmp(facts_get(&l->all[m], "route"), "no") == 0)
		gate_say(l, GATE_ROUTE, true, m, "ip route add default via GATEWAY", "'%s' has no default route",
			l->c->members[m]);
}

static void gate_alone_look_names(struct gate_look *l, size_t m)
{
	const char *host = facts_get(&l->all[m], "hostname");
	char hint[128];

	if (strcmp(facts_get(&l->all[m], "resolves"), "no") != 0 || !facts_hostname(host))
		return;
	/* Only a warning: the base stack will fix it. */
	for (size_t i = 0; i < l->c->use_count; i++)
		if (strcmp(l->c->uses[i].stack->name, "base") == 0 &&
			strcmp(pairs_or(&l->c->uses[i].settings, "hosts", "no"), "yes") == 0)
			return;
	snprintf(hint, sizeof hint, "echo '127.0.1.1 %.64s' >>/etc/hosts", host);
	gate_say(l, GATE_NAMES, true, m, hint, "'%s' cannot resolve its own name, '%.64s'", l->c->members[m], host);
}

static void look_cgroup(struct gate_look *l, size_t m)
{
	const char *kind = facts_get(&l->all[m], "cgroup");

	if (strcmp(kind, "none") == 0)
		gate_say(l, GATE_CGROUP, true, m, "mount -t cgroup2 none /sys/fs/cgroup",
			"'%s' has neither cgroup v1 nor v2", l->c->members[m]);
	else if (strcmp(facts_get(&l->all[m], "cgroup_write"), "no") == 0 &&
		strcmp(facts_get(&l->all[m], "root"), "sudo-password") != 0)
		gate_say(l, GATE_CGROUP, true, m, "mount -o remount,rw /sys/fs/cgroup",
			"cannot create a group in the cgroups (%.16s) of '%s'", kind, l->c->members[m]);
}

/* ---- Devices --------------------------------------------------------------------------- */

static long gate_alone_gpus(const struct facts *f)
{
	return facts_number(f, "gpu_count", 0);
}

static bool all_usable(const struct facts *f)
{
	return facts_number(f, "gpu_usable", 0) >= gate_alone_gpus(f);
}

static void look_gpu(struct gate_look *l, size_t m)
{
	const struct facts *f = &l->all[m];
	long count = gate_alone_gpus(f), usable = facts_number(f, "gpu_usable", 0);
	const char *name = l->c->members[m];

	if (count <= 0)
		return;
	if (strcmp(facts_get(f, "nouveau"), "yes") == 0)
		gate_say(l, GATE_GPU, true, m,
			"echo 'blacklist nouveau' >/etc/modprobe.d/nouveau.conf; update-initramfs -u; reboot",
			"the driver 'nouveau' holds the GPUs of '%s', so NVIDIA's driver cannot use them", name);
	else if (usable <= 0)
		gate_say(l, GATE_GPU, false, m, "lspci -nnk", "'%s' has %ld GPU%s on PCI but no driver for %s", name,
			count, count == 1 ? "" : "s", count == 1 ? "it" : "them");
	else if (usable < count)
		gate_say(l, GATE_GPU, true, m, "dmesg | grep -e Xid -e NVRM -e amdgpu",
			"'%s' has %ld GPUs on PCI, but only %ld are usable", name, count, usable);
}

static void look_boot(struct gate_look *l, size_t m)
{
	if (strcmp(facts_get(&l->all[m], "secure_boot"), "yes") == 0 && gate_alone_gpus(&l->all[m]) > 0 &&
		!all_usable(&l->all[m]))
		gate_say(l, GATE_BOOT, true, m, "mokutil --disable-validation",
			"Secure Boot is on at '%s': its kernel will not load a driver that is built there",
			l->c->members[m]);
}

static void look_headers(struct gate_look *l, size_t m)
{
	const char *kernel = facts_get(&l->all[m], "kernel");
	bool plain = !kernel[strspn(kernel, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_-")];
	char hint[160];

	if (strcmp(facts_get(&l->all[m], "headers"), "no") != 0 || gate_alone_gpus(&l->all[m]) <= 0 ||
		all_usable(&l->all[m]))
		return;
	snprintf(hint, sizeof hint, "apt-get install linux-headers-%.100s", plain && *kernel ? kernel : "$(uname -r)");
	gate_say(l, GATE_HEADERS, true, m, hint, "'%s' lacks the headers of its kernel, %.64s, to build a driver",
		l->c->members[m], kernel);
}

/* "mlx5_0 1 ACTIVE 400 InfiniBand" */
static void look_rdma(struct gate_look *l, size_t m)
{
	long count = facts_number(&l->all[m], "rdma_count", 0);

	for (long i = 0; i < count && i < 64; i++) {
		char key[32], device[64] = "", port[16] = "", state[32] = "";

		snprintf(key, sizeof key, "rdma_%ld", i);
		if (sscanf(facts_get(&l->all[m], key), "%63s %15s %31s", device, port, state) == 3 &&
			strcmp(state, "ACTIVE") != 0)
			gate_say(l, GATE_RDMA, false, m, "ibstat", "port %s of '%s' on '%s' is %s", port, device,
				l->c->members[m], state);
	}
}

/* ---- Others ---------------------------------------------------------------------------- */

static bool gate_alone_has_stack(const struct gate_look *l, size_t m, const char *stack)
{
	for (size_t i = 0; i < l->c->use_count; i++)
		if (strcmp(l->c->uses[i].stack->name, stack) == 0 && l->c->uses[i].roles[m])
			return true;
	return false;
}

/* Only the software that a stack installs counts: a foreign Slurm does not disturb K3s. */
static void look_other(struct gate_look *l, size_t m)
{
	static const struct {
		const char *key, *stack, *what, *hint;
	} rows[] = {
		{ "other_slurm", "slurm", "Slurm", "apt-get purge slurm-wlm slurmctld slurmd slurmdbd" },
		{ "other_k3s", "k3s", "K3s", "k3s-uninstall.sh" },
		{ "other_kubernetes", "k3s", "Kubernetes", "kubeadm reset" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *said = facts_get(&l->all[m], rows[i].key);

		if (*said && gate_alone_has_stack(l, m, rows[i].stack))
			gate_say(l, GATE_OTHER, true, m, rows[i].hint,
				"'%s' has a %s that nanopod did not install: %.64s", l->c->members[m], rows[i].what,
				said);
	}
}

/* Provisioning would undo or change what the other cluster needs there. */
static void look_cluster(struct gate_look *l, size_t m)
{
	const char *other = facts_get(&l->all[m], "cluster");
	char hint[320];

	if (!*other)
		return;
	snprintf(hint, sizeof hint,
		"'nanopod provision drop %.40s -w %.60s' takes it out of that cluster; '--name %.40s' works on that "
		"cluster",
		other, l->c->members[m], other);
	gate_say(l, GATE_CLUSTER, true, m, hint, "'%s' is already in the cluster '%.64s'", l->c->members[m], other);
}

static void look_swap(struct gate_look *l, size_t m)
{
	long swap = facts_number(&l->all[m], "swap_mb", 0);

	if (swap > 0)
		gate_say(l, GATE_SWAP, false, m, "swapoff -a",
			"'%s' has %ld MB of swap, which Kubernetes does not account for", l->c->members[m], swap);
}

/* A machine with 1024 MB shows less, because its kernel reserves some. */
static void look_memory(struct gate_look *l, size_t m)
{
	long memory = facts_number(&l->all[m], "memory_mb", -1);

	for (size_t i = 0; i < l->c->use_count && memory >= 0; i++) {
		const char *said = setting_of(&l->c->uses[i], m, "memory-mb");
		long need;

		if (!said || str_to_long(said, 0, LONG_MAX / 100, &need) || memory >= need - need / 12)
			continue;
		gate_say(l, GATE_MEMORY, true, m, "free -m", "'%s' has %ld MB of memory, '%s' needs %ld MB",
			l->c->members[m], memory, l->c->uses[i].stack->name, need);
		return;
	}
}

/* A node without a role in the stack needs neither; the server serves its own folder and mounts nothing. */
static void look_nfs(struct gate_look *l, size_t m)
{
	for (size_t i = 0; i < l->c->use_count; i++) {
		const struct use *u = &l->c->uses[i];
		const char *kind = setting_of(u, m, "kind");
		bool server = cluster_has_role(u, m, "server");

		if (!kind || strcmp(kind, "nfs") != 0 || strcmp(u->stack->name, "storage") != 0 ||
			strcmp(facts_get(&l->all[m], server ? "nfs_server" : "nfs_client"), "no") != 0)
			continue;
		gate_say(l, GATE_NFS, true, m,
			server ? "'--role storage.server=NODE' names another server, e.g. one that is no container"
			       : "use nodes with a kernel of their own, which containers lack",
			"the kernel of '%s' cannot %s NFS (it has no module '%s'), which '%s' needs", l->c->members[m],
			server ? "serve" : "mount", server ? "nfsd" : "nfs", u->stack->name);
	}
}

static void look_fuse(struct gate_look *l, size_t m)
{
	for (size_t i = 0; i < l->c->use_count; i++) {
		const struct use *u = &l->c->uses[i];
		const char *kind = setting_of(u, m, "kind");

		if (!kind || strcmp(kind, "s3") != 0 || strcmp(u->stack->name, "storage") != 0 ||
			strcmp(facts_get(&l->all[m], "fuse"), "no") != 0)
			continue;
		gate_say(l, GATE_FUSE, true, m,
			"use nodes with a kernel of their own, which containers lack ('modprobe fuse' makes the device "
			"there), or "
			"another kind of storage",
			"'%s' cannot mount a bucket, as '%s' would: a program cannot be a file system there "
			"(no /dev/fuse that it may open)",
			l->c->members[m], u->stack->name);
	}
}

void gate_alone(struct gate_look *l)
{
	static void (*const looks[GATE_COUNT])(struct gate_look *, size_t) = {
		[GATE_NAME] = look_name,
		[GATE_MACHINE] = look_machine,
		[GATE_ADDRESS] = look_address,
		[GATE_ROOT] = look_root,
		[GATE_SYSTEM] = look_system,
		[GATE_DISK] = look_disk,
		[GATE_DPKG] = look_dpkg,
		[GATE_ROUTE] = look_route,
		[GATE_NAMES] = gate_alone_look_names,
		[GATE_CGROUP] = look_cgroup,
		[GATE_GPU] = look_gpu,
		[GATE_BOOT] = look_boot,
		[GATE_HEADERS] = look_headers,
		[GATE_RDMA] = look_rdma,
		[GATE_OTHER] = look_other,
		[GATE_SWAP] = look_swap,
		[GATE_MEMORY] = look_memory,
		[GATE_CLUSTER] = look_cluster,
		[GATE_NFS] = look_nfs,
		[GATE_FUSE] = look_fuse,
	};

	for (size_t m = 0; m < l->c->count; m++) {
		const char *name = l->c->members[m];

		if (!l->all[m].known && gate_wants(l, GATE_REACH, m))
			gate_say(l, GATE_REACH, true, m, "", "%s%s%s%s", l->all[m].why ? l->all[m].why : "",
				l->all[m].why ? "" : "'", l->all[m].why ? "" : name,
				l->all[m].why ? "" : "' was not reached");
		for (size_t g = 0; g < GATE_COUNT; g++)
			if (looks[g] && gate_wants(l, (enum gate)g, m))
				looks[g](l, m);
	}
}
