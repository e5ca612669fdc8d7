/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/reporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "agentd/device/host_gpus.h"
#include "agentd/device/hosthealth.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"
#include "market/client.h"

enum { TAG_REPORT = 1, TAG_INVENTORY, TAG_STATUS, TAG_SAMPLES, TAG_CONSOLE, TAG_VOLUME };
enum { HOSTS_MOST = 1024 }; /* in one status */
enum { STATUS_MS = 30000, LOOK_MS = 500, SAVE_BYTES = 256 * 1024 + 4096, PUB_MAX = 16 * 1024, STATUS_WORDS = 250 };

/* Takes over the reference. */
static void reporter_send_json(struct reporter *p, uint64_t tag, const char *method, const char *path, json_t *j)
{
	char *body = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	if (body)
		link_send(p->link, tag, method, path, body);
	else
		log_at(p->log, LOG_ERROR, "out of memory for a report to the market");
}

static void reporter_send_about(struct reporter *p, uint64_t tag, const struct node *n, const char *what, json_t *j)
{
	char path[128];

	snprintf(path, sizeof path, "/np/v1/instances/%s/%s", n->id, what);
	memcpy(p->id, n->id, sizeof p->id);
	p->life = n->life;
	reporter_send_json(p, tag, "POST", path, j);
}

/* Programs of others may have written any bytes: shows those that are not UTF-8 as '?'. At most max bytes. */
static json_t *reporter_words(const char *text, size_t max)
{
	char room[NODE_MESSAGE];
	json_t *j;

	snprintf(room, sizeof room, "%.*s", (int)max, text);
	j = json_string(room);
	for (char *p = room; !j && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return j ? j : json_string(room);
}

/* ---- Nodes that came up, or failed --------------------------------------------------------- */

/* "TYPE BASE64 …" lines of hostkey.pub. */
static json_t *reporter_host_keys(const char *path)
{
	json_t *list = json_array();
	struct buf text;
	char *save = NULL;

	buf_init(&text, PUB_MAX);
	if (buf_read_file(&text, path) == 0)
		for (char *line = text.data ? strtok_r(text.data, "\n", &save) : NULL; line;
			line = strtok_r(NULL, "\n", &save)) {
			char type[64], key[4096];

			if (sscanf(line, "%63s %4095s", type, key) == 2)
				json_array_append_new(list, json_pack("{s:s, s:s}", "type", type, "key", key));
		}
	buf_release(&text);
	return list;
}

static void reporter_read_user(const char *path, char *room, size_t size)
{
	struct buf text;

	buf_init(&text, 256);
	if (buf_read_file(&text, path) != 0 || !text.len)
		buf_adds(&text, "root");
	snprintf(room, size, "%.*s", (int)strcspn(buf_text(&text), "\r\n"), buf_text(&text));
	buf_release(&text);
}

/*
 * The buyer's doing: it ran and was broken from within, the buyer's script broke it, or what he gave for it is invalid.
 * The host must not pay.
 */
static bool reporter_own_fault(const struct node *n)
{
	if (n->cause == CAUSE_BAD_WISH)
		return true;
	if (n->cause == CAUSE_KEEPS_STOPPING)
		return n->script || n->market_running;
	return n->cause == CAUSE_SSH_SILENT && n->market_running;
}

/* The GPUs that were handed over with the node. A driver that hands over the machine hands over all of its GPUs. */
static json_t *reporter_gpus(const struct reporter *p, const struct node *n)
{
	const struct driver *d = drivers_find(p->workers->all, n->driver);
	json_t *machine = d && d->devices == DEVICES_MACHINE && p->check->inventory
		? json_loads(p->check->inventory, 0, NULL)
		: NULL;
	json_t *list, *gpu;
	size_t i;

	if (!machine)
		return host_gpus_report(p->workers->setup->data, n->id);
	list = json_incref(json_object_get(json_object_get(machine, "capacity"), "gpus"));
	json_array_foreach(list, i, gpu) json_object_del(gpu, "vendor");
	json_decref(machine);
	return list;
}

static void reporter_report(struct reporter *p, const struct node *n)
{
	char path[STATEFILE_PATH], dir[STATEFILE_PATH], user[64];
	json_t *j, *gpus;

	if (n->life == LIFE_FAILED) {
		reporter_send_about(p, TAG_REPORT, n, "report",
			json_pack("{s:s, s:s, s:o}", "status", "failed", "fault",
				reporter_own_fault(n) ? "node" : "host", "message",
				reporter_words(n->message, NODE_MESSAGE)));
		return;
	}
	workers_path(p->workers, n->id, "user", path, sizeof path);
	reporter_read_user(path, user, sizeof user);
	workers_path(p->workers, n->id, "hostkey.pub", path, sizeof path);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
	j = json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "status", "running", "hostname", p->address, "port",
		(json_int_t)workers_port(p->workers->setup, n, dir), "user", user, "driver", n->driver, "host_keys",
		reporter_host_keys(path));
	if (j && *n->message)
		json_object_set_new(j, "message", reporter_words(n->message, NODE_MESSAGE));
	gpus = j && !p->plain_report ? reporter_gpus(p, n) : NULL;
	if (json_array_size(gpus))
		json_object_set(j, "gpus", gpus);
	json_decref(gpus);
	reporter_send_about(p, TAG_REPORT, n, "report", j);
}

