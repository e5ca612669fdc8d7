/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds an image: mmdebstrap, from the mirrors that this machine's own apt uses. As root it runs in its own process
 * and mount namespaces, so that killing the builder ends all of it, mounts included.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agentd/ns/image_part.h"
#include "agentd/os/spawn.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum {
	TEXT_MAX = 8 << 20,
	LINE_MAX_LEN = 512,
	MIRRORS = 12,
	MIRROR_LEN = 300,
	PAUSE_MS = 50,
	BUILD_MS = 30 * 60000,
	APT_MS = 60000,
	STATUS_MAX = 32 << 20,
	OPTIONS = 8
};

#define PACKAGES \
	"systemd,systemd-sysv,dbus,libpam-systemd,openssh-server,iproute2,iputils-ping,ca-certificates,curl,sudo," \
	"procps,kmod," \
	"udev,netbase,ifupdown,less,vim-tiny,e2fsprogs"

/* The image leaves out what each node has of its own: host keys, machine id, names and addresses. */
#define HOOK \
	"cd \"$1\" && rm -f etc/ssh/ssh_host_* etc/resolv.conf etc/hostname var/lib/dbus/machine-id && : > " \
	"etc/machine-id"

static const struct {
	const char *name, *codename;
} releases[] = { { "debian-11", "bullseye" }, { "debian-12", "bookworm" }, { "debian-13", "trixie" } };

/* Settings of this machine's apt that nodes need as well to reach the same mirrors. */
static const char *const kept_options[] = { "Acquire::http::Proxy", "Acquire::https::Proxy",
	"Acquire::Check-Valid-Until", "Acquire::Check-Date" };

struct build {
	const struct image_order *o;
	const char *name, *codename;
	bool root;
	char mirror[MIRRORS][MIRROR_LEN];
	size_t mirrors;
	char option[OPTIONS][MIRROR_LEN];
	size_t options;
	char fresh[IMAGE_PATH], target[IMAGE_PATH], log[IMAGE_PATH], failed[IMAGE_PATH];
	int64_t began;
};

/* What a build does, in the order in which it does it, by the lines with which mmdebstrap begins each. */
static const struct {
	const char *said, *does;
} steps[] = {
	{ "running apt-get update", "reading the mirrors' lists of packages" },
	{ "downloading packages", "downloading packages" },
	{ "extracting archives", "unpacking Debian's core" },
	{ "installing essential packages", "installing Debian's core" },
	{ "installing remaining packages", "installing what nodes need, such as systemd and sshd" },
	{ "cleaning package lists", "removing what only the build needed" },
	{ NULL, "writing it to disk" },
};

enum { STEPS = sizeof steps / sizeof *steps };

static void image_build_tell(const struct build *b, const char *line)
{
	if (!b->o->progress)
		return;
	fprintf(b->o->progress, "%s: %s\n", b->name, line);
	fflush(b->o->progress);
}

static void image_build_tell_step(const struct build *b, size_t step)
{
	char line[LINE_MAX_LEN];

	snprintf(line, sizeof line, "step %zu of %d, %lld s: %s", step + 1, (int)STEPS,
		(long long)((clock_ms() - b->began) / 1000), steps[step].does);
	image_build_tell(b, line);
}

