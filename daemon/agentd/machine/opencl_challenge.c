/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/opencl_challenge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/challenge_check.h"
#include "base/clock.h"
#include "market/challenge.h"

enum {
	PIECES = 256,
	FIRST_ROUNDS = 256,
	MOST_ROUNDS = 65536,
	LONG_ENOUGH_US = 100 * 1000,
	READ_WRITE = 1,
	OPENCL_ERROR_MEMORY = -4,
	OPENCL_ERROR_SIZE = -61,
};

static const uint64_t absurd = 64ULL << 40;

/* i is this lane's number, d the number of lanes. Lanes count for themselves: old devices have no atomics. */
static const char program[] =
	"__kernel void fill(__global ulong *p, ulong n, ulong seed, ulong base) {\n"
	"  ulong i = get_global_id(0), d = get_global_size(0);\n"
	"  for (; i < n; i += d) p[i] = ((base + i) ^ seed) * 0x9e3779b97f4a7c15UL;\n}\n"
	"__kernel void look(__global const ulong *p, ulong n, ulong seed, ulong base, __global uint *wrong) {\n"
	"  ulong i = get_global_id(0), d = get_global_size(0); uint w = wrong[i], me = i;\n"
	"  for (; i < n; i += d) w += p[i] != ((base + i) ^ seed) * 0x9e3779b97f4a7c15UL;\n"
	"  wrong[me] = w;\n}\n"
	"__kernel void sums(__global ulong *p, ulong n, ulong seed) {\n"
	"  ulong i = get_global_id(0), v = seed + i;\n"
	"  for (ulong k = 0; k < n; k++) v = (v ^ v >> 29) * 6364136223846793005UL + 1442695040888963407UL;\n"
	"  p[i] = v;\n}\n";

struct opencl_run {
	struct opencl *c;
	void *queue, *context, *fill, *look, *sums, *wrong;
	void *pieces[PIECES];
	uint64_t words[PIECES]; /* of each */
	uint64_t seed, all;     /* all: words together */
	size_t count;
	char *host; /* for what goes up and down */
	struct fail *f;
};

/* ---- Calls ---------------------------------------------------------------------------------- */

static int opencl_said(struct opencl_run *r, int32_t said, const char *what)
{
	return said ? fail_set(r->f, -EIO, "error %d: it does not %s", said, what) : 0;
}

/* Queues a kernel over all lanes; extra: its fifth argument, or NULL. */
static int opencl_launch(struct opencl_run *r, void *kernel, void *memory, uint64_t n, uint64_t base, void *extra)
{
	const size_t lanes = CHALLENGE_LANES;
	int32_t said = r->c->argument(kernel, 0, sizeof memory, &memory);

	said = said ? said : r->c->argument(kernel, 1, sizeof n, &n);
	said = said ? said : r->c->argument(kernel, 2, sizeof r->seed, &r->seed);
	if (kernel != r->sums)
		said = said ? said : r->c->argument(kernel, 3, sizeof base, &base);
	if (extra)
		said = said ? said : r->c->argument(kernel, 4, sizeof extra, &extra);
	said = said ? said : r->c->launch(r->queue, kernel, 1, NULL, &lanes, NULL, 0, NULL, NULL);
	return opencl_said(r, said, "start the program");
}

static int opencl_fetch(struct opencl_run *r, void *memory, uint64_t at, void *to, size_t size)
{
	return opencl_said(r, r->c->fetch(r->queue, memory, 1, at, size, to, 0, NULL, NULL), "give its memory back");
}

static int opencl_fetch_piece(void *run, uint64_t at, void *to, size_t size)
{
	struct opencl_run *r = run;
	uint64_t base = 0;
	size_t i = 0;

	for (; at - base >= r->words[i] * 8; base += r->words[i++] * 8)
		;
	return opencl_fetch(r, r->pieces[i], at - base, to, size);
}

static int opencl_send_first(void *run, const void *from, size_t size)
{
	struct opencl_run *r = run;

	return opencl_said(r, r->c->send(r->queue, r->pieces[0], 1, 0, size, from, 0, NULL, NULL), "take data");
}

