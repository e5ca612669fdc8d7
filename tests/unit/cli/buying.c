/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of buying: limits that read back as enough, commands for hints, keys of nodes, names for completion. */
#include "../../lib/tap.h"
#include "../../lib/tool.h"

#include "cli/trade/quote.h"
#include "cli/frame/remember.h"
#include "cli/trade/reservation.h"
#include "cli/frame/retype.h"
#include "cli/frame/settings.h"
#include "cli/trade/cloudinit.h"
#include "market/money.h"

static void limits(void)
{
	static const unsigned gpus[] = { 0, 1, 3, 7, 8, 72 };
	uint64_t seed = 88172645463325252u;
	char room[MONEY_TEXT];

	is_str(quote_limit_text(240000, 8, room), "1.80", "cents, where it is whole ones");
	is_str(quote_limit_text(266667, 8, room), "2.00", "and where the grid is only near it");
	is_str(quote_limit_text(266668, 8, room), "2.00001", "the next step is another text");
	for (int i = 0; i < 2000; i++) {
		int64_t price, back = -1, less = -1;
		unsigned g = gpus[i % 6];
		struct fail f;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		price = (int64_t)(seed % 100000000) + 1;
		if (price_parse(quote_limit_text(price, g, room), g, &back, &f) || back < price) {
			ok(false, "the limit %s for %" PRId64 " of %u GPUs is enough: %" PRId64, room, price, g, back);
			return;
		}
		/* A micro-dollar of the unit is the finest that can be typed: no more than that too much. */
		less = back - price;
		if (less > (int64_t)(g ? g : 1) / 60 + 1) {
			ok(false, "the limit %s for %" PRId64 " of %u GPUs is not far above: %" PRId64, room, price, g,
				back);
			return;
		}
	}
	ok(true, "2000 limits are read back as enough, and as hardly more");
	is_int(quote_any_price(1, 60), 1000000000000, "a limit above all");
	ok(money_cost(quote_any_price(1024, 5256000), 1024, 5256000, &(int64_t){ 0 }) == 0,
		"that can be counted for the largest order too");
}

static const struct option rows[] = {
	{ "type", 't', OPTION_STRING, .help = "" },
	{ "nodes", 'n', OPTION_INT, .fallback = "1", .min = 1, .max = 9, .help = "" },
	{ "start", 's', OPTION_STRING, .help = "" },
	{ "ssh-key", 0, OPTION_LIST, .help = "" },
	{ "yes", 'y', OPTION_FLAG, .help = "" },
	{ "wait", 0, OPTION_OPTIONAL, .help = "" },
	{ "standing", 0, OPTION_FLAG, .help = "" },
	{ 0 },
};

static const struct command command = { .name = "buy", .options = rows, .flags = COMMAND_NO_SETTINGS };

static void typed(const char *want, const struct retype_change *changes, const char *what, const char **words,
	int count)
{
	const struct option *tables[COMMAND_TABLES];
	struct options *o = NULL;
	struct fail f = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	command_tables(&command, tables);
	is_int(option_parse(tables, false, count, (char **)words, &o, &f), 0, "%s is understood %s", what, f.text);
	if (changes)
		retype(&command, o, changes->name ? changes : NULL, &b);
	else
		retype_same(o, &b);
	is_str(buf_text(&b), want, "%s", what);
	option_free(o);
	buf_release(&b);
}

static void commands(void)
{
	static const struct retype_change none[] = { { 0 } }, other[] = { { "nodes", "3" }, { "start", NULL }, { 0 } };
	const char *plain[] = { "-t", "h100", "--nodes=2", "-s", "tomorrow 09:00", "-y", "--wait=5m", NULL };
	const char *twice[] = { "-n", "1", "--ssh-key", "b", "-y", "r-1", "--ssh-key", "a", "-n", "2", "--standing",
		NULL };
	const char *turned[] = { "--standing", "-n2", "r-1", "--ssh-key=a", "--ssh-key=b", "--wait", NULL };

	typed("nanopod buy -t h100 -n 2 -s 'tomorrow 09:00' -y --wait=5m", none, "the same again", plain, 7);
	typed("nanopod buy -t h100 -y --wait=5m -n 3", other, "another number, and no start", plain, 7);
	typed("--nodes=2\n--start=tomorrow 09:00\n--type=h100\n", NULL, "what makes it the same", plain, 7);
	typed("--nodes=2\n--ssh-key=a\n--ssh-key=b\n--standing=\nr-1\n", NULL,
		"of one that is typed twice the last counts", twice, 11);
	typed("--nodes=2\n--ssh-key=a\n--ssh-key=b\n--standing=\nr-1\n", NULL, "in any order", turned, 6);
}