static bool reporter_next(struct reporter *p)
{
	for (size_t i = 0; i < p->workers->roster->count; i++) {
		const struct node *n = p->workers->roster->nodes[i];

		if (!n->told && (n->life == LIFE_RUNNING || n->life == LIFE_FAILED)) {
			reporter_report(p, n);
			return true;
		}
	}
	return false;
}

static void reporter_report_sent(struct reporter *p, const struct link_event *e)
{
	struct node *n = roster_find(p->workers->roster, p->id);

	if (!n || link_later(e->rc) || e->status == 401)
		return;
	if (e->status == 422 && !p->plain_report) { /* an older market knows no GPUs of a node */
		p->plain_report = true;
		return;
	}
	if (n->life == p->life)
		n->told = true;
	if (e->rc)
		log_at(p->log, LOG_WARN, "%s: the market refuses the report that it is %s: %s", n->id,
			life_text(p->life), e->fail.text);
	else
		log_at(p->log, LOG_INFO, "%s: the market knows that it is %s", n->id, life_text(p->life));
}

/* ---- This machine ------------------------------------------------------------------------- */

static int64_t reporter_resident(void)
{
	struct buf text;
	long long pages = 0, kept = 0;

	buf_init(&text, 256);
	if (buf_read_file(&text, "/proc/self/statm") != 0 || sscanf(buf_text(&text), "%lld %lld", &pages, &kept) != 2)
		kept = 0;
	buf_release(&text);
	return kept * sysconf(_SC_PAGESIZE);
}

/* What is wrong with the power limits, which keeps nodes from starting; NULL: nothing. */
static const char *reporter_power(const struct reporter *p)
{
	bool withheld = p->power && p->power->set && p->power->known && !p->power->holds;

	return withheld ? p->power->message : NULL;
}

/* The machine's health, and what its owner should know: what is wrong, else what is wrong with shares and GPUs. */
static enum health reporter_health(const struct reporter *p, const char **message, char room[static NODE_MESSAGE])
{
	enum health health = p->check->report.health;
	const char *power = reporter_power(p);

	*message = p->check->message;
	if (*p->shares->message && (health < HEALTH_DEGRADED || !**message))
		*message = p->shares->message;
	if (*p->shares->message && health < HEALTH_DEGRADED)
		health = HEALTH_DEGRADED;
	if (!**message)
		*message = host_gpus_problem(p->workers->setup->data, room, NODE_MESSAGE) ? room : p->workers->lacks;
	if (!power || health > HEALTH_DRAINING)
		return health;
	*message = power;
	return HEALTH_DRAINING;
}

