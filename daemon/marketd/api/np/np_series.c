/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: agents send what machines, GPUs and nodes measure; a buyer reads that of his nodes, for the time in which
 * they were his, and an owner that of his machines. It is worth nothing to the ledger: what cannot be kept is dropped.
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
	SAMPLES_MOST = 60,  /* in one request */
	AHEAD_SECONDS = 60, /* an agent's clock may be ahead of ours by so much */
	GPUS_MOST = 64,     /* of a machine or node */
	HOUR = 3600,
	POINTS_USUAL = 360,
	POINTS_MOST = 1500,   /* in one series */
	NUMBERS_MOST = 60000, /* in one answer: mean and largest of each point */
};

/* ---- From agents ----------------------------------------------------------------------------- */

/* What one sample says, as columns. */
struct np_sample {
	struct ring_key keys[RING_COLUMNS_MAX];
	double values[RING_COLUMNS_MAX];
	size_t count;
};

/* Names that this version does not know are left out: an agent may be newer. */
static void np_series_add(struct np_sample *s, enum metric_of of, uint64_t id, uint32_t index, const json_t *measures)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)measures, name, value)
	{
		const struct metric *m = metric_find(of, name);

		if (!m || !json_is_number(value) || s->count == RING_COLUMNS_MAX)
			continue;
		s->keys[s->count] = (struct ring_key){ id, m->number, index };
		s->values[s->count++] = json_number_value(value);
	}
}

static void np_series_add_gpus(struct np_sample *s, enum metric_of of, uint64_t id, const json_t *gpus)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu) np_series_add(s, of, id, (uint32_t)i, gpu);
}

/* A node's samples belong to its host: it has one at a time, and hosts are fewer. */
static void np_series_add_node(const struct api *api, const struct agent *a, struct np_sample *s, const json_t *node)
{
	const struct engine *e = market_engine(api->market);
	const struct instance *i = NULL;
	const struct host *h = NULL;
	uint64_t id;

	if (ident_parse(IDENT_INSTANCE, body_text(node, "id"), &id))
		i = engine_instance(e, id);
	if (i && i->host)
		h = engine_host(e, i->host);
	if (!h || h->agent != a->id)
		return;
	np_series_add(s, METRIC_OF_NODE, h->id, 0, json_object_get(node, "measures"));
	np_series_add_gpus(s, METRIC_OF_NODE_GPU, h->id, json_object_get(node, "gpus"));
}

static int np_series_keep(struct api *api, const struct agent *a, const json_t *sample, struct np_sample *s,
	struct fail *why)
{
	int64_t at = body_int(sample, "at", 0), now = market_now(api->market);
	const json_t *node;
	size_t n;

	if (at > now + AHEAD_SECONDS)
		return 0;
	at = at < now ? at : now; /* a clock that is ahead tells the next buyer nothing of this one */
	s->count = 0;
	np_series_add(s, METRIC_OF_MACHINE, 0, 0, json_object_get(sample, "machine"));
	np_series_add_gpus(s, METRIC_OF_GPU, 0, json_object_get(sample, "gpus"));
	json_array_foreach(json_object_get(sample, "nodes"), n, node) np_series_add_node(api, a, s, node);
	return series_put(api->series, a->id, at, s->keys, s->values, s->count, why);
}

static int post_samples(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = q->agent ? engine_agent(market_engine(api->market), q->agent) : NULL;
	struct np_sample *s = calloc(1, sizeof *s);
	struct fail why = { 0 };
	const json_t *sample;
	int rc = s ? 0 : -1;
	size_t n;

	if (!a) {
		free(s);
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"only an agent may do this, with the token of its session");
	}
	json_array_foreach(json_object_get(q->body, "samples"), n, sample)
		rc = rc ? rc : np_series_keep(api, a, sample, s, &why);
	free(s);
	if (rc)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s",
			*why.text ? why.text : "the market is out of memory; nothing was done");
	return api_nothing(r);
}

