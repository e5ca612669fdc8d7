/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A customer who pays and means ill: he makes whatever the API lets him make, as often as he can. The market's memory
 * and its files end where his quotas say; he hears which one it was, and can still end what he has.
 *
 * By hand with the market's own quotas and so many requests of each kind: tests/daemon/quota 20000
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "../lib/web.h"

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZER_KIB = 32 << 10 }; /* what it puts around each piece of memory */
#else
enum { SANITIZER_KIB = 0 };
#endif

enum {
	CONNS = 16,
	BODY_ROOM = 96 << 10,
	TAGS = 58,
	USER_DATA = 64000,
	PATIENCE_S = 300,
	SMALL = 2000, /* requests of a kind in `make check` */
	BRIEF = 50,   /* fewer than the quota, and three times as many are more */
	COUNT_INSTANCES = 40,
	COUNT_PROCUREMENTS = 30,
	AGENTS = 5,
	THINGS = 400, /* of small_quotas */
	TEXT_MIB = 2,
	JOURNAL_MIB = 8,
	AGENTS_MIB = 1,
	THING_KIB = 4,        /* more than a thing needs in memory beside its texts */
	SPARE_KIB = 12 << 10, /* caches and the write-ahead log, which do not grow with what a customer does */
	MEMORY_KIB = TEXT_MIB * 9 / 8 * 1024 + THINGS * THING_KIB + SPARE_KIB + SANITIZER_KIB,
	FILES_KIB = (JOURNAL_MIB + AGENTS_MIB) * 1024 + SPARE_KIB,
};

static const char *const small_quotas[] = { "--test-clock=1800000000", "--rate", "0", "--quota", "buyer:tokens=120",
	"--quota", "pools=60", "--quota", "agents=5", "--quota", "hosts=20", "--quota", "orders=80", "--quota",
	"instances=40", "--quota", "procurements=30", "--quota", "text=2", "--quota", "journal=8", "--quota",
	"agent-journal=1", NULL };
static const char *const own_quotas[] = { "--test-clock=1800000000", "--rate", "0", NULL };

static struct proc market;
static struct stage stage;
static struct web *web;
static char token[PROC_TEXT], *body;
static char tags[TAGS * 300], order[PROC_TEXT + 16], instance[PROC_TEXT + 32];
static bool check; /* with small_quotas, all of which are met */

/* ---- What it costs -------------------------------------------------------------------------- */

static int64_t files_kib(void)
{
	DIR *d = opendir(market.dir);
	int64_t sum = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		char path[PROC_TEXT + 300];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", market.dir, e->d_name);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			sum += st.st_size / 1024;
	}
	if (d)
		closedir(d);
	return sum;
}

/* ---- Many requests ------------------------------------------------------------------------- */

struct tally {
	int good, quota, waits, other;
	char text[512], last[PROC_TEXT]; /* of a refusal; the id of what was made last */
};

/* Fills path and body of the i-th request. */
typedef void (*flood_fn)(int i, char *path, size_t size);

static void tally_answer(struct tally *t, const struct web_answer *a)
{
	bool quota = a->status == 403 && strstr(a->body, "\"quota_exceeded\"");
	bool waits = a->status == 429 && strstr(a->body, "(quota '");

	t->good += a->status >= 200 && a->status < 300;
	t->quota += quota;
	t->waits += waits;
	if (quota || waits)
		snprintf(t->text, sizeof t->text, "%s", a->body);
	if (a->status >= 200 && a->status < 300) {
		json_field(a->body, "id", t->last);
	} else if (!quota && !waits && t->other++ < 3) {
		diag("%d %.300s", a->status, a->body);
	}
}

static struct tally flood(const char *what, const char *method, flood_fn fill, int count)
{
	struct tally t = { 0 };
	int64_t deadline = web_now_us() + (int64_t)PATIENCE_S * 1000000;
	char head[PROC_TEXT + 64], path[512];
	int next = 0, open = 0;

