/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/known/knownhosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "pssh/known/hosthash.h"
#include "pssh/known/knownlines.h"
#include "pssh/known/knownwrite.h"
#include "pssh/pssh_types.h"
#include "pssh/keys/pubkey.h"

enum { FILE_MAX = 64 << 20, BLOB_MAX = 16384, NAME_MAX_LEN = 1024, LINE_MAX_LEN = 64 << 10 };

struct knownhosts {
	struct knownlines lines;
	char *target;   /* the first file added */
};

int knownhosts_new(struct knownhosts **out)
{
	struct knownhosts *k = calloc(1, sizeof *k);

	if (!k)
		return PSSH_ENOMEM;
	knownlines_init(&k->lines);
	*out = k;
	return 0;
}

void knownhosts_free(struct knownhosts *k)
{
	if (!k)
		return;
	knownlines_release(&k->lines);
	free(k->target);
	free(k);
}

int knownhosts_parse(struct knownhosts *k, const char *text, size_t len, const char *name)
{
	return knownlines_parse(&k->lines, text, len, name);
}

/* Refuses pipes, which would block, but not /dev/null, which people like to name here. */
static int knownhosts_read_file(const char *path, struct buf *b, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot open the known hosts '%s'", path);
	if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
		rc = fail_set(f, PSSH_ELOCAL, "the known hosts file '%s' is not a file", path);
	else
		rc = buf_read_fd(b, fd);
	close(fd);
	if (rc == -EFBIG)
		return fail_set(f, PSSH_ELOCAL, "the known hosts '%s' are larger than %d MiB", path, FILE_MAX >> 20);
	if (rc == -ENOMEM)
		return fail_set(f, PSSH_ENOMEM, "cannot read the known hosts '%s': out of memory", path);
	if (rc && rc != PSSH_ELOCAL)
		return fail_errno(f, PSSH_ELOCAL, -rc, "cannot read the known hosts '%s'", path);
	return rc;
}

int knownhosts_add_file(struct knownhosts *k, const char *path, struct fail *f)
{
	char *target = k->target ? NULL : strdup(path);
	struct buf b;
	int rc;

	if (!k->target && !target)
		return fail_set(f, PSSH_ENOMEM, "cannot read the known hosts '%s': out of memory", path);
	buf_init(&b, FILE_MAX);
	rc = knownhosts_read_file(path, &b, f);
	if (!rc && knownlines_parse(&k->lines, buf_text(&b), b.len, path) != 0)
		rc = fail_set(f, PSSH_ENOMEM, "cannot read the known hosts '%s': out of memory", path);
	buf_release(&b);
	if (rc) {
		free(target);
		return rc;
	}
	if (target)
		k->target = target;
	return 0;
}

size_t knownhosts_count(const struct knownhosts *k)
{
	return k->lines.all.count;
}

size_t knownhosts_broken(const struct knownhosts *k, const char **first)
{
	*first = k->lines.first_broken;
	return k->lines.broken;
}

/* ---- Looking up ------------------------------------------------------------------------ */

static void knownhosts_lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

/* The name as the files spell it: [host]:port unless the port is 22. */
static bool knownhosts_spell(char *out, size_t size, const char *host, unsigned port)
{
	int n = port && port != 22 ? snprintf(out, size, "[%s]:%u", host, port) : snprintf(out, size, "%s", host);

	knownhosts_lower(out);
	return n > 0 && (size_t)n < size;
}

static void knownhosts_say(struct knownhosts_found *out, enum knownhosts_answer answer, const struct known_line *e)
{
	*out = (struct knownhosts_found){ .answer = answer, .file = "", .type = "" };
	if (!e)
		return;
	out->file = e->file;
	out->line = e->line;
	out->type = e->type;
	sshwire_fingerprint(e->blob, e->len, out->fingerprint);
}

static void knownhosts_judge(const struct known_set *hits, const uint8_t *blob, size_t len,
	struct knownhosts_found *out)
{
	const struct known_line *match = NULL, *other = NULL, *authority = NULL;
	char type[WIRE_TYPE_MAX] = "";

	sshwire_blob_type(blob, len, type, sizeof type);
	for (size_t i = 0; i < hits->count; i++) {
		const struct known_line *e = hits->at[i];
		bool same = e->len == len && memcmp(e->blob, blob, len) == 0;

		if (same && e->marker == KNOWN_REVOKED) {
			knownhosts_say(out, KNOWNHOSTS_REVOKED, e);
			return;
		}
		if (e->marker == KNOWN_AUTHORITY)
			authority = authority ? authority : e;
		else if (e->marker == KNOWN_KEY && same)
			match = match ? match : e;
		else if (e->marker == KNOWN_KEY &&
			(!other || (strcmp(other->type, type) != 0 && strcmp(e->type, type) == 0)))
			other = e;
	}
	if (match)
		knownhosts_say(out, KNOWNHOSTS_MATCH, match);
	else if (other)
		knownhosts_say(out, KNOWNHOSTS_MISMATCH, other);
	else if (authority)
		knownhosts_say(out, KNOWNHOSTS_CA_ONLY, authority);
	else
		knownhosts_say(out, KNOWNHOSTS_UNKNOWN, NULL);
}