int image_can_build(struct fail *f)
{
	char path[IMAGE_PATH];

	if (!spawn_find("mmdebstrap", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'mmdebstrap' is not installed; 'apt install mmdebstrap' installs it");
	if (geteuid() != 0 && !spawn_find("newuidmap", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'newuidmap' is not installed; 'apt install uidmap' installs it");
	return 0;
}

/* ---- What this machine's apt knows -------------------------------------------------------------- */

static bool read_codename(char room[static 64])
{
	struct buf b;
	char *at;

	buf_init(&b, TEXT_MAX);
	*room = '\0';
	if (buf_read_file(&b, "/etc/os-release") == 0 && (at = strstr(b.data, "VERSION_CODENAME="))) {
		at += strlen("VERSION_CODENAME=");
		at += *at == '"';
		snprintf(room, 64, "%.*s", (int)strcspn(at, "\"\n"), at);
	}
	buf_release(&b);
	return *room != '\0';
}

/* "URI SUITE COMPONENT": replaces the suites of this machine's release by those of the image's. */
static void image_build_add_mirror(struct build *b, char *line, const char *own)
{
	static const char *const ends[] = { "", "-updates", "-security" };
	char *uri = strsep(&line, " "), *suite = strsep(&line, " "), *component = line, made[MIRROR_LEN];
	size_t len = strlen(own);

	if (!component || strcmp(component, "main") != 0 || strncmp(suite, own, len) != 0 || b->mirrors == MIRRORS)
		return;
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(suite + len, ends[i]) != 0 ||
			snprintf(made, sizeof made, "deb %s %s%s main", uri, b->codename, ends[i]) >= MIRROR_LEN)
			continue;
		for (size_t k = 0; k < b->mirrors; k++)
			if (strcmp(b->mirror[k], made) == 0)
				return;
		memcpy(b->mirror[b->mirrors++], made, sizeof made);
	}
}

static int find_mirrors(struct build *b, struct fail *f)
{
	const char *argv[] = { "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
		"Identifier: Packages", NULL };
	char own[64], *rest, *line;
	struct buf out;
	int rc;

	if (!read_codename(own))
		return fail_set(f, -ENOTSUP, "'/etc/os-release' does not name this machine's release");
	buf_init(&out, TEXT_MAX);
	rc = spawn_run(&(struct spawn){ .argv = argv }, APT_MS, &out, f);
	for (rest = out.data; !rc && rest && (line = strsep(&rest, "\n"));)
		image_build_add_mirror(b, line, own);
	buf_release(&out);
	if (!rc && !b->mirrors)
		rc = fail_set(f, -ENOTSUP,
			"this machine's apt knows no mirror of Debian with '%s main'; add one, then 'apt-get update'",
			own);
	return rc;
}

/* Every tenant could read a proxy's password, so such a line is left out. */
static int find_options(struct build *b, struct fail *f)
{
	const char *argv[] = { "apt-config", "dump", "--no-empty", NULL };
	char *rest, *line;
	struct buf out;
	int rc;

	buf_init(&out, TEXT_MAX);
	rc = spawn_run(&(struct spawn){ .argv = argv }, APT_MS, &out, f);
	for (rest = out.data; !rc && rest && (line = strsep(&rest, "\n"));)
		for (size_t i = 0; i < sizeof kept_options / sizeof *kept_options; i++) {
			size_t len = strlen(kept_options[i]);

			if (strncasecmp(line, kept_options[i], len) == 0 && line[len] == ' ' && !strchr(line, '@') &&
				b->options < OPTIONS)
				snprintf(b->option[b->options++], MIRROR_LEN, "--aptopt=%.280s", line);
		}
	buf_release(&out);
	return rc;
}

/* ---- mmdebstrap ----------------------------------------------------------------------------------- */

static int die_with_parent(void *arg)
{
	(void)arg;
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : -errno;
}

/* Tells the steps that new lines of the log begin. from moves past complete lines. */
static void image_build_tell_steps(const struct build *b, size_t *from)
{
	struct buf log;

	buf_init(&log, TEXT_MAX);
	if (buf_read_file(&log, b->log) == 0 && log.len > *from) {
		char *rest = log.data + *from, *end;

		while ((end = strchr(rest, '\n'))) {
			*end = '\0';
			for (size_t i = 0; i < STEPS && steps[i].said && str_starts(rest, "I: "); i++)
				if (str_starts(rest + 3, steps[i].said))
					image_build_tell_step(b, i);
			rest = end + 1;
		}
		*from = (size_t)(rest - log.data);
	}
	buf_release(&log);
}

/* The last lines with 'E: ', or the last line. */
static int image_build_failed(const struct build *b, struct fail *f)
{
	char said[300] = "", *rest, *line;
	struct buf log;

	buf_init(&log, TEXT_MAX);
	if (buf_read_file(&log, b->log) == 0)
		for (rest = log.data; rest && (line = strsep(&rest, "\n"));)
			if (*line && (str_starts(line, "E: ") || !str_starts(said, "E: ")) &&
				!str_starts(line, "E: mmdebstrap failed"))
				snprintf(said, sizeof said, "%s", line);
	buf_release(&log);
	return fail_set(f, -EIO, "cannot build the image '%s': %s; can this machine reach its mirrors? its log is '%s'",
		b->name, str_starts(said, "E: ") ? said + 3 : said, b->failed);
}

static int image_build_attend(const struct build *b, pid_t pid, struct fail *f)
{
	int64_t until = clock_ms() + BUILD_MS;
	size_t from = 0;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_ms() >= until) {
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return fail_set(f, -ETIMEDOUT,
				"building the image '%s' took longer than %d minutes; its log is '%s'", b->name,
				BUILD_MS / 60000, b->failed);
		}
		image_build_tell_steps(b, &from);
		poll(NULL, 0, PAUSE_MS);
	}
	image_build_tell_steps(b, &from);
	return status == 0 ? 0 : image_build_failed(b, f);
}