	snprintf(head, sizeof head, "Authorization: Bearer %s\r\n", token);
	while ((next < count || open) && web_now_us() < deadline) {
		struct web_answer a;

		for (int c = 0; c < CONNS && next < count; c++) {
			size_t len;
			char *bytes;

			if (web_busy(web, c))
				continue;
			fill(next++, path, sizeof path);
			bytes = web_request(method, path, head, body, &len);
			web_send(web, c, bytes, len);
			free(bytes);
			open++;
		}
		while (web_next(web, next < count ? 0 : 100, &a)) {
			tally_answer(&t, &a);
			open--;
		}
	}
	diag("%-16s %6d done, %d over a quota, %d to wait, %d else; memory %d KiB, files %d KiB", what, t.good, t.quota,
		t.waits, t.other, (int)proc_anon_kib(&market), (int)files_kib());
	return t;
}

static void fill_tags(void)
{
	size_t at = 0;

	for (int i = 0; i < TAGS; i++)
		at += (size_t)snprintf(tags + at, sizeof tags - at, "%s\"tag-%d\":\"%0250d\"", i ? "," : "", i, i);
}

static void fill_pool(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/pools");
	snprintf(body, BODY_ROOM, "{\"name\":\"pool-%d\",\"workspace\":\"default\",\"tags\":{%s}}", i, tags);
}

static void fill_patch(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/pools/%s", stage.pool);
	snprintf(body, BODY_ROOM, "{\"tags\":{\"n\":\"%d\",%s}}", i, tags);
}

static void fill_token(int i, char *path, size_t size)
{
	snprintf(path, size, "/np/v1/tokens");
	snprintf(body, BODY_ROOM, "{\"name\":\"token-%d\",\"scopes\":[\"read\"]}", i);
}

static void fill_order(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/orders");
	snprintf(body, BODY_ROOM,
		"{\"pool\":\"%s\",\"side\":\"buy\",\"instance_sku\":\"%s\",\"allocation_schedule_delta\":[{\"start_"
		"at\":%" PRId64 ",\"end_at\":%" PRId64
		",\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"0.01\","
		"\"allow_standing\":true}",
		stage.pool, stage.sku, stage.now + 86400 + i % 100 * 60, stage.now + 172800);
}

static void fill_procurement(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/procurements");
	snprintf(body, BODY_ROOM,
		"{\"pool\":\"pool-%d\",\"instance_sku\":\"%s\",\"target\":0,\"min_sell_price_dollars_per_node_hour\":"
		"\"0.01\","
		"\"max_buy_price_dollars_per_node_hour\":\"0.02\",\"managed_window_minutes\":60}",
		i, stage.sku);
}

static void fill_instance(int i, char *path, size_t size)
{
	(void)i;
	snprintf(path, size, "/v2/instances");
	snprintf(body, BODY_ROOM, "{\"pool\":\"%s\",\"image\":\"debian-12\",\"instance_sku\":\"%s\"}", stage.pool,
		stage.sku);
}

static void fill_large_instance(int i, char *path, size_t size)
{
	size_t at;

	(void)i;
	snprintf(path, size, "/v2/instances");
	at = (size_t)snprintf(body, BODY_ROOM,
		"{\"pool\":\"%s\",\"image\":\"debian-12\",\"instance_sku\":\"%s\",\"cloud_init_user_data\":\"",
		stage.pool, stage.sku);
	memset(body + at, 'A', USER_DATA);
	snprintf(body + at + USER_DATA, BODY_ROOM - at - USER_DATA, "\"}");
}

static void fill_host(int i, char *path, size_t size)
{
	snprintf(path, size, "/np/v1/hosts");
	snprintf(body, BODY_ROOM, "{\"name\":\"mine-%d\",\"instance_sku\":\"%s\"}", i, stage.sku);
}

static void fill_brief_pool(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/pools");
	snprintf(body, BODY_ROOM, "{\"name\":\"brief-%d\",\"workspace\":\"default\"}", i);
}

static void fill_pool_end(int i, char *path, size_t size)
{
	snprintf(path, size, "/v2/pools/brief-%d", i);
	*body = '\0';
}

/* ---- The checks ------------------------------------------------------------------------------ */