int knownhosts_check(struct knownhosts *k, const char *host, unsigned port,
	const uint8_t *blob, size_t len, struct knownhosts_found *out)
{
	char name[NAME_MAX_LEN];
	struct knownhosts_found found, plain;
	const struct known_set *hits;
	int rc;

	knownhosts_say(&found, KNOWNHOSTS_UNKNOWN, NULL);
	if (!knownhosts_spell(name, sizeof name, host, port)) {
		*out = found;
		return 0;
	}
	rc = knownlines_about(&k->lines, name, &hits);
	if (rc)
		return rc;
	knownhosts_judge(hits, blob, len, &found);
	/* Like ssh: a key known without a port counts for every port that has no key of its own. */
	if ((found.answer == KNOWNHOSTS_UNKNOWN || found.answer == KNOWNHOSTS_CA_ONLY) && name[0] == '[' &&
	    knownhosts_spell(name, sizeof name, host, 0)) {
		rc = knownlines_about(&k->lines, name, &hits);
		if (rc)
			return rc;
		knownhosts_judge(hits, blob, len, &plain);
		if (plain.answer == KNOWNHOSTS_MATCH || plain.answer == KNOWNHOSTS_REVOKED)
			found = plain;
	}
	*out = found;
	return 0;
}

static size_t distinct_types(const struct known_set *hits, const char **types, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < hits->count && n < max; i++) {
		const struct known_line *e = hits->at[i];
		size_t j = 0;

		while (j < n && strcmp(types[j], e->type) != 0)
			j++;
		if (e->marker == KNOWN_KEY && j == n)
			types[n++] = e->type;
	}
	return n;
}

size_t knownhosts_types(struct knownhosts *k, const char *host, unsigned port, const char **types, size_t max)
{
	char name[NAME_MAX_LEN];
	const struct known_set *hits;
	size_t n = 0;

	if (knownhosts_spell(name, sizeof name, host, port) && knownlines_about(&k->lines, name, &hits) == 0)
		n = distinct_types(hits, types, max);
	if (!n && name[0] == '[' && knownhosts_spell(name, sizeof name, host, 0) &&
		knownlines_about(&k->lines, name, &hits) == 0)
		n = distinct_types(hits, types, max);
	return n;
}

int knownhosts_write(struct knownhosts *k, const char *host, unsigned port, const char *as, unsigned as_port,
	struct buf *out)
{
	char name[NAME_MAX_LEN], other[NAME_MAX_LEN];
	size_t before = out->len;
	int rc;

	if (!knownhosts_spell(name, sizeof name, host, port) || !knownhosts_spell(other, sizeof other, as, as_port))
		return 0;
	rc = knownwrite_lines(&k->lines, name, other, out);
	if (!rc && out->len == before && name[0] == '[' && knownhosts_spell(name, sizeof name, host, 0))
		rc = knownwrite_lines(&k->lines, name, other, out);
	return rc;
}

/* ---- Writing --------------------------------------------------------------------------- */

static void make_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (dir)
		mkdir(dir, 0700);  /* if this fails, open() says why */
	free(dir);
}

/* True if the last line lacks its newline: then our line would become its comment. */
static bool lacks_newline(int fd, const struct stat *st)
{
	char last = '\n';

	return S_ISREG(st->st_mode) && st->st_size > 0 && pread(fd, &last, 1, st->st_size - 1) == 1 && last != '\n';
}

/* Appends by one write(), so that others who append at the same time lose nothing. */
static int knownhosts_append(const char *path, const struct buf *line, struct fail *f)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat st, now;
	ssize_t n;
	int why = 0;

	if (fd < 0)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot write the host key to '%s'", path);
	if (fstat(fd, &st) != 0)
		st = (struct stat){ 0 };
	if (lacks_newline(fd, &st))
		n = write(fd, line->data, line->len);
	else
		n = write(fd, line->data + 1, line->len - 1) + 1;
	if (n < (ssize_t)line->len) {
		why = n <= 0 ? errno : ENOSPC;
		/* Remove half a line, unless somebody wrote after it meanwhile. */
		if (n > 0 && fstat(fd, &now) == 0 && now.st_size > st.st_size &&
			now.st_size < st.st_size + (off_t)line->len && ftruncate(fd, st.st_size) != 0)
			why = errno;
	}
	if (close(fd) != 0 && !why)
		why = errno;
	return why ? fail_errno(f, PSSH_ELOCAL, why, "cannot write the host key to '%s'", path) : 0;
}

