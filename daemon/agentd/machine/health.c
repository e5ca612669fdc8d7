/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/health.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agentd/machine/inventory.h"
#include "base/str.h"

enum {
	CLOCK_DEGRADED = 5,
	CLOCK_DRAINING = 60,
	HOT = 90 * 1000,
	TOO_HOT = 100 * 1000,
	KMSG_LINES = 100 * 1000,
	LINE = 8192
};

const char *health_word(enum health h)
{
	static const char *const words[] = {
#define HEALTH_X(name, word) word,
		HEALTHS(HEALTH_X)
#undef HEALTH_X
	};

	return words[h];
}

/* When the list is full, a worse finding replaces a milder one. */
static __attribute__((format(printf, 5, 6))) void health_found(struct health_report *r, enum health h,
	const char *check, const char *action, const char *fmt, ...)
{
	struct health_finding *f = &r->list[r->count < HEALTH_FINDINGS ? r->count : HEALTH_FINDINGS - 1];
	va_list ap;

	if (h > r->health)
		r->health = h;
	if (r->count < HEALTH_FINDINGS)
		r->count++;
	else if (f->health >= h)
		return;
	f->health = h;
	f->check = check;
	snprintf(f->action, sizeof f->action, "%s", action);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
}

/* ---- Disk and clock ----------------------------------------------------------------------------- */

static void health_check_disk(const struct health_setup *s, struct health_report *r)
{
	struct statvfs v;
	uint64_t bytes, percent, files;
	enum health h;

	if (!s->data)
		return;
	if (statvfs(s->data, &v) != 0) {
		health_found(r, HEALTH_UNHEALTHY, "disk", "mount the file system that '--data' is on",
			"cannot inspect the folder '%s': %s", s->data, strerror(errno));
		return;
	}
	bytes = (uint64_t)v.f_bavail * v.f_frsize;
	percent = v.f_blocks ? (uint64_t)v.f_bavail * 100 / v.f_blocks : 100;
	files = v.f_files ? (uint64_t)v.f_favail * 100 / v.f_files : 100;
	h = bytes < (256 << 20) || percent < 1 || files < 1       ? HEALTH_UNHEALTHY
		: bytes < (2LL << 30) || percent < 5 || files < 5 ? HEALTH_DRAINING
		: percent < 10                                    ? HEALTH_DEGRADED
								  : HEALTH_OK;
	if (h)
		health_found(r, h, "disk",
			"free disk space: 'nanopod host image list' shows images that could go",
			"only %" PRIu64 " MiB (%" PRIu64 " %%) are free on the disk of '%s'", bytes >> 20, percent,
			s->data);
}

static void health_check_clock(const struct health_setup *s, struct health_report *r)
{
	int64_t off;

	if (!s->clock_known)
		return;
	off = s->local_now - s->market_now;
	if (llabs(off) > CLOCK_DEGRADED)
		health_found(r, llabs(off) > CLOCK_DRAINING ? HEALTH_DRAINING : HEALTH_DEGRADED, "clock",
			"timedatectl set-ntp true", "the clock is %lld s %s the market's", (long long)llabs(off),
			off > 0 ? "ahead of" : "behind");
}

/* ---- What NVIDIA's driver said in the kernel's log ------------------------------------------------ */

