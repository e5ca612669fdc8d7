/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes or machines measured last, all of them in one answer, with short curves of use: for screens that ask again
 * and again. np_series.c has the curves of one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/metric.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/series/series.h"

enum {
	ROWS_MOST = 1000, /* in one answer */
	MINUTES_USUAL = 15,
	MINUTES_MOST = 60,
	POINTS = 30, /* of a curve */
	METRIC_MACHINE_GPU = 70,
	GPUS_MOST = 1024,
	TOGETHER = 60 / RING_STEP, /* a metric older than the last sample by so many steps is not known any more */
};

/* What was measured of one node or machine, in steps of the ring. */
struct np_sampled {
	struct ring_key *keys;
	size_t count;
	struct ring_span span;
	double *mean, *largest;
	size_t last; /* the newest step that has any value, plus 1; 0: none */
	size_t gpus;
	int64_t curve; /* seconds of each point */
};

static void np_sampled_release(struct np_sampled *s)
{
	free(s->keys);
	free(s->mean);
	free(s->largest);
}

static bool np_sampled_gpu(const struct metric *m)
{
	return m->of == METRIC_OF_GPU || m->of == METRIC_OF_NODE_GPU;
}

static const double *np_sampled_column(const struct np_sampled *s, size_t key)
{
	return s->mean + key * s->span.count;
}

/* Steps before `since` were another buyer's. */
static void np_sampled_look(struct np_sampled *s, int64_t since)
{
	for (size_t k = 0; k < s->count; k++) {
		double *column = s->mean + k * s->span.count;
		bool any = false;

		for (size_t i = 0; i < s->span.count; i++) {
			if (s->span.from + (int64_t)i * s->span.step < since)
				column[i] = NAN;
			if (isnan(column[i]))
				continue;
			any = true;
			s->last = i + 1 > s->last ? i + 1 : s->last;
		}
		if (any && np_sampled_gpu(metric_numbered(s->keys[k].metric)) && s->keys[k].index >= s->gpus)
			s->gpus = s->keys[k].index + 1;
	}
}

/* host: a node's; 0: the machine's own. 0, or -errno with a sentence. */
static int np_sampled_read(const struct api *api, uint64_t agent, uint64_t host, int64_t since, struct np_sampled *s,
	struct fail *why)
{
	size_t kept = 0, numbers;
	int rc = agent ? series_keys(api->series, agent, &s->keys, &s->count, why) : 0;

	for (size_t i = 0; i < s->count && !rc; i++) {
		const struct metric *m = metric_numbered(s->keys[i].metric);

		if (m && (m->of >= METRIC_OF_NODE) == (host != 0) && (!host || s->keys[i].id == host))
			s->keys[kept++] = s->keys[i];
	}
	s->count = kept;
	numbers = kept * s->span.count;
	if (rc || !numbers)
		return rc;
	s->mean = calloc(numbers, sizeof *s->mean);
	s->largest = calloc(numbers, sizeof *s->largest);
	if (!s->mean || !s->largest)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory");
	rc = series_read(api->series, agent, s->keys, s->count, &s->span, s->mean, s->largest, why);
	if (!rc)
		np_sampled_look(s, since);
	return rc;
}

/* The last value of a column; NAN: not known. */
static double np_sampled_last(const struct np_sampled *s, size_t key)
{
	const double *column = np_sampled_column(s, key);

	for (size_t i = s->last; i > 0 && s->last - i < TOGETHER; i--)
		if (!isnan(column[i - 1]))
			return column[i - 1];
	return NAN;
}

/* In hundredths: a curve is drawn, and an answer may have many. */
static json_t *np_sampled_point(double mean)
{
	return json_real(mean >= 0 && mean < 1e9 ? (double)(int64_t)(mean * 100 + 0.5) / 100 : mean);
}

/* Means of the steps of each point. */
static json_t *np_sampled_curve(const struct np_sampled *s, size_t key)
{
	const double *column = np_sampled_column(s, key);
	size_t each = (size_t)(s->curve / RING_STEP);
	json_t *list = json_array();

	for (size_t at = 0; at < s->span.count; at += each) {
		double sum = 0;
		size_t known = 0;

		for (size_t i = at; i < at + each && i < s->span.count; i++) {
			sum += isnan(column[i]) ? 0 : column[i];
			known += !isnan(column[i]);
		}
		json_array_append_new(list, known ? np_sampled_point(sum / (double)known) : json_null());
	}
	return list;
}

