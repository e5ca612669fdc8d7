/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what each condition means, at its edges; what a wrong file says; decisions from elsewhere. */
#include <string.h>

#include "marketd/policy/number.h"
#include "marketd/policy/rules.h"

#include "../../lib/tap.h"

static struct fail why;

/* Rules with one condition on account.x, asked with {"account":{"x":VALUE}}; value NULL: without x. */
static bool holds(const char *condition, const char *value)
{
	char text[400], input[400];
	struct rules *rules = NULL;
	struct decision d;
	json_t *doc;

	snprintf(text, sizeof text, "rules: [{name: it, when: {account.x: %s}, rate: 0}]\ndefault: {allow: true}\n",
		condition);
	snprintf(input, sizeof input, value ? "{\"account\":{\"x\":%s}}" : "{\"account\":{}}", value);
	doc = json_loads(input, JSON_ALLOW_NUL, NULL);
	if (!doc || rules_parse(&rules, "t", text, strlen(text), &why) != 0) {
		diag("%s or %s", why.text, input);
		exit(1);
	}
	rules_decide(rules, doc, &d);
	json_decref(doc);
	rules_free(rules);
	return strcmp(d.rule, "it") == 0 && d.rate_ppm == 0;
}

static const struct {
	const char *condition, *value;
	bool holds;
} condition_rows[] = {
	{ "{above: 50}", "50", false },
	{ "{above: 50}", "51", true },
	{ "{above: 50}", "\"50.0\"", false },
	{ "{above: 20}", "20.00001", true },
	{ "{above: 20}", "\"20.00001\"", true },
	{ "{above: 20}", "\"20.00000\"", false },
	{ "{above: -1}", "0", true },
	{ "{above: -1}", "-1.0", false },
	{ "{above: -1}", "\"-1.1\"", false },
	{ "{above: 0}", "\"-0.0\"", false },
	{ "{above: 0.1}", "0.1", false },
	{ "{above: 0.3}", "0.30000000000000004", true },
	{ "{above: 1}", "1e300", true },
	{ "{below: 1}", "1e-30", true },
	{ "{above: 1}", "\"1e300\"", false },
	{ "{above: 9223372036854775806}", "9223372036854775807", true },
	{ "{above: 99999999999999999999999999999999999999998}", "\"99999999999999999999999999999999999999999\"", true },
	{ "{below: 50}", "49", true },
	{ "{below: 50}", "50", false },
	{ "{below: 50}", "\"49.99999999999\"", true },
	{ "{at-least: 50}", "50", true },
	{ "{at-least: 50}", "49", false },
	{ "{at-most: 50}", "50", true },
	{ "{at-most: 50}", "51", false },
	{ "{at-least: 1, at-most: 4}", "5", false },
	{ "{at-least: 1, at-most: 4}", "4", true },
	{ "{above: 1}", "\"x\"", false },
	{ "{below: 1}", "\"x\"", false },
	{ "{above: 0}", "true", false },
	{ "{above: 0}", "[1]", false },
	{ "{above: 0}", "\"1\\u0000\"", false },
	{ "true", "true", true },
	{ "true", "\"true\"", true },
	{ "true", "false", false },
	{ "true", "1", false },
	{ "{is: acme}", "\"acme\"", true },
	{ "{is: acme}", "\"Acme\"", false },
	{ "{is: 5}", "\"5.00\"", true },
	{ "{is: 5}", "\"05\"", false },
	{ "{not: acme}", "\"other\"", true },
	{ "{not: acme}", "\"acme\"", false },
	{ "{not: acme}", NULL, false },
	{ "{not: acme}", "null", false },
	{ "{not: acme}", "[\"other\"]", false },
	{ "{in: [a, b]}", "\"b\"", true },
	{ "{in: [a, b]}", "\"c\"", false },
	{ "{in: [1, 2]}", "2.0", true },
	{ "{not-in: [a, b]}", "\"c\"", true },
	{ "{not-in: [a, b]}", "\"a\"", false },
	{ "{not-in: [a]}", NULL, false },
	{ "{has: a}", "[\"b\", \"a\"]", true },
	{ "{has: a}", "[\"b\"]", false },
	{ "{has: a}", "\"a\"", false },
	{ "{has: a}", "[[\"a\"]]", false },
	{ "{has: a}", "[]", false },
	{ "{has: a}", NULL, false },
	{ "{lacks: a}", "[\"b\"]", true },
	{ "{lacks: a}", "[]", true },
	{ "{lacks: a}", "[\"a\"]", false },
	{ "{lacks: a}", NULL, false },
	{ "{lacks: a}", "\"b\"", false },
	{ "{lacks: a}", "{}", false },
	{ "{has: a}", "[\"a\\u0000\"]", false },
	{ "a", "{\"a\":1}", false },
};