/*
 * [{"host":…,"health":…,"reason":…}] of hosts that should get no new node; the market takes the others to be well.
 * NULL: more than it takes at once, or none that it named, so that the machine's health is that of all.
 */
static json_t *reporter_hosts(const struct reporter *p)
{
	const struct work *w = p->workers->work;
	json_t *list = w && !p->plain_status ? json_array() : NULL;
	json_t *gpus = list ? host_gpus_json(p->workers->setup->data, NULL) : NULL;
	const struct hosthealth_gpus whose = { p->workers->driver->devices == DEVICES_MACHINE, gpus };
	const char *power = reporter_power(p);
	bool own = gpus && wanted_gpus_own(p->workers->driver);
	char words[NODE_MESSAGE];

	for (size_t i = 0; list && i < w->host_count; i++) {
		const struct health_finding *worst;
		enum health health = host_health(&p->check->report, &whose, w->hosts[i].id, &worst);
		const char *reason = worst ? worst->text : NULL;
		json_t *o;

		if (power && health <= HEALTH_DRAINING) {
			health = HEALTH_DRAINING;
			reason = power;
		} else if (health < HEALTH_DRAINING && own &&
			wanted_gpus_lack(&w->hosts[i], p->workers->setup, p->workers->driver, gpus, words,
				sizeof words)) {
			health = HEALTH_DRAINING;
			reason = words;
		}
		if (health < HEALTH_DRAINING)
			continue;
		o = json_pack("{s:s, s:s}", "host", w->hosts[i].id, "health", health_word(health));
		if (o && reason)
			json_object_set_new(o, "reason", reporter_words(reason, STATUS_WORDS));
		json_array_append_new(list, o);
	}
	json_decref(gpus);
	if (json_array_size(list) > HOSTS_MOST) {
		json_decref(list);
		list = NULL;
	}
	return list;
}

static bool reporter_status_next(struct reporter *p)
{
	bool power = p->power && p->power->news;
	const char *message;
	enum health health;
	int64_t oldest = 0;
	size_t unknown = workers_unknown(p->workers, &oldest);
	char words[NODE_MESSAGE];
	json_t *j, *hosts;

	if (!p->check->known) /* the market would take silence for health */
		return false;
	if (p->status_due_ms > clock_ms() && !p->workers->changed && !p->check->health_new && !power &&
		!p->shares->news)
		return false;
	health = reporter_health(p, &message, words);
	if (power)
		p->power->news = false;
	p->workers->changed = p->check->health_new = p->shares->news = false;
	p->status_due_ms = clock_ms() + STATUS_MS;
	j = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "health", health_word(health), "driver",
		p->workers->driver->name, "nodes", (json_int_t)(p->workers->roster->count - unknown), "unknown",
		(json_int_t)unknown, "oldest_unknown_seconds", (json_int_t)oldest, "rss_bytes",
		(json_int_t)reporter_resident());
	if (j && *message)
		json_object_set_new(j, "message", reporter_words(message, STATUS_WORDS));
	if (j && (hosts = reporter_hosts(p)))
		json_object_set_new(j, "hosts", hosts);
	reporter_send_json(p, TAG_STATUS, "POST", "/np/v1/agent/status", j);
	return true;
}

static bool reporter_inventory_next(struct reporter *p)
{
	if (!p->check->inventory || !p->check->inventory_new)
		return false;
	p->check->inventory_new = false;
	reporter_send_json(p, TAG_INVENTORY, "PUT", "/np/v1/agent/inventory", json_loads(p->check->inventory, 0, NULL));
	return true;
}

/* ---- Consoles ----------------------------------------------------------------------------- */