/* ---- For people ------------------------------------------------------------------------------- */

/* Whose series, and the time in which the caller may see them. */
struct np_view {
	uint64_t agent, host; /* host: a node's alone; 0: the machine's */
	uint64_t node;
	int64_t since, until;
};

/* A node's, from when it got its host until the minute of its end, which is the next one's first. false: refused. */
static bool np_series_of_node(struct api *api, const struct request *q, struct reply *r, const char *text,
	struct np_view *v)
{
	const struct engine *e = market_engine(api->market);
	const struct instance *i = find_instance(e, q->account, text);
	const struct host *h;

	if (!np_may(q, r, SCOPE_READ))
		return false;
	if (!i) {
		api_refuse(q, r, REASON_NOT_FOUND, "node", "no node '%s' in this account", text);
		return false;
	}
	h = engine_host(e, i->host ? i->host : i->had);
	*v = (struct np_view){ .node = i->id,
		.agent = h ? h->agent : 0,
		.host = h ? h->id : 0,
		.since = i->placed_at ? i->placed_at : i->created_at,
		.until = i->host ? INT64_MAX : (render_ended_at(i) ? render_ended_at(i) : i->updated_at) / 60 * 60 };
	return true;
}

static bool np_series_of_agent(struct api *api, const struct request *q, struct reply *r, const char *text,
	struct np_view *v)
{
	const struct engine *e = market_engine(api->market);
	const struct agent *a = NULL;
	uint64_t id;

	if (!np_may(q, r, SCOPE_HOST))
		return false;
	if (ident_parse(IDENT_AGENT, text, &id))
		a = engine_agent(e, id);
	else if (q->account)
		a = engine_agent_named(e, q->account, text);
	if (!a || (q->account && a->account != q->account)) {
		api_refuse(q, r, REASON_NOT_FOUND, "agent", "no agent '%s'", text);
		return false;
	}
	*v = (struct np_view){ .agent = a->id, .until = INT64_MAX };
	return true;
}

/* The nodes or the agent of the query. Returns how many; 0: refused. */
static size_t np_series_views(struct api *api, const struct request *q, struct reply *r, struct np_view *list)
{
	const char *agent = api_query(q, "agent"), *node;
	size_t count = 0;

	if (!api_query(q, "node") == !agent) {
		api_refuse(q, r, REASON_INVALID, agent ? "agent" : "node",
			"series are of nodes or of one agent: name 'node' or 'agent'");
		return 0;
	}
	if (agent)
		return np_series_of_agent(api, q, r, agent, list);
	for (; (node = api_query_at(q, "node", count)); count++)
		if (!np_series_of_node(api, q, r, node, &list[count]))
			return 0;
	return count;
}

/* From, to, and a step that is not too small for them. */
static bool np_series_span(struct api *api, const struct request *q, struct reply *r, struct ring_span *span)
{
	int64_t now = market_now(api->market), from, to, step;

	if (!api_query_int(q, r, "to", 0, SECONDS_MAX, now, &to) ||
		!api_query_int(q, r, "from", 0, SECONDS_MAX, to > HOUR ? to - HOUR : 0, &from) ||
		!api_query_int(q, r, "step", RING_STEP, 30 * 86400, 0, &step))
		return false;
	if (from >= to) {
		api_refuse(q, r, REASON_INVALID, "from", "'from' is before 'to'");
		return false;
	}
	if (!step)
		step = (to - from + POINTS_USUAL - 1) / POINTS_USUAL;
	if (from < now - RING_STEP * RING_ROWS && step < RING_COARSE_STEP)
		step = RING_COARSE_STEP; /* older than a day */
	step = step < RING_COARSE_STEP ? (step + RING_STEP - 1) / RING_STEP * RING_STEP
				       : (step + RING_COARSE_STEP - 1) / RING_COARSE_STEP * RING_COARSE_STEP;
	span->step = step;
	span->from = from / step * step;
	span->count = (size_t)((to - span->from + step - 1) / step);
	if (span->count <= POINTS_MOST)
		return true;
	api_refuse(q, r, REASON_INVALID, "step", "that is %zu points; at most %d are given at once: make 'step' larger",
		span->count, POINTS_MOST);
	return false;
}