static void conditions(void)
{
	for (size_t i = 0; i < sizeof condition_rows / sizeof *condition_rows; i++)
		ok(holds(condition_rows[i].condition, condition_rows[i].value) == condition_rows[i].holds, "%s %s %s",
			condition_rows[i].value ? condition_rows[i].value : "none",
			condition_rows[i].holds ? "fits" : "does not fit", condition_rows[i].condition);
}

static int parse(const char *text, struct rules **out)
{
	why.text[0] = '\0';
	return rules_parse(out, "p", text, strlen(text), &why);
}

#define RULES(rule) "rules:\n" rule "\ndefault: {allow: true}\n"

/* What each slip says: where, in which rule, what to write. */
static const struct {
	const char *text, *says;
} slip_rows[] = {
	{ "rules: []\n", "'default' is missing; write 'default: {allow: true}' or 'default: {deny: REASON}'" },
	{ "default: {}\n", "rule 'default': a decision is missing; write 'allow: true'" },
	{ "default: {allow: false}\n", "'allow' must be true; to refuse, write 'deny: REASON'" },
	{ "default: {deny: }\n", "'deny' needs the reason that the buyer reads" },
	{ "default: {allow: true}\nrule: []\n", "unknown setting 'rule'; did you mean 'rules'?" },
	{ "default: {allow: true}\nrules: {a: b}\n", "'rules' needs a list" },
	{ RULES("- x"), "a rule needs 'name', 'when' and what it decides" },
	{ RULES("- {when: {time: x}, rate: 0}"), "line 2, column 3: this rule needs a name" },
	{ RULES("- {name: a b, when: {time: x}, rate: 0}"), "the name 'a b' must be up to 63 letters" },
	{ RULES("- {name: default, when: {time: x}, rate: 0}"), "give this rule another name" },
	{ RULES("- {name: a, when: {time: x}, rate: 0}\n- {name: a, when: {time: x}, rate: 0}"),
		"line 3, column 4: two rules have the name 'a'" },
	{ RULES("- {name: a, rate: 0}"), "rule 'a': 'when' is missing" },
	{ RULES("- {name: a, when: {}, rate: 0}"), "rule 'a': 'when' needs conditions" },
	{ RULES("- {name: a, whem: {time: x}, rate: 0}"), "rule 'a': unknown setting 'whem'; did you mean 'when'?" },
	{ RULES("- {name: a, when: {time: x}}"), "rule 'a': a decision is missing" },
	{ RULES("- {name: a, when: {time: x}, rate: 2}"), "rule 'a': 'rate' must be a number from 0 to 1, e.g. 0.5" },
	{ RULES("- {name: a, when: {time: x}, rate: 0.1234567}"), "rule 'a': 'rate' must be" },
	{ RULES("- {name: a, when: {time: x}, rate: -0.5}"), "rule 'a': 'rate' must be" },
	{ RULES("- {name: a, when: {time: x}, rate: [1]}"), "rule 'a': 'rate' must be" },
	{ RULES("- {name: a, when: {time: x}, rate: 0, deny: no}"), "rule 'a': 'deny' stands alone" },
	{ RULES("- {name: a, when: {time: x}, limits: {}}"), "rule 'a': 'limits' needs nodes, hours or price" },
	{ RULES("- {name: a, when: {time: x}, limits: {node: 1}}"), "unknown setting 'node'; did you mean 'nodes'?" },
	{ RULES("- {name: a, when: {time: x}, limits: {nodes: 0}}"), "'nodes' must be a whole number from 1" },
	{ RULES("- {name: a, when: {time: x}, limits: {nodes: 1.5}}"), "'nodes' must be a whole number from 1" },
	{ RULES("- {name: a, when: {time: x}, limits: {nodes: 4294967297}}"), "'nodes' must be a whole number" },
	{ RULES("- {name: a, when: {time: x}, limits: {hours: 0}}"), "'hours' must be hours above 0" },
	{ RULES("- {name: a, when: {time: x}, limits: {hours: 0.01}}"),
		"'hours' must be hours above 0 in whole minutes" },
	{ RULES("- {name: a, when: {time: x}, limits: {price: 0}}"), "'price' must be dollars per node-hour above 0" },
	{ RULES("- {name: a, when: {request.teir: x}, rate: 0}"),
		"line 2, column 20: rule 'a': unknown field 'request.teir'; did you mean 'request.tier'?" },
	{ RULES("- {name: a, when: {acount.x: y}, rate: 0}"),
		"rule 'a': unknown field 'acount.x'; write e.g. account." },
	{ RULES("- {name: a, when: {account.: y}, rate: 0}"), "unknown field 'account.'" },
	{ RULES("- {name: a, when: {account..x: y}, rate: 0}"), "unknown field 'account..x'" },
	{ RULES("- {name: a, when: {time: {over: 5}}, rate: 0}"),
		"rule 'a': 'time' has no condition 'over'; write is, not, in, not-in, above, below" },
	{ RULES("- {name: a, when: {time: {}}, rate: 0}"), "rule 'a': 'time' needs a condition, e.g. {above: 50}" },
	{ RULES("- {name: a, when: {time: [x]}, rate: 0}"),
		"'time: is' needs one text or number; for any of a list: in" },
	{ RULES("- {name: a, when: {time: }, rate: 0}"), "'time: is' needs one text or number" },
	{ RULES("- {name: a, when: {time: {in: x}}, rate: 0}"),
		"'time: in' needs a list, e.g. {in: [spot, reserved]}" },
	{ RULES("- {name: a, when: {time: {in: []}}, rate: 0}"), "'time: in' needs a list" },
	{ RULES("- {name: a, when: {time: {in: [{}]}}, rate: 0}"), "'time: in' needs texts or numbers in its list" },
	{ RULES("- {name: a, when: {time: {above: x}}, rate: 0}"),
		"'time: above' needs a number, e.g. 50 or 2.5, not 'x'" },
	{ RULES("- {name: a, when: {time: {above: 1e3}}, rate: 0}"), "'time: above' needs a number" },
	{ RULES("- {name: a, when: {time: {has: [x]}}, rate: 0}"), "'time: has' needs one text or number" },
};