static void keys(void)
{
	static const char good[] = "# mine\nssh-ed25519 AAAA me \"and\\ you\"\r\n\n",
			  secret[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
	const char *files[] = { "good.pub", "secret" };
	struct settings *s = NULL;
	struct fail f = { 0 };
	char *out = NULL;
	size_t count = 9;
	struct buf names;

	buf_init(&names, 4096);
	settings_new(&s);
	is_int(userdata_make(s, NULL, 0, &out, &count, &names, &f), 0, "no keys at all");
	ok(!out && count == 0, "are no document");
	tool_write("good.pub", good, sizeof good - 1, 0600);
	tool_write("secret", secret, sizeof secret - 1, 0600);
	is_int(userdata_make(s, files, 1, &out, &count, &names, &f), 0, "a key");
	is_str(out, "#cloud-config\nssh_authorized_keys: [\"ssh-ed25519 AAAA me \\\"and\\\\ you\\\"\"]\n",
		"is a document of cloud-init");
	is_int(count, 1, "with one");
	is_str(buf_text(&names), "good.pub", "and its file is named");
	free(out);
	out = NULL;
	ok(userdata_make(s, files, 2, &out, &count, &names, &f) < 0 && !out, "a private key is refused");
	has_str(f.text, "private key", "for what it is");
	ok(userdata_make(s, (const char *const[]){ "nothing" }, 1, &out, &count, &names, &f) < 0,
		"a file that was named and is not there is a mistake");
	mkdir(".ssh", 0700);
	tool_write(".ssh/id_rsa.pub", "ssh-rsa AAAA x\n", 15, 0600);
	is_int(userdata_make(s, NULL, 0, &out, &count, &names, &f), 0, "those in ~/.ssh");
	has_str(out, "ssh-rsa AAAA x", "are taken where none is named");
	has_str(buf_text(&names), "~/.ssh/id_rsa.pub", "and named as people write them");
	buf_release(&names);
	free(out);
	settings_free(s);
}

static char seen[256];

static void note(void *arg, const char *name, const char *help)
{
	size_t len = strlen(seen);

	(void)arg;
	snprintf(seen + len, sizeof seen - len, "%s=%s ", name, help ? help : "");
}

static const char *remembered(const char *where)
{
	seen[0] = '\0';
	remember_each("orders", where, note, NULL);
	return seen;
}

static void names(void)
{
	is_str(remembered("here"), "", "nothing is known at first");
	remember_all("orders", "here", (const char *const[]){ "a", "b\nc", "d" },
		(const char *const[]){ "one", "two", NULL }, 3);
	is_str(remembered("here"), "a=one d= ", "names, and none with what would break the file");
	remember_one("orders", "here", "d", "new\tone");
	is_str(remembered("here"), "d=new one a=one ", "one more, and the newer word on it");
	is_str(remembered("there"), "", "another market's are others");
}

static void parts(void)
{
	const struct model_span spans[] = { { 0, 60, 2 }, { 60, 120, 1 }, { 180, 240, 3 } };
	struct reservation_part p = { .spans = (struct model_span *)spans, .count = 3 };

	is_int(part_least(&p, 0, 120), 1, "the least over two spans");
	is_int(part_least(&p, 0, 60), 2, "over one");
	is_int(part_least(&p, 60, 200), 0, "over a gap");
	is_int(part_least(&p, 200, 300), 0, "past the end");
	is_int(part_most(&p), 3, "the most");
	is_int(part_nodes_at(&p, 60), 1, "at a moment");
	is_int(part_nodes_at(&p, 120), 0, "in the gap");
}

int main(void)
{
	if (!tool_begin())
		return 99;
	limits();
	commands();
	keys();
	names();
	parts();
	tool_end();
	return done();
}