/* The line begins with a newline, which knownhosts_append() skips if the file does not need it. */
static int format_line(struct buf *b, const char *name, const char *type, const uint8_t *blob, size_t len, bool hashed)
{
	int rc = buf_addc(b, '\n') ? PSSH_ENOMEM : 0;

	if (!rc)
		rc = hashed ? hosthash_add(b, name) : buf_adds(b, name) ? PSSH_ENOMEM : 0;
	if (rc)
		return rc;
	return buf_addf(b, " %s ", type) || buf_add_base64(b, blob, len) || buf_addc(b, '\n') ? PSSH_ENOMEM : 0;
}

/* Remembers the key in memory. 1: it was known already; 0 or PSSH_ENOMEM. */
static int known_knownhosts_remember(struct knownhosts *k, const char *name, const uint8_t *blob, size_t len)
{
	const struct known_set *hits;
	struct knownhosts_found found;
	int rc = knownlines_about(&k->lines, name, &hits);

	if (rc)
		return rc;
	knownhosts_judge(hits, blob, len, &found);
	if (found.answer == KNOWNHOSTS_MATCH)
		return 1;
	return knownlines_add(&k->lines, name, k->target ? k->target : "", blob, len);
}

int knownhosts_remember(struct knownhosts *k, const char *host, unsigned port,
	const uint8_t *blob, size_t len, bool hashed, struct fail *f)
{
	char name[NAME_MAX_LEN], type[WIRE_TYPE_MAX];
	struct buf line;
	int rc;

	if (!knownhosts_spell(name, sizeof name, host, port) || name[strcspn(name, " \t\r\n,*?!|#@")])
		return fail_set(f, PSSH_EINVAL, "the name '%.100s' cannot be written to the known hosts", host);
	if (len > BLOB_MAX || !sshwire_blob_type(blob, len, type, sizeof type))
		return fail_set(f, PSSH_EINVAL, "the key of '%s' cannot be written to the known hosts", name);
	rc = known_knownhosts_remember(k, name, blob, len);
	if (rc < 0)
		return fail_set(f, rc, "cannot remember the key of '%s': out of memory", name);
	if (rc || !k->target)
		return 0;
	buf_init(&line, LINE_MAX_LEN);
	rc = format_line(&line, name, type, blob, len, hashed);
	if (rc) {
		fail_set(f, rc, "cannot write down the key of '%s'", name);
	} else {
		make_directory(k->target);
		rc = knownhosts_append(k->target, &line, f);
	}
	buf_release(&line);
	return rc;
}

/* ---- Pins ------------------------------------------------------------------------------ */

static int parse_fingerprint(const char *text, struct knownhosts_pin *out, struct fail *f)
{
	size_t len = strlen(text);
	char padded[48];
	uint8_t *raw = NULL;
	size_t n = 0;

	while (len > 7 && text[len - 1] == '=')
		len--;
	if (len == 50) {
		snprintf(padded, sizeof padded, "%.43s=", text + 7);
		if (sshwire_base64(padded, 44, &raw, &n) == 0 && n == 32) {
			free(raw);
			*out = (struct knownhosts_pin){ 0 };
			snprintf(out->fingerprint, sizeof out->fingerprint, "%.50s", text);
			return 0;
		}
		free(raw);
	}
	return fail_set(f, PSSH_ESYNTAX, "'%.100s' is not a fingerprint: 43 letters follow 'SHA256:'", text);
}

int knownhosts_pin_parse(const char *text, struct knownhosts_pin *out, struct fail *f)
{
	struct knownhosts_pin pin = { 0 };

	while (*text == ' ' || *text == '\t')
		text++;
	if (str_starts(text, "SHA256:"))
		return parse_fingerprint(text, out, f);
	if (pubkey_parse(text, strlen(text), "", &pin.blob, &pin.len, NULL, NULL) != 0 || strpbrk(text, "\r\n") ||
	    !knownlines_whole(pin.blob, pin.len)) {
		free(pin.blob);
		return fail_set(f, PSSH_ESYNTAX, "'%.100s' is neither a key ('ssh-ed25519 AAAA…') nor a fingerprint "
			"('SHA256:…')", text);
	}
	sshwire_fingerprint(pin.blob, pin.len, pin.fingerprint);
	*out = pin;
	return 0;
}

bool knownhosts_pin_match(const struct knownhosts_pin *pin, const uint8_t *blob, size_t len)
{
	char fingerprint[WIRE_FINGERPRINT];

	if (pin->blob)
		return pin->len == len && memcmp(pin->blob, blob, len) == 0;
	sshwire_fingerprint(blob, len, fingerprint);
	return *fingerprint && strcmp(fingerprint, pin->fingerprint) == 0;
}

void knownhosts_pin_release(struct knownhosts_pin *pin)
{
	free(pin->blob);
	*pin = (struct knownhosts_pin){ 0 };
}
