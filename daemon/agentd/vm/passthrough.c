/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/passthrough.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/devices.h"
#include "base/file.h"

/* Slots of the guest's first bus below this one are its disks and network. A slot holds eight root ports. */
enum { FIRST_SLOT = 8, PORTS = 8, LOCKED_MIB = 1024, MS_PER_GIB = 1000 };

#define NO_ROMS "noroms"
static const uint64_t gib = (uint64_t)1 << 30, usual_window = (uint64_t)32 << 30;

bool passthrough_any(const struct vmnode *v)
{
	return v->n->devices && v->n->devices->function_count;
}

/* ---- QEMU's command line -------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void passthrough_add(struct passthrough *p, const char *fmt, ...)
{
	va_list ap;

	if (p->count == PASSTHROUGH_WORDS)
		return; /* passthrough_words() tells */
	va_start(ap, fmt);
	vsnprintf(p->text[p->count++], PASSTHROUGH_TEXT, fmt, ap);
	va_end(ap);
}

/* Addresses beyond the memory for what the functions show: each port's part begins at a multiple of its largest. */
static void passthrough_add_window(const struct node_devices *d, struct passthrough *p)
{
	uint64_t sum = usual_window, largest = 0;

	for (size_t i = 0; i < d->function_count; i++) {
		sum += d->functions[i].space;
		largest = d->functions[i].space > largest ? d->functions[i].space : largest;
	}
	passthrough_add(p, "-global");
	passthrough_add(p, "q35-pcihost.pci-hole64-size=%lluG", (unsigned long long)((sum + largest + gib - 1) / gib));
}

static bool passthrough_same_slot(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && strncmp(a, b, strlen(a) - 1) == 0;
}

/* A port like a real one: drivers look at the link above their GPU. */
static void passthrough_add_port(size_t port, struct passthrough *p)
{
	passthrough_add(p, "-device");
	passthrough_add(p, "pcie-root-port,id=port%zu,bus=pcie.0,chassis=%zu,addr=%zx.%zu,hotplug=off%s", port,
		port + 1, FIRST_SLOT + port / PORTS, port % PORTS, port % PORTS ? "" : ",multifunction=on");
}

static void passthrough_add_function(const char *address, size_t port, bool more, struct passthrough *p)
{
	passthrough_add(p, "-device");
	passthrough_add(p, "vfio-pci,host=%s,bus=port%zu,addr=0.%c%s", address, port, address[strlen(address) - 1],
		more ? ",multifunction=on" : "");
}

int passthrough_words(const struct node_devices *d, struct passthrough *out, struct fail *f)
{
	size_t ports = 0;

	out->count = 0;
	if (!d || !d->function_count)
		return 0;
	passthrough_add_window(d, out);
	/* The firmware would run a card's program for a real processor's start, and may hang in it. */
	passthrough_add(out, "-fw_cfg");
	passthrough_add(out, "name=etc/pci-optionrom-exec,file=" NO_ROMS);
	for (size_t i = 0; i < d->function_count; i++) {
		const char *address = d->functions[i].address;
		bool first = !i || !passthrough_same_slot(d->functions[i - 1].address, address);
		bool more = first && i + 1 < d->function_count &&
			passthrough_same_slot(d->functions[i + 1].address, address);

		if (first && ports == PASSTHROUGH_SLOTS)
			return fail_set(f, -E2BIG, "a virtual machine has at most %d GPUs", PASSTHROUGH_SLOTS);
		if (first)
			passthrough_add_port(ports++, out);
		passthrough_add_function(address, ports - 1, more, out);
	}
	return out->count < PASSTHROUGH_WORDS
		? 0
		: fail_set(f, -E2BIG, "the GPUs have more functions than a virtual machine can have");
}

/* ---- Rights --------------------------------------------------------------------------------- */

static int passthrough_allow(const char *path, struct node_devices *d, struct fail *f)
{
	struct device_node n = { .type = 'c', .numbered = true, .access = DEVICE_READ | DEVICE_WRITE };
	struct stat st;
	int rc;

	if (stat(path, &st) != 0)
		return fail_errno(f, -errno, errno, "cannot use '%s'", path);
	snprintf(n.inside, sizeof n.inside, "%s", path);
	snprintf(n.outside, sizeof n.outside, "%s", path);
	n.major = major(st.st_rdev);
	n.minor = minor(st.st_rdev);
	rc = devices_add_node(d, &n);
	return rc ? fail_errno(f, rc, -rc, "cannot open '%s' to a guest", path) : 0;
}

static int passthrough_own(const char *path, uid_t uid, struct fail *f)
{
	return lchown(path, uid, uid) == 0 && chmod(path, 0600) == 0
		? 0
		: fail_errno(f, -errno, errno, "cannot give '%s' to its user", path);
}

static int passthrough_rights(const struct vmnode *v, struct node_devices *allowed, struct fail *f)
{
	const struct node_devices *d = v->n->devices;
	int rc = passthrough_allow("/dev/vfio/vfio", allowed, f);

	if (!rc && v->shape.kvm)
		rc = passthrough_allow("/dev/kvm", allowed, f);
	for (size_t i = 0; !rc && i < d->function_count; i++) {
		char path[64];

		snprintf(path, sizeof path, "/dev/vfio/%d", d->functions[i].group);
		rc = passthrough_allow(path, allowed, f);
		rc = rc ? rc : passthrough_own(path, v->uid, f);
	}
	return rc;
}

static int passthrough_lock(const struct vmnode *v, struct fail *f)
{
	struct rlimit now, want = { 0 };

	want.rlim_cur = want.rlim_max = ((rlim_t)v->shape.mib + LOCKED_MIB) << 20;
	if (getrlimit(RLIMIT_MEMLOCK, &now) == 0 && now.rlim_cur >= want.rlim_cur)
		return 0;
	return setrlimit(RLIMIT_MEMLOCK, &want) == 0
		? 0
		: fail_errno(f, -errno, errno, "cannot let QEMU lock %u MiB of memory for its GPUs",
			  v->shape.mib + LOCKED_MIB);
}

int passthrough_open(const struct vmnode *v, struct fail *f)
{
	struct node_devices allowed = { 0 };
	struct node_spec group = v->group;
	char path[VMIMAGE_ROOM];
	int rc;

	if (!passthrough_any(v))
		return 0;
	rc = file_replace(vmimage_at(path, v->dir, NO_ROMS), "\0\0\0\0\0\0\0", 8, 0644);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", path);
	rc = passthrough_rights(v, &allowed, f);
	rc = rc ? rc : passthrough_lock(v, f);
	group.devices = &allowed;
	/* Without such control groups QEMU still has no more than its user's rights. */
	if (!rc && v->hub && (rc = cgroup_guard(&group, f)) == -ENOTSUP)
		rc = 0;
	devices_release(&allowed);
	return rc;
}

int64_t passthrough_ms(const struct vmnode *v)
{
	return passthrough_any(v) ? (int64_t)v->shape.mib * MS_PER_GIB / 1024 : 0;
}