static int image_build_bootstrap(struct build *b, struct fail *f)
{
	static const char *const alone[] = { "unshare", "--mount", "--propagation", "slave", "--pid", "--fork",
		"--kill-child", "--mount-proc" };
	static const char *const fixed[] = { "mmdebstrap", "--variant=apt", "--include=" PACKAGES,
		"--customize-hook=" HOOK };
	const char *argv[SPAWN_ARGS];
	size_t n = 0;
	pid_t pid;
	int rc;

	for (size_t i = 0; b->root && i < sizeof alone / sizeof *alone; i++)
		argv[n++] = alone[i];
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		argv[n++] = fixed[i];
	argv[n++] = b->root ? "--mode=root" : "--mode=unshare";
	argv[n++] = b->root ? "--format=directory" : "--format=tar";
	for (size_t i = 0; i < b->options; i++)
		argv[n++] = b->option[i];
	argv[n++] = b->codename;
	argv[n++] = b->target;
	for (size_t i = 0; i < b->mirrors; i++)
		argv[n++] = b->mirror[i];
	argv[n] = NULL;
	rc = spawn_leave(&(struct spawn){ .argv = argv, .prepare = die_with_parent }, b->log, -1, &pid, f);
	return rc ? rc : image_build_attend(b, pid, f);
}

/* ---- image.json --------------------------------------------------------------------------------- */

/* Size on disk, counted as du does. */
static int image_build_read_size(const struct build *b, int64_t *out, struct fail *f)
{
	const char *argv[] = { "du", "-sx", "--block-size=1", b->target, NULL };
	struct buf said;
	int rc;

	buf_init(&said, LINE_MAX_LEN + IMAGE_PATH);
	rc = spawn_run(&(struct spawn){ .argv = argv }, APT_MS, &said, f);
	if (!rc)
		*out = strtoll(buf_text(&said), NULL, 10);
	buf_release(&said);
	return rc;
}

/* dpkg's own list: one "Package: x" and one "Version: y" a paragraph. */
static int image_build_read_packages(const struct build *b, struct buf *json, struct fail *f)
{
	const char *argv[] = { "tar", "-xOf", b->target, "./var/lib/dpkg/status", NULL };
	char path[IMAGE_PATH + 32], *rest, *line;
	const char *name = NULL, *comma = "";
	struct buf status;
	int rc;

	buf_init(&status, STATUS_MAX);
	snprintf(path, sizeof path, "%s/var/lib/dpkg/status", b->target);
	rc = b->root ? buf_read_file(&status, path) : spawn_run(&(struct spawn){ .argv = argv }, APT_MS, &status, f);
	if (rc && b->root)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	for (rest = status.data; !rc && rest && (line = strsep(&rest, "\n"));) {
		if (str_starts(line, "Package: "))
			name = line + 9;
		if (!name || !str_starts(line, "Version: ") || strpbrk(line, "\"\\") || strpbrk(name, "\"\\"))
			continue;
		rc = buf_addf(json, "%s\n    \"%s\": \"%s\"", comma, name, line + 9);
		comma = ",";
		name = NULL;
	}
	buf_release(&status);
	return rc;
}

static int image_build_write_about(const struct build *b, int64_t now, int64_t *bytes, struct fail *f)
{
	char path[IMAGE_PATH + 16];
	struct buf json;
	int rc = image_build_read_size(b, bytes, f);

	buf_init(&json, TEXT_MAX);
	if (!rc)
		rc = buf_addf(&json,
			"{\n  \"name\": \"%s\",\n  \"release\": \"%s\",\n  \"built_at\": %lld,\n  \"form\": \"%s\",\n"
			"  \"bytes\": %lld,\n  \"packages\": {",
			b->name, b->codename, (long long)now, b->root ? "folder" : "tar", (long long)*bytes);
	if (!rc)
		rc = image_build_read_packages(b, &json, f);
	if (!rc)
		rc = buf_adds(&json, "\n  }\n}\n");
	snprintf(path, sizeof path, "%s/image.json", b->fresh);
	if (!rc) {
		rc = file_replace(path, buf_text(&json), json.len, 0644);
		if (rc)
			fail_errno(f, rc, -rc, "cannot write '%s'", path);
	}
	buf_release(&json);
	return rc;
}