static void reporter_save_console(struct reporter *p, struct node *n)
{
	char path[STATEFILE_PATH];

	roster_save(p->workers->roster, n);
	n->console_dirty = false;
	if (workers_path(p->workers, n->id, "console", path, sizeof path) == 0 &&
		console_free(path, &n->console, &n->console_freed))
		roster_save(p->workers->roster, n);
}

static void reporter_look_at_consoles(struct reporter *p)
{
	char path[STATEFILE_PATH];
	bool moved;

	for (size_t i = 0; i < p->workers->roster->count; i++) {
		struct node *n = p->workers->roster->nodes[i];

		if (n->life == LIFE_UNKNOWN || workers_path(p->workers, n->id, "console", path, sizeof path) != 0)
			continue;
		n->console_more = console_look(path, &n->console, &moved);
		/* Not every time: lines that the market has are freed as it goes, and a disk may be slow. */
		if (moved || n->console.offset - n->console_freed >= SAVE_BYTES)
			reporter_save_console(p, n);
	}
}

static int64_t reporter_micros(const struct reporter *p)
{
	struct timeval tv;

	if (p->workers->clock->file || p->workers->clock->stands)
		return wallclock_now(p->workers->clock) * 1000000;
	gettimeofday(&tv, NULL);
	return (int64_t)tv.tv_sec * 1000000 + tv.tv_usec;
}

static bool reporter_console_of(struct reporter *p, struct node *n)
{
	bool ended = n->is_known && n->is != NODE_RUNNING && (n->life == LIFE_DRAINING || n->life == LIFE_FAILED);
	char path[STATEFILE_PATH];
	json_t *body = NULL;

	if (!n->console_more || n->console_due_ms > clock_ms() ||
		workers_path(p->workers, n->id, "console", path, sizeof path) != 0)
		return false;
	n->console_more = false; /* until a new look finds more */
	if (console_lines(path, &n->console, ended, reporter_micros(p), &body, &p->after) != 0 || !body)
		return false;
	p->bytes = p->after.offset - n->console.offset;
	n->console_more = true;
	reporter_send_about(p, TAG_CONSOLE, n, "console", body);
	return true;
}

static bool reporter_console_next(struct reporter *p)
{
	size_t count = p->workers->roster->count;

	for (size_t i = 0; i < count; i++)
		if (reporter_console_of(p, p->workers->roster->nodes[(p->turn + i) % count])) {
			p->turn = (p->turn + i + 1) % count;
			return true;
		}
	return false;
}

/* Being slower than a node writes is fine: the backlog has a limit, beyond which lines are skipped. */
static void reporter_slow_down(struct node *n, int64_t bytes)
{
	int64_t now = clock_ms();

	if (n->console_due_ms < now - CONSOLE_BURST_MS)
		n->console_due_ms = now - CONSOLE_BURST_MS;
	n->console_due_ms += bytes * 1000 / CONSOLE_RATE;
}

static void reporter_console_sent(struct reporter *p, const struct link_event *e)
{
	struct node *n = roster_find(p->workers->roster, p->id);
	json_t *j = json_loadb(buf_text(&e->body), e->body.len, 0, NULL);

	if (n && !e->rc && n->console.inode == p->after.inode) {
		n->console = p->after;
		n->console_dirty = true;
		n->console_refused = false;
		reporter_slow_down(n, p->bytes);
	} else if (n && e->rc == REASON_NOT_FOUND) {
		n->console_refused = true;
		n->console_due_ms = clock_ms() + STATUS_MS;
	} else if (n && e->status == 409) {
		int64_t next = statefile_int(json_array_get(json_object_get(json_object_get(j, "error"), "details"), 0),
			"next", 0);
		bool expected = console_expected(&n->console, next);

		log_at(p->log, LOG_WARN, "%s: %s", n->id, e->fail.text);
		n->console_due_ms = clock_ms() + (expected ? 0 : STATUS_MS);
	} else if (n && e->rc && !link_later(e->rc)) {
		log_at(p->log, LOG_WARN, "%s: the market refuses its console: %s", n->id, e->fail.text);
		n->console_refused = true;
		n->console_due_ms = clock_ms() + STATUS_MS;
	}
	json_decref(j);
}