/* measures, gpus, and the curves cpu and use. */
static void np_sampled_show(const struct np_sampled *s, json_t *row)
{
	json_t *measures = json_object(), *gpus = json_array(), *use = json_array(), *cpu = NULL;

	for (size_t i = 0; i < s->gpus; i++) {
		json_array_append_new(gpus, json_object());
		json_array_append_new(use, json_array());
	}
	for (size_t k = 0; k < s->count; k++) {
		const struct metric *m = metric_numbered(s->keys[k].metric);
		bool of_gpu = np_sampled_gpu(m);
		double value = np_sampled_last(s, k);
		json_t *into = of_gpu ? json_array_get(gpus, s->keys[k].index) : measures;

		if (!isnan(value) && into)
			json_object_set_new(into, m->name, json_real(value));
		if (into && of_gpu && strcmp(m->name, "use") == 0)
			json_array_set_new(use, s->keys[k].index, np_sampled_curve(s, k));
		if (!of_gpu && !cpu && strcmp(m->name, "cpu") == 0)
			cpu = np_sampled_curve(s, k);
	}
	json_object_set_new(row, "measures", measures);
	json_object_set_new(row, "gpus", gpus);
	json_object_set_new(row, "cpu", cpu ? cpu : json_array());
	json_object_set_new(row, "use", use);
}

/* ---- Which node has which GPU of a machine ------------------------------------------------------ */

/* Its owner hears the host, not whose the node is. */
static int np_samples_owners(struct api *api, uint64_t agent, json_t *list, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct np_sampled s = { .span = { .step = RING_STEP, .count = TOGETHER } };
	size_t kept = 0;
	int rc = series_keys(api->series, agent, &s.keys, &s.count, why);

	for (size_t k = 0; k < s.count && !rc; k++)
		if (s.keys[k].metric == METRIC_MACHINE_GPU)
			s.keys[kept++] = s.keys[k];
	s.count = kept;
	s.span.from = market_now(api->market) / RING_STEP * RING_STEP - (TOGETHER - 1) * RING_STEP;
	s.mean = kept && !rc ? calloc(kept * TOGETHER, sizeof *s.mean) : NULL;
	s.largest = kept && !rc ? calloc(kept * TOGETHER, sizeof *s.largest) : NULL;
	if (kept && !rc)
		rc = s.mean && s.largest
			? series_read(api->series, agent, s.keys, kept, &s.span, s.mean, s.largest, why)
			: fail_set(why, REASON_UNAVAILABLE, "the market is out of memory");
	if (kept && !rc)
		np_sampled_look(&s, 0);
	for (size_t k = 0; k < kept && !rc; k++) {
		double gpu = np_sampled_last(&s, k);
		const struct host *h = engine_host(e, s.keys[k].id);

		if (gpu >= 0 && gpu < GPUS_MOST && h && h->agent == agent) /* an agent may say anything */
			json_array_append_new(list,
				json_pack("{s:I, s:o, s:o}", "gpu", (json_int_t)(gpu + 0.5), "host",
					render_id(IDENT_HOST, h->id), "name", render_text(h->name)));
	}
	np_sampled_release(&s);
	return rc;
}

/* ---- Rows -------------------------------------------------------------------------------------- */

struct np_samples {
	struct api *api;
	struct ring_span span;
	int64_t curve;
	json_t *data;
	struct fail why;
};

static int np_samples_add(struct np_samples *l, json_t *node, json_t *machine, uint64_t agent, uint64_t host,
	int64_t since)
{
	struct np_sampled s = { .span = l->span, .curve = l->curve };
	int rc = np_sampled_read(l->api, agent, host, since, &s, &l->why);
	json_t *owners = json_array(), *row;

	if (!rc && !host)
		rc = np_samples_owners(l->api, agent, owners, &l->why);
	row = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "object", "sample", "node", node, "agent", machine,
		"gpu_hosts", owners, "at",
		s.last ? json_integer(l->span.from + (int64_t)(s.last - 1) * l->span.step) : json_null(), "from",
		(json_int_t)l->span.from, "step", (json_int_t)l->curve);

	if (!rc && row)
		np_sampled_show(&s, row);
	json_array_append_new(l->data, row);
	np_sampled_release(&s);
	return rc;
}

static int np_samples_of_node(struct np_samples *l, const struct instance *i)
{
	const struct engine *e = market_engine(l->api->market);
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;

	return np_samples_add(l, render_id(IDENT_INSTANCE, i->id), json_null(), h ? h->agent : 0, h ? h->id : 0,
		i->placed_at ? i->placed_at : i->created_at);
}