/* Errors that are the program's own fault (13, 31, 43, 45, 94 …) are left out. A reboot empties the log. */
static const struct {
	int number;
	enum health health;
	const char *what, *action;
} xids[] = {
	{ 48, HEALTH_DRAINING, "a memory error that could not be corrected", "restart the machine" },
	{ 62, HEALTH_DRAINING, "the GPU's own processor stopped", "restart the machine" },
	{ 63, HEALTH_DEGRADED, "a row of memory is being replaced", "restart the machine when nothing runs on it" },
	{ 64, HEALTH_DRAINING, "a row of memory could not be replaced",
		"restart the machine; if it comes back, have the card checked" },
	{ 74, HEALTH_DRAINING, "NVLink failed", "restart the machine; if it comes back, have the link checked" },
	{ 79, HEALTH_UNHEALTHY, "the GPU fell off the bus",
		"restart the machine; if it comes back, have the card checked" },
	{ 92, HEALTH_DEGRADED, "many memory errors were corrected", "have the card checked" },
	{ 95, HEALTH_UNHEALTHY, "a memory error spread", "restart the machine" },
	{ 109, HEALTH_DRAINING, "the GPU failed to switch between programs", "restart the machine" },
	{ 119, HEALTH_UNHEALTHY, "the GPU's own processor does not answer", "restart the machine" },
	{ 120, HEALTH_UNHEALTHY, "the GPU's own processor failed", "restart the machine" },
	{ 140, HEALTH_DRAINING, "memory errors that were not corrected", "restart the machine" },
	{ 144, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 145, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 149, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
};

/* Searches for "…NVRM: Xid (PCI:0000:19:00): 79, pid=…"; reports each kind once. */
static void health_take_message(const char *line, uint64_t *seen, struct health_report *r)
{
	const char *at = strstr(line, "NVRM: Xid (PCI:"), *close;
	char address[24], number[8];
	size_t len;
	long n;

	if (!at || !(close = strchr(at, ')')) || close[1] != ':')
		return;
	at += strlen("NVRM: Xid (PCI:");
	snprintf(address, sizeof address, "%.*s", (int)(close - at < 20 ? close - at : 20), at);
	close += 2;
	close += strspn(close, " ");
	len = strspn(close, "0123456789");
	snprintf(number, sizeof number, "%.*s", (int)(len < 7 ? len : 7), close);
	if (str_to_long(number, 1, 9999, &n))
		return;
	for (size_t i = 0; i < sizeof xids / sizeof *xids; i++)
		if (xids[i].number == n && !(*seen & 1ULL << i)) {
			*seen |= 1ULL << i;
			health_found(r, xids[i].health, "xid", xids[i].action, "Xid %ld of the GPU '%s': %s", n,
				address, xids[i].what);
		}
}

/* /dev/kmsg gives one message a read, and -EPIPE where some were lost meanwhile. */
static void health_check_kmsg(const struct health_setup *s, struct health_report *r)
{
	bool here = !s->root || !*s->root || strcmp(s->root, "/") == 0;
	const char *path = s->kmsg ? s->kmsg : here ? "/dev/kmsg" : "";
	int fd = *path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	static const size_t most = LINE;
	char *text = fd < 0 ? NULL : malloc(most + 1), *line, *end;
	uint64_t seen = 0;
	size_t len = 0;

	for (int i = 0; text && i < KMSG_LINES; i++) {
		ssize_t n = read(fd, text + len, most - len);

		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			health_take_message(line, &seen, r);
		}
		len -= (size_t)(line - text);
		memmove(text, line, len);
		if (len > most / 2) /* no such message is that long */
			len = 0;
	}
	free(text);
	if (fd >= 0)
		close(fd);
}

/* ---- GPUs ------------------------------------------------------------------------------------------- */

static void health_check_nvml(const struct inventory *v, struct health_report *r)
{
	const char *why = v->note_count ? v->notes[v->note_count - 1] : "";

	if (v->nvml == -ETIMEDOUT)
		health_found(r, HEALTH_UNHEALTHY, "nvml",
			"restart the machine; if it comes back, have the cards checked",
			"NVIDIA's library does not answer: a GPU may be dying");
	else if (v->nvml == -ENOENT || v->nvml == -ENOSYS)
		health_found(r, HEALTH_DEGRADED, "nvml", "apt-get install libnvidia-ml1 (the driver's version)", "%s",
			why);
	else if (v->nvml < 0)
		health_found(r, HEALTH_DRAINING, "nvml", "nvidia-smi; if it fails too, restart the machine", "%s",
			why);
	if (v->nvml_lost)
		health_found(r, HEALTH_UNHEALTHY, "nvml",
			"restart the machine; if it comes back, have the cards checked",
			"NVIDIA's library cannot reach %zu of its GPUs", v->nvml_lost);
}