/* Is the metric asked for? All are where none is named. */
static bool np_series_asked(const struct request *q, const struct metric *m)
{
	char full[METRIC_NAME];

	metric_full_name(m, full);
	for (size_t i = 0; api_query_at(q, "metric", i); i++)
		if (strcmp(api_query_at(q, "metric", i), full) == 0)
			return true;
	return !api_query(q, "metric");
}

/* Keeps the keys that the caller may see and asked for. */
static size_t np_series_choose(const struct request *q, const struct np_view *v, struct ring_key *keys, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct metric *m = metric_numbered(keys[i].metric);
		bool of_node = m && m->of >= METRIC_OF_NODE;

		if (m && of_node == (v->host != 0) && (!of_node || keys[i].id == v->host) && np_series_asked(q, m))
			keys[kept++] = keys[i];
	}
	return kept;
}

static json_t *np_series_number(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *np_series_one(const struct ring_key *key, const struct np_view *v, const struct ring_span *span,
	const double *mean, const double *largest)
{
	const struct metric *m = metric_numbered(key->metric);
	json_t *means = json_array(), *most = json_array();
	bool part = m->of == METRIC_OF_GPU || m->of == METRIC_OF_NODE_GPU;
	char full[METRIC_NAME];

	for (size_t i = 0; i < span->count; i++) {
		int64_t from = span->from + (int64_t)i * span->step;
		bool own = from >= v->since && from + (v->until == INT64_MAX ? 0 : span->step) <= v->until;

		json_array_append_new(means, np_series_number(own ? mean[i] : NAN));
		json_array_append_new(most, np_series_number(own ? largest[i] : NAN));
	}
	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o}", "node",
		v->node ? render_id(IDENT_INSTANCE, v->node) : json_null(), "metric", metric_full_name(m, full), "unit",
		m->unit, "gpu", part ? json_integer(key->index) : json_null(), "mean", means, "largest", most);
}

/* Adds the series of one node or agent to data. *left: how many numbers the answer has room for. 0 or refused. */
static int np_series_add_view(struct api *api, const struct request *q, struct reply *r, const struct np_view *v,
	const struct ring_span *span, json_t *data, size_t *left)
{
	double *mean = NULL, *largest = NULL;
	struct ring_key *keys = NULL;
	struct fail why = { 0 };
	size_t count = 0, numbers;
	int rc = v->agent ? series_keys(api->series, v->agent, &keys, &count, &why) : 0;

	count = rc ? 0 : np_series_choose(q, v, keys, count);
	numbers = count * span->count;
	if (numbers * 2 > *left) {
		free(keys);
		return api_refuse(q, r, REASON_INVALID, "metric",
			"that is too much for one answer; name the metrics that you want, or make 'step' larger");
	}
	*left -= numbers * 2;
	if (numbers) {
		mean = calloc(numbers, sizeof *mean);
		largest = calloc(numbers, sizeof *largest);
		rc = mean && largest ? series_read(api->series, v->agent, keys, count, span, mean, largest, &why) : -1;
	}
	for (size_t i = 0; i < count && !rc; i++)
		json_array_append_new(data,
			np_series_one(&keys[i], v, span, mean + i * span->count, largest + i * span->count));
	free(mean);
	free(largest);
	free(keys);
	return rc ? api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s", *why.text ? why.text : "out of memory") : 0;
}