static struct challenge_device opencl_challenge_device(struct opencl_run *r)
{
	return (struct challenge_device){ .send = opencl_send_first,
		.fetch = opencl_fetch_piece,
		.run = r,
		.words = r->all,
		.first = r->words[0],
		.host = r->host,
		.f = r->f };
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Runs one kernel over all pieces; *rate: bytes a second. */
static int opencl_pass(struct opencl_run *r, void *kernel, void *extra, int64_t *rate)
{
	int64_t began = clock_us();
	uint64_t base = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < r->count; base += r->words[i++])
		rc = opencl_launch(r, kernel, r->pieces[i], r->words[i], base, extra);
	rc = rc ? rc : opencl_said(r, r->c->finish(r->queue), "end the program");
	*rate = challenge_per_second(r->all * 8, clock_us() - began);
	return rc;
}

static int opencl_count_wrong(struct opencl_run *r, uint64_t *wrong)
{
	uint32_t *each = (uint32_t *)r->host;
	int rc = opencl_fetch(r, r->wrong, 0, each, CHALLENGE_LANES * sizeof *each);

	*wrong = 0;
	for (size_t i = 0; !rc && i < CHALLENGE_LANES; i++)
		*wrong += each[i];
	return rc;
}

static int opencl_memory_once(struct opencl_run *r, int64_t *write, int64_t *read)
{
	const struct challenge_device d = opencl_challenge_device(r);
	uint64_t wrong = 0;
	int rc = opencl_pass(r, r->fill, NULL, write);

	memset(r->host, 0, CHALLENGE_LANES * sizeof(uint32_t));
	rc = rc ? rc
		: opencl_said(r,
			  r->c->send(r->queue, r->wrong, 1, 0, CHALLENGE_LANES * sizeof(uint32_t), r->host, 0, NULL,
				  NULL),
			  "take data");
	rc = rc ? rc : opencl_pass(r, r->look, r->wrong, read);
	rc = rc ? rc : opencl_count_wrong(r, &wrong);
	rc = rc ? rc : challenge_wrong_words(&d, wrong);
	return rc ? rc : challenge_look_by_chance(&d, r->seed);
}

/* Takes so many bytes in pieces that it allows; fewer where it has no more. */
static int opencl_take_memory(struct opencl_run *r, uint64_t want, uint64_t piece)
{
	int32_t said = 0;

	piece = piece < want ? piece : want;
	while (r->count < PIECES && r->all * 8 < want && piece >= (1 << 20)) {
		uint64_t bytes = want - r->all * 8 < piece ? want - r->all * 8 : piece;
		void *got;

		bytes = bytes / 4096 * 4096;
		if (!bytes)
			break;
		got = r->c->buffer(r->context, READ_WRITE, bytes, NULL, &said);
		if (got && !said) {
			r->words[r->count] = bytes / 8;
			r->pieces[r->count++] = got;
			r->all += bytes / 8;
		} else {
			piece /= 2;
		}
	}
	return r->count ? 0 : fail_set(r->f, -EIO, "it allocates no memory (error %d)", said);
}

