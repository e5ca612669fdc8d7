/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as rules and any as the input: decided or refused; the decision is within its bounds and reads back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void policy_check(const struct rules *rules, const json_t *input)
{
	struct decision d, again;
	struct fail f = { 0 };
	json_t *doc;

	rules_decide(rules, input, &d);
	if (d.rate_ppm < 0 || d.rate_ppm > RATE_FULL || d.nodes < 0 || d.minutes < 0 || d.price < 0 || !*d.rule)
		abort();
	doc = decision_json(&d);
	if (!doc || decision_read(doc, &again, &f) != 0 || again.rate_ppm != d.rate_ppm || again.allow != d.allow ||
		again.nodes != d.nodes || again.minutes != d.minutes || again.price != d.price)
		abort();
	json_decref(doc);
}

/* Rules, a NUL, the input. The input is also an answer from elsewhere. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	json_t *input = end ? json_loadb((const char *)end + 1, size - len - 1, JSON_ALLOW_NUL, NULL) : NULL;
	struct rules *rules = NULL;
	struct decision d;
	struct fail f = { 0 };

	if (decision_read(input, &d, &f) != 0 && !*f.text)
		abort();
	f.text[0] = '\0';
	if (rules_parse(&rules, "fuzz", size ? (const char *)data : "", len, &f) == 0)
		policy_check(rules, input);
	else if (!*f.text)
		abort();
	rules_free(rules);
	json_decref(input);
	return 0;
}