static void health_check_gpu(const struct gpu *g, struct health_report *r)
{
	int could = g->pci.width_slot && g->pci.width_slot < g->pci.width_max ? g->pci.width_slot : g->pci.width_max;

	if (g->integrated || g->asleep)
		return;
	if (!*g->pci.driver || strcmp(g->pci.driver, "nouveau") == 0)
		health_found(r, HEALTH_DEGRADED, "gpu",
			g->pci.vendor == GPU_NVIDIA ? "install NVIDIA's driver: apt-get install nvidia-driver"
						    : "install the firmware that its driver needs: apt-get install "
						      "firmware-misc-nonfree firmware-amd-graphics",
			"the GPU '%s' (%s) has no driver for computing", g->pci.address, g->market);
	if (g->pci.width > 0 && g->pci.width < could)
		health_found(r, HEALTH_DEGRADED, "link", "power off, and reseat the card and its riser",
			"the GPU '%s' (%s) uses only %d of %d PCIe lanes", g->pci.address, g->market, g->pci.width,
			could);
	if (g->temperature != GPU_UNKNOWN && g->temperature >= HOT)
		health_found(r, g->temperature >= TOO_HOT ? HEALTH_DRAINING : HEALTH_DEGRADED, "temperature",
			"check fans, dust and air flow", "the GPU '%s' (%s) is at %" PRId64 " degrees", g->pci.address,
			g->market, g->temperature / 1000);
	if (g->uncorrected > 0)
		health_found(r, HEALTH_DEGRADED, "ecc", "restart the machine when nothing runs on it",
			"the GPU '%s' (%s) had %" PRId64 " memory errors that could not be corrected", g->pci.address,
			g->market, g->uncorrected);
}

static void health_check_gpus(const struct health_setup *s, struct health_report *r)
{
	struct inventory *v;

	if (inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = s->nvml, .deadline_ms = s->deadline_ms },
		    &v))
		return;
	health_check_nvml(v, r);
	for (size_t i = 0; i < v->gpu_count; i++)
		health_check_gpu(&v->gpus[i], r);
	free(v);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

void health_check(const struct health_setup *s, struct health_report *out)
{
	memset(out, 0, sizeof *out);
	health_check_disk(s, out);
	health_check_clock(s, out);
	health_check_kmsg(s, out);
	health_check_gpus(s, out);
}

void health_message(const struct health_report *r, char *room, size_t size)
{
	const struct health_finding *worst = NULL;

	room[0] = '\0';
	for (size_t i = 0; i < r->count; i++)
		if (!worst || r->list[i].health > worst->health)
			worst = &r->list[i];
	if (worst)
		snprintf(room, size, "%s%s%s", worst->text, *worst->action ? "; " : "", worst->action);
}

int health_json(const struct health_report *r, struct buf *out)
{
	json_t *root = json_object(), *list = json_array();
	char message[2 * HEALTH_TEXT + 8], *text;
	int rc;

	health_message(r, message, sizeof message);
	json_object_set_new(root, "health", json_string(health_word(r->health)));
	if (*message)
		json_object_set_new(root, "message", json_string(message));
	for (size_t i = 0; i < r->count; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "health", json_string(health_word(r->list[i].health)));
		json_object_set_new(o, "check", json_string(r->list[i].check));
		json_object_set_new(o, "text", json_string(r->list[i].text));
		json_object_set_new(o, "action", json_string(r->list[i].action));
		json_array_append_new(list, o);
	}
	json_object_set_new(root, "findings", list);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	rc = text ? buf_adds(out, text) : -ENOMEM;
	free(text);
	return rc;
}