static int opencl_memory(struct opencl_run *r, struct gpu_challenge *out)
{
	int64_t write[SPEED_RUNS], read[SPEED_RUNS];
	int rc = 0;

	for (int i = 0; !rc && i < SPEED_RUNS; i++, r->seed = challenge_next(r->seed))
		rc = opencl_memory_once(r, &write[i], &read[i]);
	if (rc)
		return rc;
	out->tested = (int64_t)(r->all * 8);
	speed_of(write, &out->write);
	speed_of(read, &out->read);
	return 0;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static int opencl_sums_once(struct opencl_run *r, uint64_t rounds, int64_t *took)
{
	const struct challenge_device d = opencl_challenge_device(r);
	int64_t began = clock_us();
	int rc = opencl_launch(r, r->sums, r->pieces[0], rounds, 0, NULL);

	rc = rc ? rc : opencl_said(r, r->c->finish(r->queue), "end the program");
	*took = clock_us() - began;
	return rc ? rc : challenge_compare_sums(&d, r->seed, rounds);
}

/* As many rounds as take a while: a processor has far fewer lanes at once than a GPU. */
static int opencl_sums(struct opencl_run *r, uint64_t seed, struct gpu_challenge *out)
{
	int64_t runs[SPEED_RUNS], took = 0;
	uint64_t rounds = FIRST_ROUNDS;
	int rc;

	r->seed = seed;
	if (r->words[0] < CHALLENGE_LANES)
		return fail_set(r->f, -EIO, "it has too little memory for the test");
	rc = opencl_sums_once(r, rounds, &took);
	while (!rc && took < LONG_ENOUGH_US && rounds < MOST_ROUNDS)
		rc = opencl_sums_once(r, rounds *= 4, &took);
	for (int i = 0; !rc && i < SPEED_RUNS; i++, r->seed = challenge_next(r->seed)) {
		rc = opencl_sums_once(r, rounds, &took);
		runs[i] = challenge_per_second(CHALLENGE_LANES * rounds, took);
	}
	if (rc)
		return rc;
	speed_of(runs, &out->sums);
	out->rounds = (int64_t)rounds;
	out->answer = challenge_answer(seed, rounds);
	return 0;
}

/* ---- All of it -------------------------------------------------------------------------------- */

static int opencl_prepare(struct opencl_run *r, void *id)
{
	const char *text = program;
	void *made;
	int32_t said = 0;

	r->context = r->c->context(NULL, 1, &id, NULL, NULL, &said);
	r->queue = said || !r->context ? NULL : r->c->queue(r->context, id, 0, &said);
	made = said || !r->queue ? NULL : r->c->program(r->context, 1, &text, NULL, &said);
	if (said || !made)
		return fail_set(r->f, -EIO, "it cannot be used: error %d; another process may have exclusive use",
			said);
	said = r->c->build(made, 1, &id, "", NULL, NULL);
	if (said)
		return fail_set(r->f, -EIO, "it does not build the program (error %d)", said);
	r->fill = r->c->kernel(made, "fill", &said);
	r->look = said ? NULL : r->c->kernel(made, "look", &said);
	r->sums = said ? NULL : r->c->kernel(made, "sums", &said);
	if (said || !r->sums)
		return fail_set(r->f, -EIO, "it does not load the program (error %d)", said);
	r->wrong = r->c->buffer(r->context, READ_WRITE, CHALLENGE_LANES * sizeof(uint32_t), NULL, &said);
	return r->wrong && !said ? 0 : fail_set(r->f, -EIO, "it allocates no memory (error %d)", said);
}

/* What it made ends with the child. */
int opencl_challenge_run(struct opencl *c, size_t index, uint64_t seed, int64_t most, struct gpu_challenge *out,
	struct fail *f)
{
	const struct opencl_device *claimed = &c->devices[index];
	struct opencl_run r = { .c = c, .seed = seed, .f = f, .host = malloc(CHALLENGE_LINK_BYTES) };
	struct gpu_challenge made = { .memory = (int64_t)claimed->memory };
	uint64_t want = claimed->memory / 10 * 9;
	struct challenge_device d;
	int rc;

	if (!r.host)
		return fail_set(f, -ENOMEM, "out of memory");
	if (!claimed->memory || claimed->memory > absurd || claimed->alloc_max > absurd)
		rc = fail_set(f, -EPROTO, "it claims %" PRIu64 " MiB of memory, which cannot be",
			claimed->memory >> 20);
	else
		rc = opencl_prepare(&r, claimed->id);
	if (most > 0 && (uint64_t)most < want)
		want = (uint64_t)most;
	rc = rc ? rc : opencl_take_memory(&r, want, claimed->alloc_max ? claimed->alloc_max : want);
	rc = rc ? rc : opencl_memory(&r, &made);
	rc = rc ? rc : opencl_sums(&r, seed, &made);
	d = opencl_challenge_device(&r);
	rc = rc ? rc : challenge_link(&d, &made.upload, &made.download);
	for (size_t i = 0; i < r.count; i++)
		c->release_buffer(r.pieces[i]);
	free(r.host);
	if (!rc)
		*out = made;
	return rc;
}
