/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of itself is never trusted; what scripts get of it is one line a node. */
#include <errno.h>

#include "cli/provision/model/facts.h"

#include "../../lib/tap.h"

static void refused(const char *text, size_t len, const char *says)
{
	struct facts facts = { 0 };
	struct fail f = { 0 };

	is_int(facts_parse(text, len, &facts, &f), -EPROTO, "refused: %s", says);
	has_str(f.text, says, "and says so");
	ok(!facts.known && facts.pairs.count == 0, "and nothing of it is kept");
	facts_release(&facts);
}

static void test_parse(void)
{
	static const char text[] = "hostname=n1\n\nkernel=6.1=x\nempty=\ncpus=8\ncpus=16\nfree=many\ngpu_0=nvidia h100 "
				   "0000:01:00.0 nvidia";
	struct facts facts = { 0 };
	struct fail f = { 0 };

	if (!ok(facts_parse(text, strlen(text), &facts, &f) == 0, "facts are read: %s", f.text))
		return;
	ok(facts.known, "the node is known then");
	is_str(facts_get(&facts, "hostname"), "n1", "a value");
	is_str(facts_get(&facts, "kernel"), "6.1=x", "a value with '='");
	is_str(facts_get(&facts, "empty"), "", "an empty one");
	is_str(facts_get(&facts, "nothing"), "", "one that was not said");
	is_int(facts_number(&facts, "cpus", -1), 16, "the last of a key counts");
	is_int(facts_number(&facts, "free", -1), -1, "what is no number");
	is_int(facts_number(&facts, "nothing", 3), 3, "nor was said");
	is_str(facts_get(&facts, "gpu_0"), "nvidia h100 0000:01:00.0 nvidia", "the last line needs no end");
	ok(facts_parse("a=1\n", 4, &facts, &f) == 0 && facts.pairs.count == 1,
		"facts that are taken again replace what there was");
	facts_release(&facts);
	ok(facts_parse("", 0, &facts, &f) == 0 && facts.known, "no facts are facts");
	facts_release(&facts);
}

static void test_refused(void)
{
	char *big = malloc(FACTS_BYTES + 2);
	size_t len = 0;

	refused("hostname\n", 9, "line 1 of its facts is not 'key=value'");
	refused("a=1\n=x\n", 7, "line 2 of its facts is not 'key=value'");
	refused("Host=x", 6, "is not 'key=value'");
	refused("a;rm=x", 6, "is not 'key=value'");
	refused("a\0b=x", 5, "is not 'key=value'");
	refused("a=\033[31m", 7, "the fact 'a' has a control byte");
	refused("a=x\0y", 5, "the fact 'a' has a control byte");
	refused("a=x\ty", 5, "the fact 'a' has a control byte");
	refused("a=x\r\n", 5, "the fact 'a' has a control byte");
	refused("a=\302\233", 4, "the fact 'a' has a control byte");
	refused("cpus=8 State=DOWN", 17, "the fact 'cpus' is not a number");
	refused("mtu=\n", 5, "the fact 'mtu' is not a number");
	refused("ssh_port=-1", 11, "the fact 'ssh_port' is not a number");
	refused("memory_mb=1234567890123456", 26, "the fact 'memory_mb' is not a number");
	refused("gpu_0=nvidia h100,x", 19, "the fact 'gpu_0' is not the name of a device");
	refused("gpu_12=nvidia a=b", 17, "the fact 'gpu_12' is not the name of a device");
	refused("rdma_0=mlx5_0|x", 15, "the fact 'rdma_0' is not the name of a device");
	if (!big)
		abort();
	memset(big, 'x', FACTS_BYTES + 2);
	big[0] = 'a';
	big[1] = '=';
	refused(big, FACTS_VALUE + 3, "the fact 'a' is longer than 4096 bytes");
	refused(big, FACTS_BYTES + 1, "more than 262144 bytes of facts");
	memset(big, 'k', 101);
	big[101] = '=';
	refused(big, 103, "is not 'key=value'");
	for (int i = 0; i <= FACTS_KEYS; i++)
		len += (size_t)snprintf(big + len, FACTS_BYTES - len, "k%d=\n", i);
	refused(big, len, "more than 2000 facts");
	free(big);
}

static void test_names(void)
{
	static const char *const good[] = { "n1", "a-b", "N1.example.com", "1" };
	static const char *const bad[] = { "", "-a", "a-", "a_b", "a b", "a;b", "$(x)", "a..b", ".a", "a.", "a/b",
		"a\nb", "a234567890123456789012345678901234567890123456789012345678901234" };

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(facts_hostname(good[i]), "'%s' is a host's name", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!facts_hostname(bad[i]), "'%s' is none", bad[i]);
	ok(facts_address("10.0.0.1") && facts_address("fe80::1") && !facts_address("") &&
			!facts_address("10.0.0.1;x") && !facts_address("n1"),
		"what is an address");
}

static void test_table(void)
{
	struct stack base = { .name = (char[]){ "base" },
		.roles = { { .name = (char[]){ "nodes" } } },
		.role_count = 1 };
	struct stack toy = { .name = (char[]){ "toy" },
		.roles = { { .name = (char[]){ "head" } }, { .name = (char[]){ "work" } } },
		.role_count = 2 };
	char *members[] = { (char[]){ "root@n1" }, (char[]){ "n2" }, (char[]){ "n3" }, (char[]){ "n4" } };
	unsigned char all[] = { 1, 1, 1, 0 }, some[] = { 3, 2, 0, 0 };
	struct cluster c = { .members = members, .count = 4, .use_count = 2, .uses = { { .stack = &base, .roles = all },
		{ .stack = &toy, .roles = some } } };
	struct facts facts[4] = { 0 };
	const char *const keys[] = { "gpu_", "cpus", NULL };
	struct buf out;
	static const char *const texts[] = {
		"hostname=n1\naddress=10.0.0.1\ncpus=8\nkernel=6.1\ngpu_count=1\ngpu_0=nvidia h100",
		"hostname=$(reboot)\naddress=a b\n", NULL, "hostname=n4"
	};

	for (size_t i = 0; i < 4; i++)
		if (texts[i])
			facts_parse(texts[i], strlen(texts[i]), &facts[i], NULL);
	buf_init(&out, 1 << 20);
	is_int(facts_table(&c, facts, keys, &out), 0, "the table of all");
	is_str(buf_text(&out),
		"root@n1\tn1\t10.0.0.1\tbase.nodes,toy.head,toy.work\tcpus=8\tgpu_count=1\tgpu_0=nvidia h100\n"
		"n2\t-\t-\tbase.nodes,toy.work\nn4\tn4\t-\t-\n",
		"who is known, with names that are names, and the facts that were asked for");
	buf_release(&out);
	buf_init(&out, 20);
	ok(facts_table(&c, facts, keys, &out) < 0, "a table that does not fit is no table");
	buf_release(&out);
	for (size_t i = 0; i < 4; i++)
		facts_release(&facts[i]);
}

int main(void)
{
	plan_none;
	test_parse();
	test_refused();
	test_names();
	test_table();
	return done();
}