static int get_series(struct api *api, const struct request *q, struct reply *r)
{
	size_t left = NUMBERS_MOST, count;
	struct np_view views[QUERY_MAX];
	struct ring_span span;
	json_t *data;
	int refused = 0;

	for (size_t i = 0; api_query_at(q, "metric", i); i++)
		if (!metric_named(api_query_at(q, "metric", i)))
			return api_refuse(q, r, REASON_INVALID, "metric", "no metric '%s'",
				api_query_at(q, "metric", i));
	count = np_series_views(api, q, r, views);
	if (!count || !np_series_span(api, q, r, &span))
		return r->status;
	data = json_array();
	for (size_t i = 0; i < count && !refused; i++)
		refused = np_series_add_view(api, q, r, &views[i], &span, data, &left);
	if (refused) {
		json_decref(data);
		return refused;
	}
	return api_json(q, r, 200,
		json_pack("{s:s, s:I, s:I, s:o}", "object", "series", "from", (json_int_t)span.from, "step",
			(json_int_t)span.step, "data", data));
}

/* ---- Tables ------------------------------------------------------------------------------------ */

static const struct schema_field np_series_node[] = {
	ID_OF("inst"),
	{ "measures", SCHEMA_REF, FIELD_NULL, "np.Measures", 0, 0, "those of 'node.…'" },
	{ "gpus", SCHEMA_ARRAY, FIELD_NULL, "np.Measures", 0, GPUS_MOST, "those of 'node.gpu.…', of each" },
	{ 0 },
};

static const struct schema_field np_series_sample[] = {
	TIME("at", FIELD_REQUIRED),
	{ "machine", SCHEMA_REF, FIELD_NULL, "np.Measures", 0, 0, "those of 'machine.…'" },
	{ "gpus", SCHEMA_ARRAY, FIELD_NULL, "np.Measures", 0, GPUS_MOST, "those of 'gpu.…', of each" },
	{ "nodes", SCHEMA_ARRAY, FIELD_NULL, "np.SampleNode", 0, 1024, "others than the agent's own are left out" },
	{ 0 },
};

static const struct schema_field np_series_samples[] = {
	{ "samples", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Sample", 1, SAMPLES_MOST, "oldest first" },
	{ 0 },
};

static const struct schema_field np_series_row[] = {
	{ "node", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "its id; null: of a machine" },
	{ "metric", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "such as node.cpu" },
	{ "unit", SCHEMA_ENUM, FIELD_REQUIRED, "ratio|bytes|bytes_per_second|celsius|watts|hertz|count|cores|number", 0,
		0, NULL },
	{ "gpu", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, GPUS_MOST, "which; null: it is of none" },
	{ "mean", SCHEMA_ARRAY, FIELD_REQUIRED, "any", 0, 0, "of each step; null: not known" },
	{ "largest", SCHEMA_ARRAY, FIELD_REQUIRED, "any", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field np_series_list[] = {
	OBJECT_IS("series"),
	TIME("from", FIELD_REQUIRED),
	{ "step", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, RING_STEP, INT64_MAX, "seconds" },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.SeriesRow", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_series[] = {
	{ "np.Measures", SCHEMA_MAP, "number", 0, 64, NULL, NULL,
		"numbers by the metric's name, the part after the dots" },
	{ "np.SampleNode", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_series_node, NULL },
	{ "np.Sample", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_series_sample, NULL },
	{ "np.SamplesRequest", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_series_samples, NULL },
	{ "np.SeriesRow", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_series_row, NULL },
	{ "np.Series", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_series_list, NULL },
	{ 0 },
};

const struct route api_np_series_routes[] = {
	{ METHOD_POST, "/np/v1/agent/samples", post_samples, SCOPE_AGENT, 0, "Send what a machine measured", NULL,
		"np.SamplesRequest", NULL, 204 },
	{ METHOD_GET, "/np/v1/series", get_series, SCOPE_READ | SCOPE_HOST, 0,
		"Get what nodes of yours or your machine measured: each 10 seconds of a day, 5 minutes of 90 days",
		"node:array,agent:string,metric:array,from:integer,to:integer,step:integer", NULL, "np.Series", 200 },
	{ 0 },
};
