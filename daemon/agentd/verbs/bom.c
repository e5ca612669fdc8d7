/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/verbs/bom.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum { USAGE = 2, FAILURE = 1, CHECK = 11, COUNT_MOST = 1024, COLUMN = 29 };

static const int64_t mebi = 1 << 20, largest = INT64_C(1) << 60;

/* What one comparison works on. */
struct bom_work {
	const struct conf_file *file;
	const struct inventory *v;
	struct bom *out;
	struct fail *f;
	bool used_disks[INVENTORY_DISKS], used_gpus[INVENTORY_GPUS], used_nics[INVENTORY_NICS];
};

/* ---- Values of the file ----------------------------------------------------------------------- */

/* NULL, or the text of a member; *rc: it is no text. */
static const char *bom_text(struct bom_work *w, const struct conf *map, const char *key, int *rc)
{
	const struct conf *c = conf_get(map, key);

	if (!c || *rc)
		return NULL;
	*rc = conf_expect(w->file, c, CONF_TEXT, w->f);
	return *rc ? NULL : c->text;
}

static int64_t bom_number(struct bom_work *w, const struct conf *map, const char *key, long missing, int *rc)
{
	const char *text = bom_text(w, map, key, rc);
	long n = missing;

	if (text && str_to_long(text, 1, 100 * 1000 * 1000, &n) != 0)
		*rc = conf_fail(w->file, conf_get(map, key), w->f, "'%.40s' is no number from 1; write e.g. '%s: 2'",
			text, key);
	return n;
}

/* "64GiB", "3.84TB"; 0: missing. */
static int64_t bom_size(struct bom_work *w, const struct conf *map, const char *key, int *rc)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} units[] = { { "MB", 1000000 }, { "GB", 1000000000 }, { "TB", 1000000000000 }, { "MiB", 1 << 20 },
		{ "GiB", 1 << 30 }, { "TiB", INT64_C(1) << 40 } };
	const char *text = bom_text(w, map, key, rc);
	char *end = NULL;
	double n;

	if (!text)
		return 0;
	n = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
	while (end && *end == ' ')
		end++;
	for (size_t i = 0; end && i < sizeof units / sizeof *units; i++)
		if (strcasecmp(end, units[i].name) == 0 && n > 0 && n * (double)units[i].bytes < (double)largest)
			return (int64_t)(n * (double)units[i].bytes);
	*rc = conf_fail(w->file, conf_get(map, key), w->f, "'%.40s' is no size; write e.g. '%s: 64GiB' or '%s: 2TB'",
		text, key, key);
	return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

static struct bom_row *bom_row(struct bom_work *w, const char *part, enum bom_is result)
{
	struct bom_row *r = &w->out->rows[w->out->count < BOM_ROWS ? w->out->count++ : BOM_ROWS - 1];

	*r = (struct bom_row){ .result = result };
	snprintf(r->part, sizeof r->part, "%s", part);
	return r;
}

