/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/verbs/command_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/flags.h"
#include "agentd/ns/image.h"
#include "agentd/machine/inventory.h"
#include "agentd/market/http_child.h"
#include "agentd/market/http_main.h"
#include "agentd/datadir.h"
#include "agentd/run.h"
#include "agentd/verbs/verbs.h"

enum { USAGE = 2 };

/* Prints one line, whatever the text contains. */
static void command_line_act_to_stderr(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "nanopod-agentd: %.*s\n", (int)strcspn(text, "\r\n"), text);
}

static int command_line_verb_drivers(const struct flags *o, drivers all)
{
	struct datadir_setup place;

	datadir_setup(&place, o, NULL);
	return drivers_verb(all, o->driver, &place.setup, o->json, stdout);
}

/* Without --driver nobody has to wait for probes. */
static int command_line_verb_inventory(const struct flags *o, drivers all)
{
	const struct driver *d = drivers_find(all, o->driver);
	struct inventory_setup setup = { .root = o->sysfs_root, .data = o->data };
	struct driver_terms terms;
	struct datadir_setup place;
	int turn, status;

	datadir_setup(&place, o, NULL);
	drivers_terms(d, &place.setup, &terms);
	drivers_tell(d, &terms, &setup);
	status = verb_turn(o, &turn);
	status = status ? status : inventory_verb(&setup, o->json, stdout, stderr);
	if (turn >= 0)
		close(turn);
	return status;
}

static int command_line_verb(const struct flags *o, drivers all)
{
	if (strcmp(o->verb, "join") == 0)
		return verb_join(o, all);
	if (strcmp(o->verb, "image") == 0)
		return image_verb(o->images, o->word_count, o->words, o->json, stdout, stderr);
	if (strcmp(o->verb, "power") == 0)
		return verb_power(o);
	if (strcmp(o->verb, "gpus") == 0)
		return verb_gpus(o);
	if (o->word_count) {
		fprintf(stderr, "nanopod-agentd: unexpected argument '%s'\n", o->words[0]);
		return USAGE;
	}
	if (strcmp(o->verb, "leave") == 0)
		return verb_leave(o);
	if (strcmp(o->verb, "status") == 0)
		return verb_status(o);
	if (strcmp(o->verb, "halt") == 0)
		return verb_halt(o, all);
	if (strcmp(o->verb, "drivers") == 0)
		return command_line_verb_drivers(o, all);
	if (strcmp(o->verb, "inventory") == 0)
		return command_line_verb_inventory(o, all);
	if (strcmp(o->verb, "verify") == 0)
		return verb_verify(o, all);
	fprintf(stderr,
		"nanopod-agentd: no verb '%s'; "
		"available: join, leave, status, halt, drivers, gpus, inventory, verify, power, image\n",
		o->verb);
	return USAGE;
}

int command_line(int argc, char **argv, drivers all)
{
	struct log log = { .sink = command_line_act_to_stderr };
	struct flags o;
	int status;

	if (argc == 2 && strcmp(argv[1], HTTP_VERB) == 0)
		return http_main();
	status = flags_read(&o, argc, argv);
	if (status >= 0)
		return status;
	umask(077);
	log.level = o.level;
	return o.verb ? command_line_verb(&o, all) : run(&o, all, &log);
}
