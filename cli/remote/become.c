/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/become.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/frame/prompt.h"
#include "cli/remote/fanout.h"

enum { BECOME_PASSWORD = 1024, BECOME_TEXT_MAX = 64 << 20 };

void become_release(struct become *b)
{
	prompt_hidden_free(b->password);
	buf_release(&b->text);
	buf_release(&b->data);
}

int become_command(const struct become *b, const char *command, struct buf *out)
{
	struct buf inner;
	int rc;

	buf_init(&inner, out->max);
	rc = buf_addf(&inner, "echo %s=go >&2; %s", b->mark, b->script ? "" : "exec </dev/null; ");
	rc = rc ? rc : buf_adds(&inner, command);
	rc = rc ? rc : buf_addf(out, "exec sudo -H -S -p '%s=ask\n' ", b->mark);
	if (b->user) {
		rc = rc ? rc : buf_adds(out, "-u ");
		rc = rc ? rc : str_quote_sh(out, b->user);
		rc = rc ? rc : buf_addc(out, ' ');
	}
	rc = rc ? rc : buf_adds(out, "-- /bin/sh -c ");
	rc = rc ? rc : str_quote_sh(out, inner.data);
	buf_release(&inner);
	return rc;
}

/* ---- The password ---------------------------------------------------------------------- */

/* Whoever can read the file has the password; a pipe, as <(pass show x) makes one, is nobody else's. */
static int become_read(int fd, const char *path, char *room, struct fail *f)
{
	struct stat st;
	size_t len = 0;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return fail_errno(f, -EIO, errno, "cannot read '%s'", path);
	if (S_ISREG(st.st_mode) && (st.st_mode & 077))
		return fail_set(f, -EPERM, "others may read or write '%s'; run 'chmod 600 %s'", path, path);
	while (len < BECOME_PASSWORD && (n = read(fd, room + len, BECOME_PASSWORD - len)) != 0) {
		if (n < 0 && errno != EINTR)
			return fail_errno(f, -EIO, errno, "cannot read '%s'", path);
		len += n > 0 ? (size_t)n : 0;
	}
	room[strcspn(room, "\n")] = '\0';
	return *room ? 0 : fail_set(f, -EINVAL, "'%s' holds no password", path);
}