static void met(const struct tally *t, const char *quota)
{
	char word[64];

	if (!check)
		return;
	snprintf(word, sizeof word, "(quota '%s')", quota);
	ok((t->quota || t->waits) && !t->other && strstr(t->text, word) && strstr(t->text, "ask the operator for more"),
		"quota '%s' is met after %d, and told: %.220s", quota, t->good, t->text);
}

static int one(const char *method, const char *path, const char *text)
{
	char head[PROC_TEXT + 64];
	struct web_answer a = { 0 };
	size_t len;
	char *bytes;

	snprintf(head, sizeof head, "Authorization: Bearer %s\r\n", token);
	bytes = web_request(method, path, head, text, &len);
	web_send(web, 0, bytes, len);
	free(bytes);
	if (!web_next(web, PATIENCE_S * 1000, &a))
		return 0;
	if (a.status >= 400)
		diag("%s %s: %d %.300s", method, path, a.status, a.body);
	return a.status;
}

/* The way of a machine into the market: its token comes from the operator, who has no quotas. */
static bool agents_met(void)
{
	char own[PROC_TEXT], text[512];
	int status = 200;

	snprintf(own, sizeof own, "%s", token);
	for (int i = 0; i < 2 * AGENTS && status / 100 == 2; i++) {
		char *answer = proc_call(&market, "POST", "/np/v1/accounts/buyer/tokens", "{\"scopes\":[\"join\"]}",
			&status);

		json_field(answer, "token", token);
		free(answer);
		snprintf(text, sizeof text, "{\"name\":\"m-%d\",\"public_key\":\"%042dA=\",\"machine\":\"m-%d\"}", i, i,
			i);
		status = one("POST", "/np/v1/agents/join", text);
	}
	snprintf(token, sizeof token, "%s", own);
	return status == 403;
}

/* Who makes and ends things all the time, never many at once. */
static void test_brief(void)
{
	int good = 0;

	for (int round = 0; round < 3; round++) {
		good += flood("brief pools", "POST", fill_brief_pool, BRIEF).good;
		good += flood("deleted", "DELETE", fill_pool_end, BRIEF).good;
	}
	is_int(good, 6 * BRIEF, "deleted pools do not count as pools");
	for (good = 0; good < 3 * BRIEF; good++) {
		struct tally t = flood("token", "POST", fill_token, 1);
		char path[PROC_TEXT + 32];

		snprintf(path, sizeof path, "/np/v1/tokens/%s", t.last);
		if (!t.good || one("DELETE", path, NULL) != 204)
			break;
	}
	is_int(good, 3 * BRIEF, "nor revoked tokens as tokens");
}

static void flood_all(int count)
{
	struct tally t = flood("hosts", "POST", fill_host, count);

	met(&t, "hosts");
	t = flood("pools with tags", "POST", fill_pool, count);
	met(&t, "pools");
	t = flood("tokens", "POST", fill_token, count);
	met(&t, "tokens");
	t = flood("orders", "POST", fill_order, count);
	met(&t, "orders");
	snprintf(order, sizeof order, "/v2/orders/%s", t.last);
	t = flood("procurements", "POST", fill_procurement, check ? COUNT_PROCUREMENTS + 10 : count);
	met(&t, "procurements");
	t = flood("nodes", "POST", fill_instance, check ? COUNT_INSTANCES / 2 : count);
	snprintf(instance, sizeof instance, "/v2/instances/%s/terminate", t.last);
	t = flood("nodes with data", "POST", fill_large_instance, count);
	met(&t, "text");
	t = flood("nodes", "POST", fill_instance, check ? COUNT_INSTANCES : 0);
	met(&t, "instances");
	if (check)
		ok(agents_met(), "quota 'agents' is met");
	t = flood("tags changed", "PATCH", fill_patch, count);
	met(&t, "journal");
}

