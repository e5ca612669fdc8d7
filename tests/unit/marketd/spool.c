/* SPDX-License-Identifier: Apache-2.0 */
/* The file of usage: no event is lost, counted twice or moved, whenever it turns and whenever its process dies. */
#include "marketd/proxy/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/turned.h"

enum { FULL = 2000, ROUNDS = 2000, TEXT = 64 };

static char folder[] = "spool.XXXXXX", path[TEXT];
static unsigned seed = 7;

/* The sum of all events, and how many of them were read again. */
struct heard {
	int64_t sum, taken;
};

static int heard_take(void *arg, const json_t *event)
{
	struct heard *h = arg;

	h->sum += json_integer_value(json_object_get(event, "n"));
	h->taken++;
	return 0;
}

static json_t *heard_sums(void *arg)
{
	return json_pack("{s:I}", "sum", (json_int_t)((struct heard *)arg)->sum);
}

static int heard_begin(void *arg, json_t *sums)
{
	*(struct heard *)arg = (struct heard){ .sum = json_integer_value(json_object_get(sums, "sum")) };
	return 0;
}

static unsigned draw(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static const char *beside(const char *what)
{
	static char text[2 * TEXT];

	snprintf(text, sizeof text, "%s%s", path, what);
	return text;
}

static bool again(struct spool *s, struct heard *h)
{
	const struct spool_counter counter = { h, heard_take, heard_sums, heard_begin };
	struct fail f = { 0 };
	bool is;

	*h = (struct heard){ -1, -1 };
	is = spool_open(s, path, &counter, FULL, &f) == 0;
	if (!is)
		diag("%s", f.text);
	return is;
}

/* As the kernel ends a process: nothing is written any more. */
static void die(struct spool *s)
{
	close(s->fd);
	close(s->lock);
	buf_release(&s->lines);
}

/* The events of all files in their order are 1 to n. */
static bool spool_is_whole(int64_t n)
{
	uint64_t *numbers = NULL;
	size_t count = 0;
	int64_t next = 1;
	bool good = turned_list(path, &numbers, &count) == 0;

	for (size_t i = 0; i <= count; i++) {
		char *name = i < count ? turned_path(path, numbers[i]) : strdup(path), line[TEXT];
		FILE *in = fopen(name, "r");

		while (in && fgets(line, sizeof line, in))
			good &= strtoll(line + 5, NULL, 10) == next++ && line[strlen(line) - 1] == '\n';
		good &= in != NULL;
		if (in)
			fclose(in);
		free(name);
	}
	free(numbers);
	if (!good || next != n + 1)
		diag("%" PRId64 " events, and %" PRId64 " are there", n, next - 1);
	return good && next == n + 1;
}

/* What a crash in the middle of a turn leaves: its first steps. */
static void die_turning(struct spool *s, unsigned steps)
{
	char *full = turned_path(path, s->number);
	int fd = -1;

	if (steps > 0)
		fd = open(beside(".new"), O_WRONLY | O_CREAT, 0600);
	if (steps > 1 && link(path, full) != 0)
		diag("cannot link");
	if (fd >= 0)
		close(fd);
	free(full);
	die(s);
}

static void test_many(void)
{
	struct spool s;
	struct heard h;
	struct fail f = { 0 };
	int64_t n = 0, sum = 0, most = 0, halves = 0;
	bool good = again(&s, &h), turned = true;

	for (int i = 0; i < ROUNDS && good; i++) {
		for (unsigned k = draw(8); k--;) {
			json_t *event = json_pack("{s:I}", "n", (json_int_t)++n);

			sum += n;
			h.sum += n;
			good &= event && spool_add(&s, event) == 0;
			json_decref(event);
		}
		good &= spool_sync(&s, &f) == 0;
		if (draw(9))
			turned &= spool_turn(&s, &f) == 0;
		if (draw(6))
			continue;
		switch (draw(5)) {
		case 0:
			spool_close(&s);
			break;
		case 1:
			halves += write(s.fd, "{\"n\":", 5) == 5;
			die(&s);
			break;
		case 2:
			die_turning(&s, draw(3));
			break;
		case 3:
			die(&s);
			if (!draw(4))
				unlink(beside(".sums"));
			break;
		default:
			die(&s);
		}
		good &= again(&s, &h) && h.sum == sum;
		most = access(beside(".sums"), F_OK) == 0 && h.taken > most ? h.taken : most;
	}
	is_int(h.sum, sum, "the sum of %" PRId64 " events is right after every start", n);
	ok(good && turned, "none failed");
	ok(halves > 10, "%" PRId64 " of them left half a line", halves);
	diag("%" PRIu64 " files; a start read up to %" PRId64 " events", s.number, most);
	ok(s.number > 20 && n > 2000, "it turned");
	ok(most < 2 * FULL / 9, "and a start does not read more than a file");
	ok(spool_is_whole(n), "the files have each event once, in order");
	spool_close(&s);
}

static bool put(struct spool *s, struct heard *h, int64_t n)
{
	struct fail f = { 0 };
	json_t *event = json_pack("{s:I}", "n", (json_int_t)n);
	bool good = event && spool_add(s, event) == 0 && spool_sync(s, &f) == 0;

	json_decref(event);
	h->sum += n;
	return good;
}

static bool fill(struct spool *s, struct heard *h, int64_t n)
{
	struct fail f = { 0 };
	uint64_t was = s->number;
	bool good = true;

	while (good && s->number == was)
		good = put(s, h, n) && spool_turn(s, &f) == 0;
	return good;
}

/* Files that are full may go; what they added up to stays. */
static void test_gone(void)
{
	struct spool s;
	struct heard h;
	int64_t sum;
	uint64_t number;
	char *full;

	ok(again(&s, &h) && fill(&s, &h, 3) && put(&s, &h, 4), "a file is full");
	sum = h.sum;
	number = s.number;
	full = turned_path(path, number - 1);
	ok(unlink(full) == 0, "and removed");
	free(full);
	die(&s);
	ok(again(&s, &h), "it starts");
	is_int(h.sum, sum, "with its sum");
	is_int(h.taken, 1, "having read only what came after");
	is_int((int64_t)s.number, (int64_t)number, "and a number is not used twice");
	die(&s);
}

/* Where the place that sums go to is not there, they are worth nothing. */
static void test_stale(void)
{
	struct spool s;
	struct heard h;
	FILE *out;

	ok(again(&s, &h) && put(&s, &h, 5), "an event more");
	spool_close(&s);
	out = fopen(path, "w");
	fputs("{\"n\":8}\n", out);
	fclose(out);
	ok(again(&s, &h) && put(&s, &h, 1), "another file");
	spool_close(&s);
	ok(again(&s, &h), "goes on");
	is_int(h.taken, 0, "reading nothing again after a proper end");
	spool_close(&s);
	out = fopen(path, "r+");
	is_int(ftruncate(fileno(out), 8), 0, "a file that was cut");
	fclose(out);
	ok(again(&s, &h) && h.taken > 0, "is read again");
	spool_close(&s);
}

/* Where no new file can be made, it goes on with the one it has. */
static void test_stuck(void)
{
	struct spool s;
	struct heard h;
	struct fail f = { 0 };
	int rc = 0;

	ok(again(&s, &h) && mkdir(beside(".new"), 0700) == 0, "a folder in the way");
	for (int64_t i = 0; i < FULL && !rc; i++)
		rc = put(&s, &h, 1) ? spool_turn(&s, &f) : 1;
	has_str(f.text, "cannot begin a new file after", "is told");
	ok(rc < 0 && put(&s, &h, 1) && spool_turn(&s, &f) == 0, "it goes on, and does not try each time");
	is_int(rmdir(beside(".new")), 0, "which is gone");
	s.again = 0;
	ok(fill(&s, &h, 1), "then it turns");
	spool_close(&s);
}

static void sweep(void)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

int main(void)
{
	if (!mkdtemp(folder)) {
		puts("Bail out! no folder");
		return 99;
	}
	snprintf(path, sizeof path, "%s/use", folder);
	test_many();
	test_gone();
	test_stale();
	test_stuck();
	sweep();
	return done();
}
