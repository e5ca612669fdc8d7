/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main() for a fuzz target where no fuzzer is linked: runs it over each file of its corpus
 * (tests/fuzz/corpus/NAME/, NAME being the program's), over the empty input, and over cut-off
 * and bent copies of each file, always the same ones. With arguments: over those files.
 */
#include "../lib/tap.h"

#include <dirent.h>
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20, BENT_PER_FILE = 64 };

/* In memory of exactly its size, so that a sanitizer sees one byte too far. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void feed_bent(const uint8_t *data, size_t size)
{
	uint32_t state = 2463534242u + (uint32_t)size;
	uint8_t *bent = malloc(size ? size : 1);

	if (!bent)
		abort();
	for (int i = 0; i < BENT_PER_FILE && size; i++) {
		memcpy(bent, data, size);
		for (uint32_t n = next_random(&state) % 4 + 1; n; n--)
			bent[next_random(&state) % size] ^= (uint8_t)(1u << (next_random(&state) % 8));
		feed(bent, next_random(&state) % 2 ? size : next_random(&state) % size);
	}
	free(bent);
}

static bool replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(INPUT_MAX);
	size_t size;

	if (!data)
		abort();
	if (!file) {
		diag("cannot read '%s': %s", path, strerror(errno));
		free(data);
		return false;
	}
	size = fread(data, 1, INPUT_MAX, file);
	fclose(file);
	feed(data, size);
	feed_bent(data, size);
	free(data);
	return true;
}

static const char *target_name(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *name = slash ? slash + 1 : argv0;

	return strncmp(name, "lt-", 3) == 0 ? name + 3 : name;
}

static int replay_folder(const char *argv0)
{
	const char *top = getenv("abs_top_srcdir");
	char folder[2048], path[4096];
	struct dirent *entry;
	unsigned files = 0, bad = 0;
	DIR *dir;

	snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".", target_name(argv0));
	dir = opendir(folder);
	if (!dir) {
		ok(false, "the corpus '%s' can be read: %s", folder, strerror(errno));
		return done();
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		files++;
		bad += !replay(path);
	}
	closedir(dir);
	ok(files > 0 && bad == 0, "%u files of the corpus of '%s', with %d bent copies each", files,
		target_name(argv0), BENT_PER_FILE);
	return done();
}

int main(int argc, char **argv)
{
	plan_none;
	feed((const uint8_t *)"", 0);
	ok(true, "the empty input");
	if (argc < 2)
		return replay_folder(argv[0]);
	for (int i = 1; i < argc; i++)
		ok(replay(argv[i]), "'%s'", argv[i]);
	return done();
}