/* At all his limits at once. */
static void test_ends(void)
{
	char *answer;
	int status;

	is_int(one("POST", instance, "{}"), 200, "a node can still be stopped");
	is_int(one("DELETE", order, NULL), 204, "an order can still be cancelled");
	is_int(one("PATCH", "/np/v1/hosts/mine-0", "{\"down\":true}"), 200, "a host can still be taken down");
	is_int(one("PATCH", "/np/v1/hosts/mine-0", "{\"down\":false}"), 429, "which puts nothing on sale, as up would");
	is_int(one("POST", "/v2/pools", "{\"name\":\"late\",\"workspace\":\"default\"}"), 429,
		"nothing else can be made");
	answer = proc_call(&market, "POST", "/v2/pools?account=buyer", "{\"name\":\"late\",\"workspace\":\"default\"}",
		&status);
	is_int(status, 201, "but by the operator");
	free(answer);
	answer = proc_call(&market, "POST", "/np/v1/accounts/seller/tokens", "{\"scopes\":[\"read\",\"trade\"]}",
		&status);
	json_field(answer, "token", token);
	free(answer);
	is_int(one("POST", "/v2/pools", "{\"name\":\"mine\",\"workspace\":\"default\"}"), 201,
		"and by another customer");
	answer = proc_call(&market, "GET", "/metrics", NULL, &status);
	ok(answer && strstr(answer, "\nnanopod_quota_refused_total ") && !strstr(answer, "quota_refused_total 0\n"),
		"the operator sees that it happens");
	free(answer);
}

/* The journal of a generous day is read under a mean one. */
static void test_replay(void)
{
	static const char *const mean[] = { "--test-clock", "--quota", "pools=1", "--quota", "text=1", NULL };

	is_int(proc_end(&market, SIGKILL), SIGKILL, "the market dies");
	if (!ok(proc_start(&market, mean), "it starts with smaller quotas, and has all that was made"))
		return;
	web_free(web);
	web = web_new(market.port, CONNS);
	is_int(one("POST", "/v2/pools", "{\"name\":\"more\",\"workspace\":\"default\"}"), 403,
		"which hold from now on");
}

static bool quota_begin(void)
{
	char *text;
	int status;

	if (!proc_start(&market, check ? small_quotas : own_quotas) || !stage_set(&market, 1, &stage))
		return false;
	text = proc_call(&market, "POST", "/np/v1/accounts/buyer/tokens",
		"{\"scopes\":[\"read\",\"trade\",\"nodes\",\"tokens\",\"host\"]}", &status);
	status = text && json_field(text, "token", token);
	free(text);
	web = web_new(market.port, CONNS);
	return status;
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR"), *asan = getenv("ASAN_OPTIONS");
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16];
	int64_t memory, files;

	check = argc < 2;
	signal(SIGPIPE, SIG_IGN);
	/* The sanitizer keeps what is freed, to see it used; here it is what is measured. */
	snprintf(data, sizeof data, "%s%squarantine_size_mb=1", asan ? asan : "", asan ? ":" : "");
	setenv("ASAN_OPTIONS", data, 1);
	snprintf(dir, sizeof dir, "%s/nanopod-quota.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		skip_all("no folder can be made");
	snprintf(data, sizeof data, "%s/market", dir);
	body = malloc(BODY_ROOM);
	fill_tags();
	proc_init(&market, data);
	if (!ok(quota_begin(), "a market starts"))
		return done();
	memory = proc_anon_kib(&market), files = files_kib();
	if (check)
		test_brief();
	flood_all(check ? SMALL : (int)strtol(argv[1], NULL, 10));
	memory = proc_anon_kib(&market) - memory, files = files_kib() - files;
	diag("memory %d KiB more, files %d KiB more", (int)memory, (int)files);
	if (check) {
		ok(memory < MEMORY_KIB, "memory grew within the quotas (%d KiB, less than %d)", (int)memory,
			MEMORY_KIB);
		ok(files < FILES_KIB, "files grew within the quotas (%d KiB, less than %d)", (int)files, FILES_KIB);
		test_ends();
		test_replay();
	}
	web_free(web);
	is_int(proc_end(&market, SIGTERM), 0, "it ends cleanly");
	is_int(proc_run(&market, "check"), 0, "and its books are in order");
	proc_clear(&market);
	rmdir(dir);
	free(body);
	return done();
}
