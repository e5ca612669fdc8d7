/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/flags.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum { USAGE = 2 };

enum flag {
	FLAG_DATA = 256,
	FLAG_DRIVER,
	FLAG_LISTEN,
	FLAG_ADDRESS,
	FLAG_FIRST_PORT,
	FLAG_IMAGES,
	FLAG_NO_UPLINK,
	FLAG_ALLOW_NET,
	FLAG_SYSFS,
	FLAG_KMSG,
	FLAG_METRICS,
	FLAG_CLOCK,
	FLAG_NAME,
	FLAG_TYPE,
	FLAG_NODES,
	FLAG_HOST,
	FLAG_PLAIN,
	FLAG_GRACE,
	FLAG_UNKNOWN,
	FLAG_SSH,
	FLAG_LOOK,
	FLAG_JSON,
	FLAG_DESTROY,
	FLAG_NONCE,
	FLAG_LAST,
	FLAG_BOM,
	FLAG_LEVEL,
	FLAG_HELP,
	FLAG_VERSION,
};

static const struct option rows[] = {
	{ "data", required_argument, NULL, FLAG_DATA },
	{ "driver", required_argument, NULL, FLAG_DRIVER },
	{ "listen", required_argument, NULL, FLAG_LISTEN },
	{ "address", required_argument, NULL, FLAG_ADDRESS },
	{ "first-port", required_argument, NULL, FLAG_FIRST_PORT },
	{ "images", required_argument, NULL, FLAG_IMAGES },
	{ "no-uplink", no_argument, NULL, FLAG_NO_UPLINK },
	{ "allow-net", required_argument, NULL, FLAG_ALLOW_NET },
	{ "sysfs-root", required_argument, NULL, FLAG_SYSFS },
	{ "kmsg", required_argument, NULL, FLAG_KMSG },
	{ "metrics", required_argument, NULL, FLAG_METRICS },
	{ "test-clock", required_argument, NULL, FLAG_CLOCK },
	{ "name", required_argument, NULL, FLAG_NAME },
	{ "type", required_argument, NULL, FLAG_TYPE },
	{ "nodes", required_argument, NULL, FLAG_NODES },
	{ "host", required_argument, NULL, FLAG_HOST },
	{ "plain", no_argument, NULL, FLAG_PLAIN },
	{ "grace", required_argument, NULL, FLAG_GRACE },
	{ "unknown-grace", required_argument, NULL, FLAG_UNKNOWN },
	{ "ssh-within", required_argument, NULL, FLAG_SSH },
	{ "look", required_argument, NULL, FLAG_LOOK },
	{ "json", no_argument, NULL, FLAG_JSON },
	{ "destroy", no_argument, NULL, FLAG_DESTROY },
	{ "nonce", required_argument, NULL, FLAG_NONCE },
	{ "bom", required_argument, NULL, FLAG_BOM },
	{ "last", no_argument, NULL, FLAG_LAST },
	{ "log-level", required_argument, NULL, FLAG_LEVEL },
	{ "help", no_argument, NULL, FLAG_HELP },
	{ "version", no_argument, NULL, FLAG_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: nanopod-agentd [options] [verb]\n"
	"\n"
	"Runs the nodes that were sold of this machine: asks the market which, then makes, watches and wipes\n"
	"them. Without a verb it does so in the foreground.\n"
	"\n"
	"  join URL       join the market with a token from standard input or NANOPOD_JOIN_TOKEN\n"
	"  leave          leave it; all that was sold must have ended\n"
	"  status         show this machine's identity and its nodes, from its own disk\n"
	"  halt           stop all nodes while no agent runs; their files stay, unless --destroy\n"
	"  drivers        list the drivers: which work here, what they isolate, what the others lack\n"
	"  gpus           list the GPUs of hosts: whose each is, which node has it; cdi | release ADDRESS\n"
	"  inventory      show this machine's hardware\n"
	"  verify         measure whether this machine is as good as it claims\n"
	"  power show | plan WORDS | set WORDS | sweep [gpu=N]\n"
	"                 show or set what this machine may draw: envelope=1440W psu=gold:1600W reserve=100W\n"
	"                 cpu=125W gpu=0:450W; for plan also price-kwh=0.30; sweep measures GPUs\n"
	"  image build [NAME] [--again] | list | remove NAME\n"
	"                 build, list or remove root images of nodes\n"
	"\n"
	"  --data DIR          folder with the identity and the nodes (default: " FLAGS_DATA ")\n"
	"  --driver NAME       driver of new nodes: vm, ns, process, host, auto (default: auto, the best here)\n"
	"  --listen ADDR       address that nodes' SSH ports listen on (default: 127.0.0.1)\n"
	"  --address NAME      address that buyers connect to (default: that of --listen)\n"
	"  --first-port N      first of those ports (default: 22000)\n"
	"  --images DIR        folder of root images (default: images in that of --data)\n"
	"  --no-uplink         keep nodes from other networks\n"
	"  --allow-net NET     let nodes reach this private network or address of this machine: CIDR[:PORT],\n"
	"                      e.g. 192.168.1.0/24 or 192.168.1.5:2049; repeatable\n"
	"  --sysfs-root DIR    read this tree instead of this machine's /sys and /proc\n"
	"  --kmsg FILE         read the kernel's messages here (default: /dev/kmsg)\n"
	"  --metrics FILE      write here what is measured, every 10 s, for Prometheus' node_exporter\n"
	"  --name NAME         join: name of this machine (default: its host name)\n"
	"  --type TYPE         join: type that its nodes are sold as\n"
	"  --nodes N           join: number of nodes that it is sold as (default: 1)\n"
	"  --host NAME=TYPE    join: one host by its name and type; repeatable\n"
	"  --plain             join: accept http:// to another machine\n"
	"  --grace S           seconds from the notice to the stop at a lease's end (default: 30)\n"
	"  --unknown-grace S   seconds until a node that nobody ordered is wiped (default: 600)\n"
	"  --ssh-within S      seconds until a node's SSH must answer (default: 300)\n"
	"  --look S            seconds between looks at what really runs (default: 15)\n"
	"  --test-clock FILE   take the time from this file, for tests\n"
	"  --json              verbs: print JSON\n"
	"  --destroy           halt: remove the nodes' files too\n"
	"  --nonce HEX         verify: number that the answer is for (default: a random one)\n"
	"  --bom FILE          verify: compare with a bill of materials, measure nothing\n"
	"  --last              verify: show the latest results, measure nothing\n"
	"  --log-level LEVEL   error, warn, info, debug (default: info)\n"
	"  --help, --version\n";

static int flags_complain(const char *name, const char *value, const char *forms)
{
	fprintf(stderr, "nanopod-agentd: '--%s %s' is invalid; use %s\n", name, value, forms);
	return USAGE;
}

static int flags_read_number(struct flags *o, int flag, const char *text)
{
	const struct {
		int flag;
		const char *name;
		long min, max, *to;
	} numbers[] = {
		{ FLAG_FIRST_PORT, "first-port", 1024, 65535 - 4096, &o->first_port },
		{ FLAG_NODES, "nodes", 1, FLAGS_HOSTS, &o->nodes },
		{ FLAG_GRACE, "grace", 0, 86400, &o->grace },
		{ FLAG_UNKNOWN, "unknown-grace", 0, 604800, &o->unknown_grace },
		{ FLAG_SSH, "ssh-within", 1, 86400, &o->ssh_within },
		{ FLAG_LOOK, "look", 1, 60, &o->look },
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		char range[80];

		if (numbers[i].flag != flag)
			continue;
		snprintf(range, sizeof range, "an integer from %ld to %ld", numbers[i].min, numbers[i].max);
		return str_to_long(text, numbers[i].min, numbers[i].max, numbers[i].to) == 0
			? -1
			: flags_complain(numbers[i].name, text, range);
	}
	return USAGE;
}

/* The agent works in another folder than it was called from, so relative paths become absolute. */
static int flags_take_path(char room[FLAGS_PATH], const char *name, const char *text)
{
	char here[PATH_MAX] = "";
	int n;

	if (*text != '/' && !getcwd(here, sizeof here))
		return flags_complain(name, text, "a non-empty path");
	n = snprintf(room, FLAGS_PATH, "%s%s%s", *text == '/' ? "" : here, *text == '/' ? "" : "/", text);
	while (n > 1 && n < FLAGS_PATH && room[n - 1] == '/')
		room[--n] = '\0';
	return n < FLAGS_PATH - 64 && *text ? -1 : flags_complain(name, text, "a shorter path");
}

/* node_exporter reads no other files, and says nothing of those that it leaves out. */
static int flags_take_metrics(struct flags *o, const char *text)
{
	size_t len = strlen(text);

	if (len < 6 || strcmp(text + len - 5, ".prom") != 0 || text[len - 6] == '/')
		return flags_complain("metrics", text,
			"a file whose name ends in .prom, in the folder that node_exporter's "
			"--collector.textfile.directory names");
	return flags_take_path(o->metrics, "metrics", text);
}

static int flags_read_host(struct flags *o, const char *text)
{
	const char *sign = strchr(text, '=');

	if (!sign || sign == text || !sign[1])
		return flags_complain("host", text, "NAME=TYPE");
	if (o->host_count == FLAGS_HOSTS)
		return flags_complain("host", text, "at most 64");
	o->hosts[o->host_count++] = text;
	return -1;
}

static int flags_read_opening(struct flags *o, const char *text)
{
	struct opening n;

	if (!opening_read(text, &n))
		return flags_complain("allow-net", text, "an IPv4 network, e.g. 192.168.1.0/24 or 192.168.1.5:2049");
	if (n.bits < OPENING_WIDEST)
		return flags_complain("allow-net", text,
			"a private network, e.g. 192.168.1.0/24; none is wider than /8");
	if (!opening_is_possible(&n))
		return flags_complain("allow-net", text,
			"another network: loopback, link-local and multicast addresses, 10.88.0.0/16 and 10.0.2.0/24 "
			"stay closed");
	if (o->open_count == FLAGS_OPEN)
		return flags_complain("allow-net", text, "at most 64");
	o->open[o->open_count++] = n;
	return -1;
}

static int read_flag(struct flags *o, int flag, const char *text)
{
	switch (flag) {
	case FLAG_DATA:
		return flags_take_path(o->data, "data", text);
	case FLAG_IMAGES:
		return flags_take_path(o->images, "images", text);
	case FLAG_DRIVER: o->driver = text; return -1;
	case FLAG_LISTEN: o->listen = text; return -1;
	case FLAG_ADDRESS: o->address = text; return -1;
	case FLAG_NO_UPLINK: o->uplink = false; return -1;
	case FLAG_ALLOW_NET:
		return flags_read_opening(o, text);
	case FLAG_SYSFS: o->sysfs_root = text; return -1;
	case FLAG_KMSG:
		o->kmsg = text;
		return -1;
	case FLAG_METRICS:
		return flags_take_metrics(o, text);
	case FLAG_CLOCK: o->test_clock = text; return -1;
	case FLAG_NAME: o->name = text; return -1;
	case FLAG_TYPE: o->type = text; return -1;
	case FLAG_HOST: return flags_read_host(o, text);
	case FLAG_PLAIN: o->plain = true; return -1;
	case FLAG_JSON: o->json = true; return -1;
	case FLAG_NONCE:
		o->nonce = text;
		return -1;
	case FLAG_BOM:
		o->bom = text;
		return -1;
	case FLAG_LAST:
		o->last = true;
		return -1;
	case FLAG_DESTROY: o->destroy = true; return -1;
	case FLAG_LEVEL:
		return log_level_read(text, &o->level)
			? -1
			: flags_complain("log-level", text, "error, warn, info or debug");
	case FLAG_HELP: fputs(help, stdout); return fflush(stdout) != 0;
	case FLAG_VERSION: puts("nanopod-agentd " PACKAGE_VERSION); return fflush(stdout) != 0;
	case '?': fputs("nanopod-agentd: 'nanopod-agentd --help' lists the options\n", stderr); return USAGE;
	default: return flags_read_number(o, flag, text);
	}
}

static int flags_add_word(struct flags *o, char *word)
{
	if (!o->verb) {
		o->verb = word;
		return -1;
	}
	if (o->word_count == FLAGS_WORDS - 1) {
		fprintf(stderr, "nanopod-agentd: unexpected argument '%s'\n", word);
		return USAGE;
	}
	o->words[o->word_count++] = word;
	return -1;
}

/* Options may stand before and after a verb; `image` has its own words that look like options. */
static int flags_read_all(struct flags *o, int argc, char **argv)
{
	int flag, rc = -1;

	while (rc < 0 && optind < argc) {
		bool raw = o->verb && strcmp(o->verb, "image") == 0 && strcmp(argv[optind], "--json") != 0;

		flag = raw ? -1 : getopt_long(argc, argv, "+", rows, NULL);
		if (flag != -1)
			rc = read_flag(o, flag, optarg);
		else if (optind < argc)
			rc = flags_add_word(o, argv[optind++]);
	}
	return rc;
}

int flags_read(struct flags *o, int argc, char **argv)
{
	int rc;

	*o = (struct flags){ .driver = "auto",
		.listen = "127.0.0.1",
		.first_port = 22000,
		.nodes = 1,
		.grace = 30,
		.unknown_grace = 600,
		.ssh_within = 300,
		.look = 15,
		.uplink = true,
		.level = LOG_INFO };
	rc = flags_read_all(o, argc, argv);
	if (rc >= 0)
		return rc;
	if (!*o->data)
		snprintf(o->data, sizeof o->data, "%s", FLAGS_DATA);
	if (!*o->images)
		snprintf(o->images, sizeof o->images, "%.*s/images", FLAGS_PATH - 16, o->data);
	if (!o->address)
		o->address = o->listen;
	return -1;
}
