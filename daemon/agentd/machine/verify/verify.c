/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/verify/verify.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/verify/verify_device.h"
#include "base/buf.h"
#include "base/clock.h"

enum { DEADLINE = 60 * 1000 };

static const struct {
	const char *name;
	verify_fn run;
	const char *silent; /* what to do if it gives no answer */
	int deadlines;      /* how many it may take: it has children with one each */
} checks[] = {
	{ "disk", verify_disk, "look for disk errors in 'dmesg'", 1 },
	{ "memory", verify_memory, "memtester; look for memory errors in 'dmesg'", 1 },
	{ "links", verify_links, "look for PCI errors in 'dmesg'", 1 },
	{ "network", verify_network, "check the network: 'ip route', 'ping'", 1 },
	{ "clock", verify_clock, "", 1 },
	{ "ssh", verify_ssh, "check the network: 'ip route', 'ping'", 1 },
	{ "drivers", verify_drivers, "nanopod host drivers", 1 },
	{ "opencl", verify_opencl, "clinfo; if it hangs too, restart the machine", CHALLENGE_GPUS + 2 },
	{ "gpu", verify_gpus, "nvidia-smi; if it hangs too, restart the machine", CHALLENGE_GPUS + 2 },
};

/* ---- One check, in a child ------------------------------------------------------------------------- */

struct job {
	const struct verify_setup *setup;
	verify_fn run;
};

static int verify_work(void *arg, int fd)
{
	const struct job *j = arg;
	struct claim list[VERIFY_EACH];
	int count = 0;

	memset(list, 0, sizeof list);
	j->run(j->setup, list, &count);
	return gpuchild_write(fd, list, (size_t)count * sizeof *list);
}

static int verify_run_one(const struct verify_setup *s, size_t i, struct claim list[VERIFY_EACH])
{
	struct job j = { s, checks[i].run };
	struct fail why = { 0 };
	struct buf told;
	int count = 0;

	buf_init(&told, VERIFY_EACH * sizeof *list + 1);
	if (gpuchild_run(verify_work, &j, s->deadline_ms * checks[i].deadlines, &told, &why) ||
		told.len % sizeof *list) {
		struct claim *r = verify_begin(list, &count, checks[i].name);

		verify_fail(r, checks[i].silent, "%s", *why.text ? why.text : "its answer is invalid");
	} else if (told.len) {
		memcpy(list, told.data, told.len);
		count = (int)(told.len / sizeof *list);
	}
	buf_release(&told);
	return count;
}

/* ---- All checks --------------------------------------------------------------------------------------- */

static int verify_show(FILE *out, const struct claim *c)
{
	struct buf text;
	int rc;

	buf_init(&text, 2048);
	rc = claim_text(c, &text);
	rc = rc || fputs(buf_text(&text), out) < 0 || fflush(out) ? -EIO : 0;
	buf_release(&text);
	return rc;
}

/* Nobody else gave a nonce, so nobody can know this one either. */
static int verify_make_nonce(char room[CLAIMS_NONCE])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -EIO;
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(room + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int verify_run(const struct verify_setup *given, FILE *show, struct claims *out)
{
	struct claims c = { .at = time(NULL) };
	struct verify_setup s = *given;
	struct claim list[VERIFY_EACH];
	int rc = 0;

	if (given->nonce)
		snprintf(c.nonce, sizeof c.nonce, "%s", given->nonce);
	else
		rc = verify_make_nonce(c.nonce);
	s.nonce = c.nonce;
	s.before = &c;
	s.deadline_ms = given->deadline_ms > 0 ? given->deadline_ms : DEADLINE;
	s.ends_ms = given->within_ms > 0 ? clock_ms() + given->within_ms : 0;
	for (size_t i = 0; !rc && i < sizeof checks / sizeof *checks; i++) {
		int count = verify_run_one(&s, i, list);

		for (int k = 0; !rc && k < count; k++) {
			rc = claims_add(&c, &list[k]);
			rc = rc || !show ? rc : verify_show(show, &list[k]);
		}
	}
	if (rc)
		claims_release(&c);
	else
		*out = c;
	return rc;
}
