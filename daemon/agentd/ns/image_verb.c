/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod-agentd image …`: builds, lists and removes images, and prints the result. */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/ns/image_part.h"

enum { OK = 0, FAILED = 1, USAGE = 2, NOT_FOUND = 3, IN_USE = 5 };

static int image_verb_complain(FILE *err, const struct fail *f)
{
	fprintf(err, "nanopod-agentd: %s\n", f->text);
	switch (f->code) {
	case -ENOENT:
		return NOT_FOUND;
	case -EINVAL:
		return USAGE;
	case -EBUSY:
	case -EADDRINUSE:
		return IN_USE;
	default:
		return FAILED;
	}
}

static int image_verb_usage(FILE *err)
{
	fputs("nanopod-agentd: image build [NAME] [--again] | image list | image remove NAME\n", err);
	return USAGE;
}

/* All of image.json but the packages. */
static json_t *image_verb_about(const struct image *i)
{
	char path[sizeof i->path + 16];
	json_t *j;

	snprintf(path, sizeof path, "%s/image.json", i->path);
	j = json_load_file(path, 0, NULL);
	if (!j)
		return json_object();
	json_object_set_new(j, "package_count",
		json_integer((json_int_t)json_object_size(json_object_get(j, "packages"))));
	json_object_del(j, "packages");
	json_object_set_new(j, "path", json_string(i->path));
	json_object_set_new(j, "nodes", json_integer((json_int_t)image_held(i->path)));
	return j;
}

static void print_json(FILE *out, json_t *j)
{
	json_dumpf(j, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(j);
}

static int image_verb_build(const char *images, int count, char *const *words, bool json, FILE *out, FILE *err)
{
	struct image_order o = { .images = images, .progress = err };
	struct fail f = { 0 };
	struct image made;

	for (int i = 0; i < count; i++) {
		if (strcmp(words[i], "--again") == 0)
			o.again = true;
		else if (*words[i] == '-' || o.name)
			return image_verb_usage(err);
		else
			o.name = words[i];
	}
	if (image_build(&o, &f) != 0 || image_find(images, o.name, &made, &f) != 0)
		return image_verb_complain(err, &f);
	if (json)
		print_json(out, image_verb_about(&made));
	else
		fprintf(out, "%s\n", made.path);
	return OK;
}

static int image_verb_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names that link to a build. */
static size_t image_verb_collect(const char *images, char **names, size_t max)
{
	DIR *d = opendir(images);
	struct dirent *e;
	struct image image;
	size_t n = 0;

	while (d && n < max && (e = readdir(d)))
		if (e->d_type != DT_DIR && image_name_good(e->d_name) &&
			image_find(images, e->d_name, &image, NULL) == 0 && (names[n] = strdup(e->d_name)))
			n++;
	if (d)
		closedir(d);
	qsort(names, n, sizeof *names, image_verb_by_name);
	return n;
}

static void print_row(FILE *out, const char *name, json_t *j)
{
	time_t at = (time_t)json_integer_value(json_object_get(j, "built_at"));
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, "%-16s %-10s %-6s %5lld MB  %s  %lld packages  %lld nodes\n", name,
		json_string_value(json_object_get(j, "release")), json_string_value(json_object_get(j, "form")),
		(long long)json_integer_value(json_object_get(j, "bytes")) >> 20, when,
		(long long)json_integer_value(json_object_get(j, "package_count")),
		(long long)json_integer_value(json_object_get(j, "nodes")));
}

static int image_verb_list(const char *images, bool json, FILE *out)
{
	enum { IMAGES = 256 };
	char *names[IMAGES];
	size_t n = image_verb_collect(images, names, IMAGES);
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++) {
		struct image image;

		if (image_find(images, names[i], &image, NULL) == 0) {
			json_t *j = image_verb_about(&image);

			if (!json)
				print_row(out, names[i], j);
			json_array_append_new(all, j);
		}
		free(names[i]);
	}
	if (json)
		json_dumpf(all, out, JSON_INDENT(2));
	if (json || n == 0)
		fputs(json ? "\n" : "no images; 'nanopod host image build' builds one\n", out);
	json_decref(all);
	return OK;
}

int image_verb(const char *images, int count, char *const *words, bool json, FILE *out, FILE *err)
{
	struct fail f = { 0 };

	if (count >= 1 && strcmp(words[0], "build") == 0)
		return image_verb_build(images, count - 1, words + 1, json, out, err);
	if (count == 1 && strcmp(words[0], "list") == 0)
		return image_verb_list(images, json, out);
	if (count != 2 || strcmp(words[0], "remove") != 0)
		return image_verb_usage(err);
	return image_remove(images, words[1], &f) == 0 ? OK : image_verb_complain(err, &f);
}