static int np_samples_answer(struct np_samples *l, const struct request *q, struct reply *r, int rc, json_t *last,
	bool more)
{
	json_t *list;

	if (!rc) {
		list = render_list(l->data, last, more);
		json_object_set_new(list, "now", json_integer(market_now(l->api->market)));
		return api_json(q, r, 200, list);
	}
	json_decref(l->data);
	json_decref(last);
	return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s", l->why.text);
}

static int np_samples_machines(struct np_samples *l, const struct request *q, struct reply *r, int64_t limit)
{
	const struct engine *e = market_engine(l->api->market);
	const char *after = api_query(q, "starting_after");
	const struct agent *a;
	uint64_t last = 0;
	int rc = 0;

	if (!np_may(q, r, SCOPE_HOST))
		return r->status;
	if (after && !ident_parse(IDENT_AGENT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of an agent");
	l->data = json_array();
	for (a = engine_agent_after(e, q->account, last); a && limit && !rc;
		a = engine_agent_after(e, q->account, a->id)) {
		if (a->retired)
			continue;
		rc = np_samples_add(l, json_null(), render_id(IDENT_AGENT, a->id), a->id, 0, 0);
		last = a->id;
		limit--;
	}
	return np_samples_answer(l, q, r, rc, last ? render_id(IDENT_AGENT, last) : NULL, a != NULL);
}

/* Those that the query names. */
static int np_samples_named(struct np_samples *l, const struct request *q, struct reply *r)
{
	const struct instance *i;
	const char *name;
	int rc = 0;

	l->data = json_array();
	for (size_t n = 0; (name = api_query_at(q, "node", n)) && !rc; n++) {
		i = find_instance(market_engine(l->api->market), q->account, name);
		if (!i) {
			json_decref(l->data);
			return api_refuse(q, r, REASON_NOT_FOUND, "node", "no node '%s' in this account", name);
		}
		rc = np_samples_of_node(l, i);
	}
	return np_samples_answer(l, q, r, rc, NULL, false);
}

static int np_samples_nodes(struct np_samples *l, const struct request *q, struct reply *r, int64_t limit)
{
	const struct engine *e = market_engine(l->api->market);
	const char *after = api_query(q, "starting_after");
	struct np_lives lives = { 0 };
	const struct instance *i;
	uint64_t account, last = 0;
	int rc = 0;

	if (!api_whose(q, r, &account))
		return r->status;
	if (after && !ident_parse(IDENT_INSTANCE, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a node");
	l->data = json_array();
	for (i = engine_instance_after(e, account, last); i && limit && !rc;
		i = engine_instance_after(e, account, i->id)) {
		if (!np_node_lives_too(e, i, &lives))
			continue;
		rc = np_samples_of_node(l, i);
		last = i->id;
		limit--;
	}
	return np_samples_answer(l, q, r, rc, last ? render_id(IDENT_INSTANCE, last) : NULL, i != NULL);
}

static int get_samples(struct api *api, const struct request *q, struct reply *r)
{
	int64_t now = market_now(api->market), minutes, limit;
	struct np_samples l = { .api = api };
	bool machines;

	if (!api_query_int(q, r, "limit", 1, ROWS_MOST, ROWS_MOST, &limit) ||
		!api_query_int(q, r, "minutes", 1, MINUTES_MOST, MINUTES_USUAL, &minutes) ||
		!api_query_bool(q, r, "machines", false, &machines))
		return r->status;
	l.curve = (minutes * 60 / POINTS + RING_STEP - 1) / RING_STEP * RING_STEP;
	l.span.step = RING_STEP;
	l.span.count = (size_t)(minutes * 60 / l.curve * l.curve / RING_STEP);
	/* The last point has the present. */
	l.span.from = now / l.curve * l.curve + l.curve - (int64_t)l.span.count * RING_STEP;
	if (machines)
		return np_samples_machines(&l, q, r, limit);
	if (!np_may(q, r, SCOPE_READ))
		return r->status;
	return api_query(q, "node") ? np_samples_named(&l, q, r) : np_samples_nodes(&l, q, r, limit);
}

/* ---- In brief ---------------------------------------------------------------------------------- */

enum { BRIEF_BYTES = 64, BRIEF_GPU_BYTES = 8 }; /* of a node's row, and of each of its GPUs, at most */

static void np_sampled_brief(const struct np_sampled *s, json_t *row)
{
	json_t *use = json_array();

	json_array_append_new(row, json_null());
	json_array_append_new(row, json_null());
	json_array_append_new(row, use);
	for (size_t i = 0; i < s->gpus; i++)
		json_array_append_new(use, json_null());
	for (size_t k = 0; k < s->count; k++) {
		const struct metric *m = metric_numbered(s->keys[k].metric);
		double value = np_sampled_last(s, k);

		if (isnan(value))
			continue;
		if (np_sampled_gpu(m) && strcmp(m->name, "use") == 0)
			json_array_set_new(use, s->keys[k].index, np_sampled_point(value));
		else if (!np_sampled_gpu(m) && strcmp(m->name, "cpu") == 0)
			json_array_set_new(row, 0, np_sampled_point(value));
		else if (!np_sampled_gpu(m) && strcmp(m->name, "memory") == 0)
			json_array_set_new(row, 1, json_integer((json_int_t)value));
	}
}

json_t *np_samples_brief(struct api *api, uint64_t account, size_t bytes)
{
	const struct engine *e = market_engine(api->market);
	int64_t now = market_now(api->market);
	json_t *nodes = json_object();
	struct np_lives lives = { 0 };
	char id[IDENT_TEXT];
	size_t used = 0;
	int64_t more = 0;

	for (const struct instance *i = engine_instance_after(e, account, 0); i;
		i = engine_instance_after(e, account, i->id)) {
		const struct host *h = i->host ? engine_host(e, i->host) : NULL;
		struct np_sampled s = { .span = { .from = now / RING_STEP * RING_STEP - (TOGETHER - 1) * RING_STEP,
						.step = RING_STEP,
						.count = TOGETHER } };
		json_t *row;

		if (!h || !np_node_lives_too(e, i, &lives))
			continue;
		if (used + BRIEF_BYTES > bytes) {
			more++;
			continue;
		}
		if (np_sampled_read(api, h->agent, h->id, i->placed_at ? i->placed_at : i->created_at, &s, NULL) == 0) {
			json_object_set_new(nodes, ident_text(IDENT_INSTANCE, i->id, id), row = json_array());
			np_sampled_brief(&s, row);
			used += BRIEF_BYTES + s.gpus * BRIEF_GPU_BYTES;
		}
		np_sampled_release(&s);
	}
	return json_pack("{s:I, s:o, s:I}", "at", (json_int_t)now, "nodes", nodes, "more", (json_int_t)more);
}

/* ---- Tables ------------------------------------------------------------------------------------ */

static const struct schema_field np_samples_row[] = {
	OBJECT_IS("sample"),
	{ "node", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "its id; null: of a machine" },
	{ "agent", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "the machine's agent; null: of a node" },
	TIME("at", FIELD_REQUIRED | FIELD_NULL),
	{ "measures", SCHEMA_REF, FIELD_REQUIRED, "np.Measures", 0, 0, "those that are known at that time" },
	{ "gpus", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Measures", 0, 0, "the same of each GPU" },
	TIME("from", FIELD_REQUIRED),
	{ "step", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, RING_STEP, 3600, "seconds of each point of a curve" },
	{ "cpu", SCHEMA_REF, FIELD_REQUIRED, "np.Curve", 0, 0, "in the unit of the measure; the last point is now" },
	{ "use", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Curve", 0, 0, "of each GPU" },
	{ "gpu_hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.GpuHost", 0, 0,
		"of a machine: which of its GPUs the running nodes of its hosts have" },
	{ 0 },
};

static const struct schema_field np_samples_gpu_host[] = {
	{ "gpu", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "its place in gpus" },
	{ "host", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "id" },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the host" },
	{ 0 },
};

static const struct schema_field np_samples_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("now", FIELD_REQUIRED),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.SampleRow", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_samples[] = {
	{ "np.Curve", SCHEMA_ARRAY, "any", 0, 360, NULL, NULL, "means, oldest first; null: not known" },
	{ "np.GpuHost", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_samples_gpu_host, NULL },
	{ "np.SampleRow", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_samples_row, NULL },
	{ "np.SampleList", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_samples_list, NULL },
	{ 0 },
};

const struct route api_np_sample_routes[] = {
	{ METHOD_GET, "/np/v1/samples", get_samples, SCOPE_READ | SCOPE_HOST, 0,
		"Get what your live nodes, the nodes named, or your machines measured last, with curves of use",
		"node:array,machines:boolean,minutes:integer,limit:integer,starting_after:string", NULL,
		"np.SampleList", 200 },
	{ 0 },
};