static void bom_say(char room[BOM_TEXT], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void bom_say(char room[BOM_TEXT], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(room, BOM_TEXT, fmt, ap);
	va_end(ap);
}

static void bom_say_size(char room[BOM_TEXT], int64_t bytes)
{
	if (bytes == GPU_UNKNOWN)
		bom_say(room, "unknown");
	else if (bytes >= 10000000000000)
		bom_say(room, "%" PRId64 " TB", bytes / 1000000000000);
	else
		bom_say(room, "%" PRId64 " GB", bytes / 1000000000);
}

/* Does the machine's word have the file's? "epyc 9654" is in "AMD EPYC 9654 96-Core Processor". */
static bool bom_names(const char *is, const char *should)
{
	return !should || strcasestr(is, should);
}

/* Sizes are rounded by who sells and by who counts. */
static bool bom_near(int64_t is, int64_t should, int percent)
{
	return !should ||
		(is != GPU_UNKNOWN && is >= should / 100 * (100 - percent) && is <= should / 100 * (100 + percent));
}

static void bom_counted(struct bom_work *w, const char *part, const char *what, int64_t should, int64_t is)
{
	struct bom_row *r = bom_row(w, part, is >= should ? BOM_OK : is ? BOM_DIFFERS : BOM_MISSING);

	bom_say(r->should, "%" PRId64 "x %s", should, what);
	bom_say(r->is, "%" PRId64, is);
}

/* ---- Parts ------------------------------------------------------------------------------------ */

static void bom_cpu_number(struct bom_work *w, const char *part, int64_t should, int64_t is)
{
	struct bom_row *r;

	if (!should)
		return;
	r = bom_row(w, part, is == should ? BOM_OK : BOM_DIFFERS);
	bom_say(r->should, "%" PRId64, should);
	bom_say(r->is, is == GPU_UNKNOWN ? "unknown" : "%" PRId64, is);
}

static int bom_cpu(struct bom_work *w, const struct conf *c)
{
	static const char *const keys[] = { "model", "cores", "threads", "sockets", NULL };
	const struct inventory_cpu *cpu = &w->v->cpu;
	int rc = conf_expect(w->file, c, CONF_MAP, w->f);
	int64_t cores, threads, sockets;
	const char *model;
	struct bom_row *r;

	rc = rc ? rc : conf_known(w->file, c, keys, w->f);
	if (rc)
		return rc;
	model = bom_text(w, c, "model", &rc);
	cores = bom_number(w, c, "cores", 0, &rc);
	threads = bom_number(w, c, "threads", 0, &rc);
	sockets = bom_number(w, c, "sockets", 0, &rc);
	if (rc)
		return rc;
	if (model) {
		r = bom_row(w, "cpu", bom_names(cpu->model, model) ? BOM_OK : BOM_DIFFERS);
		bom_say(r->should, "%.90s", model);
		bom_say(r->is, "%.90s", cpu->model);
	}
	bom_cpu_number(w, "cpu cores", cores, cpu->cores);
	bom_cpu_number(w, "cpu threads", threads, cpu->threads);
	bom_cpu_number(w, "cpu sockets", sockets, cpu->sockets);
	return 0;
}

/* The kernel keeps some of it, and the firmware more. */
static int bom_memory(struct bom_work *w, const struct conf *root)
{
	int rc = 0;
	int64_t should = bom_size(w, root, "memory", &rc);
	struct bom_row *r;

	if (rc || !should)
		return rc;
	r = bom_row(w, "memory", bom_near(w->v->memory, should, 10) ? BOM_OK : BOM_DIFFERS);
	bom_say(r->should, "%" PRId64 " MiB", should / mebi);
	bom_say(r->is, "%" PRId64 " MiB", w->v->memory == GPU_UNKNOWN ? 0 : w->v->memory / mebi);
	return 0;
}

static int bom_disk(struct bom_work *w, const struct conf *c)
{
	static const char *const keys[] = { "model", "size", "count", NULL };
	int rc = conf_known(w->file, c, keys, w->f);
	const char *model = rc ? NULL : bom_text(w, c, "model", &rc);
	int64_t size = rc ? 0 : bom_size(w, c, "size", &rc), count = rc ? 0 : bom_number(w, c, "count", 1, &rc), is = 0;
	char what[BOM_TEXT], bytes[BOM_TEXT] = "";

	for (size_t i = 0; !rc && i < w->v->disk_count && is < count; i++)
		if (!w->used_disks[i] && bom_names(w->v->disks[i].model, model) &&
			bom_near(w->v->disks[i].bytes, size, 5)) {
			w->used_disks[i] = true;
			is++;
		}
	if (rc)
		return rc;
	if (size)
		bom_say_size(bytes, size);
	bom_say(what, "%.40s%s%.20s", model ? model : size ? "" : "disk", model && size ? " " : "", bytes);
	bom_counted(w, "disk", what, count, is);
	return 0;
}

static bool bom_gpu_is(const struct gpu *g, const char *model, int64_t memory)
{
	return !g->integrated && (!model || strcasecmp(g->market, model) == 0 || strcasestr(g->name, model)) &&
		(g->memory == GPU_UNKNOWN || bom_near(g->memory, memory, 10));
}

static int bom_gpu(struct bom_work *w, const struct conf *c)
{
	static const char *const keys[] = { "model", "memory", "count", NULL };
	int rc = conf_known(w->file, c, keys, w->f);
	const char *model = rc ? NULL : bom_text(w, c, "model", &rc);
	int64_t memory = rc ? 0 : bom_size(w, c, "memory", &rc), count = rc ? 0 : bom_number(w, c, "count", 1, &rc);
	int64_t is = 0;
	char what[BOM_TEXT], bytes[BOM_TEXT] = "";

	for (size_t i = 0; !rc && i < w->v->gpu_count && is < count; i++)
		if (!w->used_gpus[i] && bom_gpu_is(&w->v->gpus[i], model, memory)) {
			w->used_gpus[i] = true;
			is++;
		}
	if (rc)
		return rc;
	if (memory)
		bom_say_size(bytes, memory);
	bom_say(what, "%.40s%s%.20s", model ? model : "GPU", memory ? " " : "", bytes);
	bom_counted(w, "gpu", what, count, is);
	return 0;
}

static int bom_nic(struct bom_work *w, const struct conf *c)
{
	static const char *const keys[] = { "speed", "count", "rdma", NULL };
	int rc = conf_known(w->file, c, keys, w->f);
	int64_t speed = rc ? 0 : bom_number(w, c, "speed", 0, &rc), count = rc ? 0 : bom_number(w, c, "count", 1, &rc);
	const char *rdma = rc ? NULL : bom_text(w, c, "rdma", &rc);
	bool needs = rdma && strcmp(rdma, "yes") == 0;
	int64_t is = 0;
	char what[BOM_TEXT];

	if (!rc && rdma && !needs && strcmp(rdma, "no") != 0)
		rc = conf_fail(w->file, conf_get(c, "rdma"), w->f, "'%.40s' is neither yes nor no", rdma);
	for (size_t i = 0; !rc && i < w->v->nic_count && is < count; i++) {
		const struct inventory_nic *n = &w->v->nics[i];

		if (!w->used_nics[i] && (!speed || (n->speed != GPU_UNKNOWN && n->speed >= speed)) &&
			(!needs || *n->rdma)) {
			w->used_nics[i] = true;
			is++;
		}
	}
	if (rc)
		return rc;
	if (speed)
		bom_say(what, "network %" PRId64 " Mbit/s%s", speed, needs ? " RDMA" : "");
	else
		bom_say(what, "network%s", needs ? " RDMA" : "");
	bom_counted(w, "nic", what, count, is);
	return 0;
}

/* A power supply tells nobody what it can: it is shown, for who looks at its label. */
static int bom_psu(struct bom_work *w, const struct conf *c)
{
	static const char *const keys[] = { "model", "watts", "count", NULL };
	int rc = conf_expect(w->file, c, CONF_MAP, w->f);
	int64_t watts, count;
	const char *model;
	struct bom_row *r;

	rc = rc ? rc : conf_known(w->file, c, keys, w->f);
	model = rc ? NULL : bom_text(w, c, "model", &rc);
	watts = rc ? 0 : bom_number(w, c, "watts", 0, &rc);
	count = rc ? 0 : bom_number(w, c, "count", 1, &rc);
	if (rc)
		return rc;
	r = bom_row(w, "psu", BOM_UNSEEN);
	bom_say(r->should, "%" PRId64 "x %.40s %" PRId64 " W", count, model ? model : "", watts);
	bom_say(r->is, "read its label");
	return 0;
}

/* ---- All of it ---------------------------------------------------------------------------------- */

static int bom_each(struct bom_work *w, const struct conf *root, const char *key,
	int (*one)(struct bom_work *, const struct conf *))
{
	const struct conf *list = conf_get(root, key);
	int rc = list ? conf_expect(w->file, list, CONF_LIST, w->f) : 0;

	for (size_t i = 0; !rc && list && i < list->count; i++) {
		rc = conf_expect(w->file, &list->items[i], CONF_MAP, w->f);
		rc = rc ? rc : one(w, &list->items[i]);
	}
	return rc;
}

/* Who lists GPUs lists all of them: one more draws power that nobody planned. */
static void bom_extra_gpus(struct bom_work *w)
{
	for (size_t i = 0; i < w->v->gpu_count; i++)
		if (!w->used_gpus[i] && !w->v->gpus[i].integrated) {
			struct bom_row *r = bom_row(w, "gpu", BOM_EXTRA);

			bom_say(r->should, "none");
			bom_say(r->is, "%.60s at %s", w->v->gpus[i].market, w->v->gpus[i].pci.address);
		}
}

int bom_compare(const struct conf_file *file, const struct inventory *v, struct bom *out, struct fail *f)
{
	static const char *const keys[] = { "cpu", "memory", "disks", "gpus", "nics", "psu", NULL };
	struct bom_work w = { .file = file, .v = v, .out = out, .f = f };
	const struct conf *root = &file->root;
	int rc = conf_known(file, root, keys, f);

	out->count = 0;
	if (!rc && !root->count)
		rc = conf_fail(file, root, f, "it lists nothing; write e.g. 'gpus: [{model: rtx4090, count: 2}]'");
	if (!rc && conf_get(root, "cpu"))
		rc = bom_cpu(&w, conf_get(root, "cpu"));
	rc = rc ? rc : bom_memory(&w, root);
	rc = rc ? rc : bom_each(&w, root, "disks", bom_disk);
	rc = rc ? rc : bom_each(&w, root, "gpus", bom_gpu);
	if (!rc && conf_get(root, "gpus"))
		bom_extra_gpus(&w);
	rc = rc ? rc : bom_each(&w, root, "nics", bom_nic);
	if (!rc && conf_get(root, "psu"))
		rc = bom_psu(&w, conf_get(root, "psu"));
	return rc;
}

/* ---- The verb ------------------------------------------------------------------------------------ */

static const char *const bom_words[] = { "ok", "differs", "missing", "extra", "not seen" };

static bool bom_is_wrong(enum bom_is is)
{
	return is == BOM_DIFFERS || is == BOM_MISSING || is == BOM_EXTRA;
}

static int bom_show(const struct bom *b, bool json, FILE *out)
{
	json_t *list = json_array(), *root;
	char *text = NULL;
	int wrong = 0;

	if (!json)
		fprintf(out, "%-11s %-*s %-*s %s\n", "PART", COLUMN, "SHOULD BE", COLUMN, "IS", "RESULT");
	for (size_t i = 0; i < b->count; i++) {
		const struct bom_row *r = &b->rows[i];

		wrong += bom_is_wrong(r->result);
		if (!json)
			fprintf(out, "%-11s %-*.*s %-*.*s %s\n", r->part, COLUMN, COLUMN, r->should, COLUMN, COLUMN,
				r->is, bom_words[r->result]);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:s}", "part", r->part, "should", r->should, "is", r->is, "result",
				bom_words[r->result]));
	}
	root = json_pack("{s:s, s:b, s:o}", "object", "bom", "fits", !wrong, "rows", list);
	if (json)
		text = root ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (json)
		fprintf(out, "%s\n", text ? text : "null");
	free(text);
	json_decref(root);
	return fflush(out) ? FAILURE : wrong ? CHECK : 0;
}

int bom_verb(const char *path, const char *sysfs_root, bool json, FILE *out, FILE *err)
{
	struct bom *b = calloc(1, sizeof *b);
	struct conf_file *file = NULL;
	struct inventory *v = NULL;
	struct fail f = { 0 };
	int rc = b ? conf_read(path, &file, &f) : -ENOMEM, status;

	if (!rc && inventory_read(&(struct inventory_setup){ .root = sysfs_root }, &v))
		rc = fail_set(&f, -ENOMEM, "out of memory");
	rc = rc ? rc : bom_compare(file, v, b, &f);
	if (rc) {
		fprintf(err, "nanopod-agentd: %s\n", *f.text ? f.text : "out of memory");
		status = rc == -ENOMEM ? FAILURE : USAGE;
	} else {
		status = bom_show(b, json, out);
	}
	free(v);
	conf_free(file);
	free(b);
	return status;
}