/* ---- Samples ------------------------------------------------------------------------------ */

static bool reporter_samples_next(struct reporter *p)
{
	char *body = sampler_take(p->samples);

	if (body)
		link_send(p->link, TAG_SAMPLES, "POST", "/np/v1/agent/samples", body);
	return body != NULL;
}

/* Without a word in the log: nobody loses anything by it. A market that does not know them is older. */
static void reporter_samples_sent(struct reporter *p, const struct link_event *e)
{
	p->samples->refused = e->status == 404;
	sampler_sent(p->samples, !link_later(e->rc) && e->status != 401);
}

/* ---- Volumes that are gone ---------------------------------------------------------------- */

static bool reporter_volume_next(struct reporter *p)
{
	const char *id = volumes_gone(p->volumes);
	char path[128];

	if (!id)
		return false;
	memcpy(p->id, id, sizeof p->id);
	snprintf(path, sizeof path, "/np/v1/agent/volumes/%s/gone", id);
	link_send(p->link, TAG_VOLUME, "POST", path, NULL);
	return true;
}

/* ---- All of it ---------------------------------------------------------------------------- */

void reporter_opened(struct reporter *p)
{
	for (size_t i = 0; i < p->workers->roster->count; i++)
		p->workers->roster->nodes[i]->told = false;
	p->check->inventory_new = p->check->inventory != NULL;
	p->status_due_ms = 0;
	p->plain_status = p->plain_report = p->samples->refused = false;
}

void reporter_sent(struct reporter *p, const struct link_event *e)
{
	if (e->tag == TAG_STATUS && e->status == 422 && !p->plain_status) { /* an older market knows only machines */
		p->plain_status = true;
		p->status_due_ms = 0;
		return;
	}
	switch (e->tag) {
	case TAG_REPORT:
		reporter_report_sent(p, e);
		break;
	case TAG_CONSOLE:
		reporter_console_sent(p, e);
		break;
	case TAG_SAMPLES:
		reporter_samples_sent(p, e);
		break;
	case TAG_VOLUME:
		if (!link_later(e->rc) && e->status != 401)
			volumes_told(p->volumes, p->id);
		break;
	case TAG_INVENTORY:
		p->check->inventory_new = link_later(e->rc);
		/* fall through */
	default:
		if (e->rc && !link_later(e->rc) && e->status != 401)
			log_at(p->log, LOG_WARN, "the market refuses a report: %s", e->fail.text);
		break;
	}
}

int64_t reporter_turn(struct reporter *p)
{
	bool any = p->workers->roster->count > 0;
	int64_t idle;

	if (any && p->look_due_ms <= clock_ms()) {
		reporter_look_at_consoles(p);
		p->look_due_ms = clock_ms() + LOOK_MS;
	}
	if (link_can_send(p->link) &&
		(reporter_next(p) || reporter_inventory_next(p) || reporter_status_next(p) || reporter_volume_next(p) ||
			reporter_samples_next(p)))
		return any ? p->look_due_ms : INT64_MAX;
	if (link_can_send(p->link) && any)
		reporter_console_next(p);
	if (!link_can_send(p->link))
		return any ? p->look_due_ms : INT64_MAX;
	idle = volumes_due(p->volumes);
	idle = idle < p->status_due_ms ? idle : p->status_due_ms;
	return any && p->look_due_ms < idle ? p->look_due_ms : idle;
}

void reporter_end(struct reporter *p)
{
	for (size_t i = 0; i < p->workers->roster->count; i++)
		if (p->workers->roster->nodes[i]->console_dirty)
			roster_save(p->workers->roster, p->workers->roster->nodes[i]);
}