/* Syncs everything to disk, then moves the name to the new build. */
static int image_build_publish(const struct build *b, int64_t now, struct fail *f)
{
	char build[IMAGE_PATH], link[IMAGE_PATH], name[IMAGE_PATH], stamp[32];
	int fd = open(b->fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0 || syncfs(fd) != 0)
		rc = fail_errno(f, -errno, errno, "cannot write '%s' to disk", b->fresh);
	else
		rc = 0;
	if (fd >= 0)
		close(fd);
	snprintf(stamp, sizeof stamp, "@%lld", (long long)now);
	if (!rc)
		rc = image_path(b->o->images, b->name, stamp, build, f);
	if (!rc)
		rc = image_path(b->o->images, b->name, ".link", link, f);
	if (!rc)
		rc = image_path(b->o->images, b->name, "", name, f);
	if (rc)
		return rc;
	unlink(link);
	if (rename(b->fresh, build) != 0 || symlink(strrchr(build, '/') + 1, link) != 0 || rename(link, name) != 0)
		return fail_errno(f, -errno, errno, "cannot put the image '%s' under its name", b->name);
	return 0;
}

static int build_locked(struct build *b, struct fail *f)
{
	int64_t now = (int64_t)time(NULL), bytes = 0;
	char line[LINE_MAX_LEN];
	int rc = image_sweep(b->o->images, b->name, f);

	b->began = clock_ms();
	unlink(b->failed);
	if (!rc)
		rc = find_mirrors(b, f);
	if (!rc)
		rc = find_options(b, f);
	if (!rc && mkdir(b->fresh, 0755) != 0)
		rc = fail_errno(f, -errno, errno, "cannot make '%s'", b->fresh);
	if (!rc) {
		snprintf(line, sizeof line, "Debian '%s' from %zu suites of this machine's mirrors", b->codename,
			b->mirrors);
		image_build_tell(b, line);
		rc = image_build_bootstrap(b, f);
	}
	if (!rc)
		image_build_tell_step(b, STEPS - 1);
	if (!rc)
		rc = image_build_write_about(b, now, &bytes, f);
	if (!rc)
		rc = image_build_publish(b, now, f);
	if (rc)
		rename(b->log, b->failed);
	image_sweep(b->o->images, b->name, NULL);
	if (rc)
		return rc;
	snprintf(line, sizeof line, "ready: %lld MB, %lld s", (long long)(bytes >> 20),
		(long long)((clock_ms() - b->began) / 1000));
	image_build_tell(b, line);
	return 0;
}

int image_build(const struct image_order *o, struct fail *f)
{
	struct build b = { .o = o, .name = o->name ? o->name : IMAGE_DEFAULT, .root = geteuid() == 0 };
	struct image there;
	int lock, rc;

	if (!image_name_good(b.name))
		return fail_set(f, -EINVAL, "'%s' is not a valid image name", b.name);
	for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
		if (str_starts(b.name, releases[i].name))
			b.codename = releases[i].codename;
	if (!b.codename)
		return fail_set(f, -EINVAL,
			"the image '%s' names no known release: names begin with debian-11, debian-12 or "
			"debian-13",
			b.name);
	if (!o->again && image_find(o->images, b.name, &there, NULL) == 0)
		return 0;
	rc = image_can_build(f);
	if (!rc)
		rc = image_path(o->images, b.name, ".new", b.fresh, f);
	if (!rc)
		rc = image_path(o->images, b.name, b.root ? ".new/root" : ".new/root.tar", b.target, f);
	if (!rc)
		rc = image_path(o->images, b.name, ".log", b.log, f);
	if (!rc)
		rc = image_path(o->images, "failed-build", ".log", b.failed, f);
	if (!rc)
		rc = image_lock(o->images, &lock, f);
	if (rc)
		return rc;
	rc = build_locked(&b, f);
	close(lock);
	return rc;
}