static void slips(void)
{
	for (size_t i = 0; i < sizeof slip_rows / sizeof *slip_rows; i++) {
		struct rules *rules = NULL;

		ok(parse(slip_rows[i].text, &rules) < 0 && strstr(why.text, slip_rows[i].says), "refused: %s",
			why.text);
		rules_free(rules);
	}
}

static void order(void)
{
	struct rules *rules = NULL;
	struct decision d;
	json_t *input = json_pack("{s:{s:s, s:[s]}}", "account", "name", "acme", "groups", "student");

	rules_decide(NULL, input, &d);
	ok(d.allow && d.rate_ppm == RATE_FULL && !d.nodes && !d.minutes && !d.price && !*d.rule,
		"without rules all is allowed");
	ok(parse("rules:\n- {name: one, when: {account.name: acme, account.groups: {has: staff}}, rate: 0}\n"
		 "- {name: two, when: {account.name: acme}, rate: 0.25, limits: {nodes: 8, hours: 48.5, price: 2.50}, "
		 "reason: half}\n- {name: three, when: {account.name: acme}, deny: no}\ndefault: {deny: closed}\n",
		   &rules) == 0,
		"rules: %s", why.text);
	rules_decide(rules, input, &d);
	ok(strcmp(d.rule, "two") == 0 && d.allow && d.rate_ppm == 250000 && d.nodes == 8 && d.minutes == 2910 &&
			d.price == 41667 && strcmp(d.reason, "half") == 0,
		"the first rule of which all conditions hold decides all: %s, %d, %" PRId64, d.rule, d.rate_ppm,
		d.price);
	rules_decide(rules, NULL, &d);
	ok(!d.allow && strcmp(d.rule, "default") == 0 && strcmp(d.reason, "closed") == 0, "without input, the default");
	rules_free(rules);
	json_decref(input);
	is_int(rules_read(&rules, "/nonexistent/rules", &why), -2, "a file that is not there: %s", why.text);
}