static int become_read_file(struct become *b, struct fail *f)
{
	int fd = open(b->file, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;
	char *room;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot read '%s'", b->file);
	room = calloc(1, BECOME_PASSWORD + 1);
	if (!room)
		command_nomem();
	rc = become_read(fd, b->file, room, f);
	close(fd);
	if (rc)
		prompt_hidden_free(room);
	else
		b->password = room;
	b->known = true;
	return rc;
}

int become_init(struct become *b, const char *user, const char *file, struct fail *f)
{
	unsigned char random[16];

	*b = (struct become){ .user = user, .file = file };
	buf_init(&b->text, BECOME_TEXT_MAX);
	buf_init(&b->data, BECOME_TEXT_MAX);
	if (user && (!*user || *user == '-'))
		return fail_set(f, -EINVAL, "'%s' is no name of a user", user);
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return fail_set(f, -EIO, "the system gives no random bytes");
	snprintf(b->mark, sizeof b->mark, "nanopod-");
	for (size_t i = 0; i < 12; i++)
		snprintf(b->mark + 8 + 2 * i, 3, "%02x", random[i]);
	return file ? become_read_file(b, f) : 0;
}

/* Asks once for all hosts, when the first one wants it. */
static void become_ask(struct become *b, struct fanout *f, const struct outcome *o)
{
	char question[400];

	if (b->known)
		return;
	b->known = true;
	fanout_quiet(f);
	fflush(f->np->out);
	snprintf(question, sizeof question, "Password of sudo on '%.256s'%s (not shown): ", o->name,
		f->count > 1 ? " and the others" : "");
	if (prompt_hidden(question, BECOME_PASSWORD, &b->password) == -EINTR) {
		f->first_signal = f->first_signal ? f->first_signal : SIGINT;
		fanout_cancel(f);
	}
}

/* ---- What a host says ------------------------------------------------------------------ */

/* sudo gets the password once. Whoever asks again had a wrong one, and a third try could lock the account. */
static void become_asked(struct become *b, struct fanout *f, struct outcome *o)
{
	char line[BECOME_PASSWORD + 2];
	int n, rc = 0;

	if (o->become == BECOME_ON || o->become == BECOME_REFUSED)
		return;
	if (o->become == BECOME_NONE)
		become_ask(b, f, o);
	if (o->become == BECOME_ASKED || !b->password) {
		o->become = b->password ? BECOME_REFUSED : BECOME_LACKS;
		pssh_task_end_input(f->task, o->host);
		return;
	}
	o->become = BECOME_ASKED;
	n = snprintf(line, sizeof line, "%s\n", b->password);
	rc = pssh_task_write(f->task, o->host, line, (size_t)n);
	explicit_bzero(line, sizeof line);
	if (rc)
		pssh_task_end_input(f->task, o->host);
}

static void become_begun(struct become *b, struct fanout *f, struct outcome *o)
{
	o->become = BECOME_ON;
	if (b->script && pssh_task_write(f->task, o->host, b->script, b->script_len) != 0)
		pssh_task_stop_host(f->task, o->host);
	pssh_task_end_input(f->task, o->host);
}

/* True where the line is none of the command's. */
static bool become_line(struct become *b, struct fanout *f, struct outcome *o, const char *line, size_t len)
{
	size_t mark = strlen(b->mark);

	if (o->become == BECOME_ON)
		return false;
	if (len > mark && memcmp(line, b->mark, mark) == 0) {
		if (len == mark + 4 && memcmp(line + mark, "=ask", 4) == 0)
			become_asked(b, f, o);
		else if (len == mark + 3 && memcmp(line + mark, "=go", 3) == 0)
			become_begun(b, f, o);
		return true;
	}
	/* The summary says it once for all hosts. */
	return o->become == BECOME_REFUSED || o->become == BECOME_LACKS ||
		(o->become == BECOME_ASKED && len == 17 && memcmp(line, "Sorry, try again.", 17) == 0);
}

static void become_end(struct outcome *o)
{
	if (o->state != OUTCOME_EXIT || (o->become != BECOME_REFUSED && o->become != BECOME_LACKS))
		return;
	o->text = strdup(o->become == BECOME_REFUSED ? "sudo refused the password" : "sudo wants a password");
	if (!o->text)
		command_nomem();
}

const char *become_hint(const struct outcome *o)
{
	return o->become == BECOME_REFUSED
		? "'nanopod ssh HOST sudo -v' tries it on one host; '-l USER' is another user"
		: o->become == BECOME_LACKS ? "'--become-password-file FILE' provides it where no terminal is"
					    : NULL;
}

const struct pssh_event *become_event(struct become *b, struct fanout *f, const struct pssh_event *ev,
	struct outcome *o)
{
	const char *p, *end;

	if (o && ev->type == PSSH_EV_EXIT)
		become_end(o);
	if (!o || ev->type != PSSH_EV_STDERR || o->become == BECOME_ON)
		return ev;
	/* Copied, because Ctrl-C at the question cancels what the event is about. */
	b->made = *ev;
	buf_clear(&b->text);
	buf_clear(&b->data);
	if (buf_add(&b->data, ev->data, ev->len) != 0)
		command_nomem();
	for (p = buf_text(&b->data), end = p + b->data.len; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *next = nl ? nl + 1 : end;

		if (!become_line(b, f, o, p, (size_t)((nl ? nl : end) - p)) &&
			buf_add(&b->text, p, (size_t)(next - p)) != 0)
			command_nomem();
		p = next;
	}
	b->made.data = buf_text(&b->text);
	b->made.len = b->text.len;
	return b->made.len ? &b->made : NULL;
}
