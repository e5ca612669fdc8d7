/* SPDX-License-Identifier: Apache-2.0 */
/* One letter has all events that wait, and goes to the machine's own sendmail(8). */
#include "cli/alerts/alertmail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/frame/signals.h"
#include "market/client.h"
#include "market/when.h"

enum { MAIL_BYTES = 4 << 20, MAIL_EVENTS = 100, MAIL_MS = 60000, MAIL_POLL_MS = 20, SUBJECT = 120 };

/* ---- The letter --------------------------------------------------------------------------- */

/* Words of others must neither end a header nor begin one. */
static void alert_mail_subject(struct buf *out, const struct buf *title)
{
	for (size_t i = 0; i < title->len && i < SUBJECT; i++) {
		unsigned char c = (unsigned char)title->data[i];

		buf_addc(out, c >= ' ' && c < 0x7f ? (char)c : '?');
	}
}

static void alert_mail_line(struct buf *out, const char *label, const char *text)
{
	char *clean = strdup(text);

	if (!clean)
		command_nomem();
	for (char *p = clean; *p; p++)
		*p = *p == '\n' || *p == '\t' ? ' ' : *p;
	utf8_clean(clean);
	if (*clean)
		buf_addf(out, "  %-9s %.900s\n", label, clean);
	free(clean);
}

static void alert_mail_event(struct buf *out, const struct alert_book *b, const struct alert_event *e)
{
	const struct alarm *a = e->alarm;
	char id[ALERT_EVENT_ID], when[WHEN_TEXT];
	int64_t now = (int64_t)time(NULL);
	struct buf title;

	buf_init(&title, MAIL_BYTES);
	alert_event_title(e, &title);
	if (title.data)
		utf8_clean(title.data);
	buf_addf(out, "%.200s\n", buf_text(&title));
	alert_mail_line(out, e->ended ? "was" : "what", a->word[ALARM_TEXT]);
	alert_mail_line(out, "since", when_local(a->began, now, when));
	if (e->ended)
		alert_mail_line(out, "until", when_local(a->ended, now, when));
	else
		alert_mail_line(out, "type", a->word[ALARM_NEXT]);
	alert_mail_line(out, a->word[ALARM_KIND], a->word[ALARM_NAME]);
	alert_mail_line(out, "account", a->word[ALARM_ACCOUNT]);
	alert_mail_line(out, "id", alert_book_id(b, e->seq, id));
	buf_adds(out, "\n");
	buf_release(&title);
}

static void alert_mail_head(struct buf *out, const struct alert_way *w, const char *id, const struct buf *title,
	int64_t count)
{
	time_t now = time(NULL);
	char date[64];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &tm); /* the program never leaves the C locale */
	buf_addf(out, "To: %s\nSubject: [nanopod] ", w->address);
	alert_mail_subject(out, title);
	if (count > 1)
		buf_addf(out, " and %lld more", (long long)count - 1);
	buf_addf(out,
		"\nDate: %s\nMessage-ID: <%s@nanopod.invalid>\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
		"Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n",
		date, id);
}

/* Up to so many events; the number of the last one. */
static int64_t alert_mail_letter(const struct alert_way *w, const struct alert_book *b, int64_t after, struct buf *out)
{
	struct alert_event e, first = { 0 };
	struct buf title, body;
	char id[ALERT_EVENT_ID];
	int64_t count = 0;

	buf_init(&title, MAIL_BYTES);
	buf_init(&body, MAIL_BYTES);
	while (count < MAIL_EVENTS && alert_book_next(b, after, &e)) {
		first = count++ ? first : e;
		alert_mail_event(&body, b, &e);
		after = e.seq;
	}
	if (count) {
		alert_event_title(&first, &title);
		alert_mail_head(out, w, alert_book_id(b, first.seq, id), &title, count);
		buf_add(out, body.data, body.len);
		buf_addf(out, "-- \nnanopod alerts, %s\n", w->market);
	}
	buf_release(&title);
	buf_release(&body);
	return after;
}

/* ---- sendmail ------------------------------------------------------------------------------ */

/* Of $PATH, else where systems have it that leave it out of $PATH. malloc'd; NULL: there is none. */
static char *alert_mail_program(void)
{
	static const char more[] = "/usr/sbin:/usr/lib:/usr/local/sbin";
	const char *path = getenv("PATH");
	char *all, *rest, *folder, *found = NULL;

	if (asprintf(&all, "%s:%s", path ? path : "", more) < 0)
		command_nomem();
	for (rest = all; !found && (folder = strsep(&rest, ":"));) {
		if (*folder != '/')
			continue;
		if (asprintf(&found, "%s/sendmail", folder) < 0)
			command_nomem();
		if (access(found, X_OK) < 0) {
			free(found);
			found = NULL;
		}
	}
	free(all);
	return found;
}

static int alert_mail_wait(pid_t pid, struct fail *f)
{
	int64_t until = clock_ms() + MAIL_MS;
	bool stop = false;
	pid_t ended;
	int state;

	while ((ended = waitpid(pid, &state, WNOHANG)) == 0 && clock_ms() < until && !(stop = signals_asked() > 0))
		poll(NULL, 0, MAIL_POLL_MS);
	if (ended == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
			;
		return stop ? fail_set(f, CLIENT_STOPPED, "interrupted")
			    : fail_set(f, CLIENT_LOST, "sendmail did not end within %d s", MAIL_MS / 1000);
	}
	if (ended < 0)
		return fail_errno(f, CLIENT_LOST, errno, "cannot wait for sendmail");
	if (WIFSIGNALED(state))
		return fail_set(f, CLIENT_LOST, "sendmail was ended by signal %d", WTERMSIG(state));
	if (WEXITSTATUS(state))
		return fail_set(f, CLIENT_LOST, "sendmail exited with %d", WEXITSTATUS(state));
	return 0;
}

static int alert_mail_run(const char *program, const char *address, int fd, struct fail *f)
{
	const char *const words[] = { "sendmail", "-i", "--", address, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		signals_forget();
		if (null >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0)
			execv(program, (char *const *)words);
		_exit(127);
	}
	return pid < 0 ? fail_errno(f, CLIENT_UNREACHABLE, errno, "cannot start '%s'", program)
		       : alert_mail_wait(pid, f);
}

int alert_mail_send(struct alert_way *w, const struct alert_book *b, const struct alert_receiver *r, int64_t *upto,
	struct fail *f)
{
	char *program = alert_mail_program();
	int fd = memfd_create("nanopod-alert", MFD_CLOEXEC), rc = 0;
	struct buf letter;
	int64_t last;

	buf_init(&letter, MAIL_BYTES);
	last = alert_mail_letter(w, b, r->accepted, &letter);
	if (!program)
		rc = fail_set(f, CLIENT_UNREACHABLE,
			"this machine has no sendmail; install e.g. postfix, exim4 or msmtp-mta");
	else if (fd < 0 || file_write(fd, buf_text(&letter), letter.len) || lseek(fd, 0, SEEK_SET) < 0)
		rc = fail_errno(f, CLIENT_UNREACHABLE, errno, "cannot write a letter");
	else if (letter.len)
		rc = alert_mail_run(program, w->address, fd, f);
	if (!rc)
		*upto = last;
	if (fd >= 0)
		close(fd);
	buf_release(&letter);
	free(program);
	return rc;
}