static int reads(const char *text, struct decision *d)
{
	json_t *from = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	int rc;

	why.text[0] = '\0';
	rc = decision_read(from, d, &why);
	json_decref(from);
	return rc;
}

static void answers(void)
{
	static const char *const odd[] = { "null", "[]", "true", "{}", "{\"allow\":1}", "{\"allow\":\"true\"}",
		"{\"allow\":true,\"rate\":2}", "{\"allow\":true,\"rate\":-1}", "{\"allow\":true,\"rate\":true}",
		"{\"allow\":true,\"rate\":null}", "{\"allow\":true,\"rate\":1e-9}", "{\"allow\":true,\"rate\":\"\"}",
		"{\"allow\":true,\"rate\":\"0\\u0000\"}", "{\"allow\":true,\"limit\":{}}",
		"{\"allow\":true,\"limits\":[]}", "{\"allow\":true,\"limits\":{\"nodes\":0}}",
		"{\"allow\":true,\"limits\":{\"nodes\":-1}}", "{\"allow\":true,\"limits\":{\"node\":1}}",
		"{\"allow\":true,\"limits\":{\"rate\":1}}", "{\"allow\":true,\"limits\":{\"hours\":true}}",
		"{\"allow\":true,\"rule\":1}", "{\"allow\":true,\"nodes\":1}", "{\"allow\":true,\"rule\":\"a\\r\\nb\"}",
		"{\"allow\":true,\"reason\":\"a\\nb\"}", "{\"allow\":true,\"reason\":5}",
		"{\"allow\":true,\"limits\":{\"price\":1e300}}", "{\"billing_rate\":0,\"allow\":true}" };
	struct decision d = { .rate_ppm = 7 }, again;
	json_t *doc;

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		ok(reads(odd[i], &d) < 0 && d.rate_ppm == 7 && *why.text, "%s: %s", odd[i], why.text);
	ok(reads("{\"allow\":true}", &d) == 0 && d.allow && d.rate_ppm == RATE_FULL && !d.nodes,
		"allowed at full price");
	ok(reads("{\"allow\":true,\"rate\":0.5,\"limits\":{\"nodes\":8,\"hours\":\"48\",\"price\":2.5},\"rule\":\"a\","
		 "\"reason\":\"b\"}",
		   &d) == 0 &&
			d.rate_ppm == 500000 && d.nodes == 8 && d.minutes == 2880 && d.price == 41667,
		"numbers and texts: %s", why.text);
	doc = decision_json(&d);
	ok(decision_read(doc, &again, &why) == 0 && again.rate_ppm == d.rate_ppm && again.minutes == d.minutes &&
			again.price == d.price && again.nodes == d.nodes && strcmp(again.rule, "a") == 0 &&
			strcmp(again.reason, "b") == 0,
		"what we write, we read: %s", why.text);
	json_decref(doc);
	ok(reads("{\"allow\":false,\"rate\":0}", &d) == 0 && !d.allow, "denied");
}

int main(void)
{
	conditions();
	slips();
	order();
	answers();
	return done();
}
