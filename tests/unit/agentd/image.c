/* SPDX-License-Identifier: Apache-2.0 */
/* Images by name, build and use: what is found, refused and swept. Builds themselves: tests/daemon/image.t. */
#include "agentd/ns/image.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/ns/image_part.h"
#include "base/file.h"

static char images[256], node[300];

static void put(const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", images, name);
	file_folders(path);
	if (file_replace(path, text, strlen(text), 0644) != 0)
		abort();
}

static bool there(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", images, name);
	return access(path, F_OK) == 0;
}

/* A build as image_build leaves it. */
static void make(const char *name, const char *stamp)
{
	char at[300], link[512];

	snprintf(at, sizeof at, "%s@%s/image.json", name, stamp);
	put(at, "{\"name\": \"x\", \"release\": \"bookworm\", \"built_at\": 77, \"form\": \"folder\", \"bytes\": 1,"
		" \"packages\": {\"dash\": \"1\"}}");
	snprintf(at, sizeof at, "%s@%s/root/etc/hosts", name, stamp);
	put(at, "");
	snprintf(at, sizeof at, "%s@%s", name, stamp);
	snprintf(link, sizeof link, "%s/%s", images, name);
	unlink(link);
	if (symlink(at, link) != 0)
		abort();
}

static void test_names(void)
{
	ok(image_name_good("debian-12") && image_name_good("a.b_c"), "names of images");
	ok(!image_name_good("") && !image_name_good(".x") && !image_name_good("a/b") && !image_name_good("..") &&
			!image_name_good("a@1") && !image_name_good("-a") && !image_name_good("lock") &&
			!image_name_good("a b"),
		"names that could be paths, options or builds are refused");
}

static void test_find(void)
{
	struct fail f = { 0 };
	struct image i;

	ok(image_find(images, NULL, &i, &f) == -ENOENT && strstr(f.text, "nanopod host image build"),
		"none there: the sentence says how it is made");
	ok(image_find(images, "../x", &i, &f) == -EINVAL, "no path instead of a name");
	make("debian-12", "77");
	ok(image_find(images, NULL, &i, &f) == 0, "the default is found");
	ok(i.form == IMAGE_FOLDER && i.built_at == 77 && strstr(i.path, "/debian-12@77"), "as the build that it is");
	put("debian-12@77/image.json", "{nonsense");
	ok(image_find(images, NULL, &i, &f) == -EINVAL && strstr(f.text, "--again"),
		"damaged: said, with what mends it");
	make("debian-12", "77");
}

static void test_use(void)
{
	struct fail f = { 0 };
	struct image i;

	image_find(images, NULL, &i, &f);
	ok(image_hold(&i, "np-inst_a", node, &f) == 0 && image_held(i.path) == 1, "a node holds its build");
	ok(image_remove(images, "debian-12", &f) == -EADDRINUSE && there("debian-12/root"), "what is used stays");
	make("debian-12", "78");
	put("debian-12.new/root/half", "");
	ok(image_sweep(images, "debian-12", &f) == 0, "a sweep");
	ok(!there("debian-12.new") && there("debian-12@78") && there("debian-12@77/root"),
		"takes what was interrupted, not what a name or a node has");
	image_drop(images, "np-inst_a");
	ok(image_sweep(images, "debian-12", &f) == 0 && !there("debian-12@77") && there("debian-12@78"),
		"and the old build when its last node is gone");
	image_find(images, NULL, &i, &f);
	image_hold(&i, "np-inst_b", "/nowhere/at/all", &f);
	ok(image_held(i.path) == 0, "a node whose folder is gone holds nothing");
	ok(image_remove(images, "debian-12", &f) == 0 && !there("debian-12") && !there("debian-12@78"),
		"what is not used is removed");
	ok(image_remove(images, "debian-12", &f) == -ENOENT, "twice: not there");
}

static void test_order(void)
{
	struct image_order o = { .images = images, .name = "plan9" };
	struct fail f = { 0 };
	int lock;

	ok(image_build(&o, &f) == -EINVAL && strstr(f.text, "debian-12"), "a release that nobody knows is refused");
	o.name = "../debian-12";
	ok(image_build(&o, &f) == -EINVAL, "so is a path");
	o.name = "debian-12";
	if (image_can_build(&f) == 0) {
		image_lock(images, &lock, &f);
		ok(image_build(&o, &f) == -EBUSY, "one build at a time");
		close(lock);
	}
	make("debian-12", "79");
	ok(image_build(&o, &f) == 0 && there("debian-12@79"), "what is there is not built again");
}

static void test_verb(void)
{
	char *build[] = { (char *)(uintptr_t) "build", (char *)(uintptr_t) "--agian" },
	     *list[] = { (char *)(uintptr_t) "list" };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len), *err = fopen("/dev/null", "w");

	if (!out || !err)
		abort();
	ok(image_verb(images, 2, build, false, out, err) == 2, "an unknown word is usage");
	ok(image_verb(images, 1, list, true, out, err) == 0, "list");
	fclose(out);
	fclose(err);
	ok(strstr(text, "\"name\": \"x\"") && strstr(text, "\"package_count\": 1") && *text == '[',
		"is one JSON array");
	free(text);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(images, sizeof images, "%s/nanopod-image.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(images))
		abort();
	snprintf(node, sizeof node, "%s/node", images);
	mkdir(node, 0700);
	test_names();
	test_find();
	test_use();
	test_order();
	test_verb();
	image_erase(images, NULL);
	return done();
}
