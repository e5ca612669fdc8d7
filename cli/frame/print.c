/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/print.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "base/utf8.h"
#include "cli/frame/wrap.h"

enum { SENTENCE_MAX = 64 * 1024, MESSAGE_INDENT = 2 };

static const struct {
	int status;
	const char *code;
	bool retryable;
} statuses[] = {
#define STATUS_ROW(name, status, code, retryable, text) { status, code, retryable },
	STATUSES(STATUS_ROW)
#undef STATUS_ROW
};

static size_t status_row(int status)
{
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i].status == status)
			return i;
	return STATUS_FAILURE;
}

const char *print_status_code(int status)
{
	return statuses[status_row(status)].code;
}

void print_safe(FILE *stream, const char *data, size_t len)
{
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = data[i] == '\t' || data[i] == '\n' ? 1 : utf8_printable(data + i, len - i);
		if (n)
			fwrite(data + i, 1, n, stream);
		else
			putc('?', stream);
	}
}

void print_safe_line(FILE *stream, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = utf8_printable(text + i, len - i);
		if (wrap_is_dots(text + i))
			fputs(wrap_dots(), stream);
		else if (n)
			fwrite(text + i, 1, n, stream);
		else
			putc(text[i] == '\t' || text[i] == '\n' ? ' ' : '?', stream);
	}
}

size_t print_width(const char *text)
{
	size_t cells = SIZE_MAX;

	(void)wrap_cut(text, &cells);
	return cells;
}

size_t print_wrapped(FILE *stream, const char *text, size_t at, size_t indent, size_t columns)
{
	size_t cells = columns > at ? columns - at : 1, skip;
	char *line;

	for (bool first = true;; first = false) {
		size_t len = wrap_line(text, cells, &skip);

		/* Below a long label even the first word may have no room. */
		if (first && at > indent && utf8_width(text, len) > cells)
			len = skip = 0;
		line = strndup(text, len);
		if (!line)
			command_nomem();
		print_safe_line(stream, line);
		at += print_width(line);
		free(line);
		text += skip;
		if (!*text)
			return at;
		at = indent;
		cells = columns > indent ? columns - indent : 1;
		fprintf(stream, "\n%*s", (int)indent, "");
	}
}

/* The rest of a line that a prefix of so many cells began; on a terminal in lines that it has room for. */
static void put_sentence(struct nanopod *np, const char *text, size_t at)
{
	if (np->tty_err)
		print_wrapped(np->err, text, at, MESSAGE_INDENT, print_columns(np->err));
	else
		print_safe_line(np->err, text);
	putc('\n', np->err);
}

/* One JSON object and a newline, in a single write where possible. */
static void put_object(FILE *stream, struct json *j, struct buf *text)
{
	if (j->error)
		fputs("{\"error\":{\"code\":\"failure\",\"message\":\"out of memory\"}}", stream);
	else
		fwrite(buf_text(text), 1, text->len, stream);
	putc('\n', stream);
	buf_release(text);
}

static void put_error(struct nanopod *np, const struct print_problem *p, const char *message)
{
	struct buf text;
	struct json j;

	buf_init(&text, 4 * SENTENCE_MAX);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "error");
	json_text(&j, "code", p->code ? p->code : print_status_code(p->status));
	json_text(&j, "message", message);
	json_text(&j, "hint", p->hint);
	json_bool(&j, "retryable", p->retryable);
	json_text(&j, "request_id", p->request_id);
	json_text(&j, "field", p->field);
	json_end(&j);
	json_end(&j);
	put_object(np->err, &j, &text);
}

static char *print_sentence(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	if (strlen(text) > SENTENCE_MAX)
		text[SENTENCE_MAX] = '\0';
	return text;
}

/* Both may go to one file: what was printed before a message comes first there, too. */
static void print_before(struct nanopod *np)
{
	if (fflush(np->out) != 0 && !np->out_failed)
		np->out_failed = errno;
}

static int frame_print_problem(struct nanopod *np, const struct print_problem *p, const char *fmt, va_list ap)
{
	char *message = print_sentence(fmt, ap), *whole;

	print_before(np);
	if (np->errors_json) {
		put_error(np, p, message);
	} else {
		fprintf(np->err, "%snanopod:%s ", print_color(np, np->err, COLOR_RED),
			print_color(np, np->err, COLOR_NONE));
		if (asprintf(&whole, "%s%s%s", message, p->hint ? "; " : "", p->hint ? p->hint : "") < 0)
			command_nomem();
		put_sentence(np, whole, strlen("nanopod: "));
		free(whole);
	}
	fflush(np->err);
	free(message);
	return p->status;
}

static int frame_print_fail(struct nanopod *np, enum status status, const char *field, const char *hint,
	const char *fmt, va_list ap)
{
	const struct print_problem p = { status, NULL, statuses[status_row(status)].retryable, field, hint, NULL };

	return frame_print_problem(np, &p, fmt, ap);
}

int print_problem(struct nanopod *np, const struct print_problem *p, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = frame_print_problem(np, p, fmt, ap);
	va_end(ap);
	return rc;
}

int print_fail(struct nanopod *np, enum status status, const char *hint, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = frame_print_fail(np, status, NULL, hint, fmt, ap);
	va_end(ap);
	return rc;
}

int print_fail_field(struct nanopod *np, enum status status, const char *field, const char *hint, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = frame_print_fail(np, status, field, hint, fmt, ap);
	va_end(ap);
	return rc;
}

void print_warn(struct nanopod *np, const char *fmt, ...)
{
	struct buf text;
	struct json j;
	char *message;
	va_list ap;

	va_start(ap, fmt);
	message = print_sentence(fmt, ap);
	va_end(ap);
	if (np->errors_json) {
		buf_init(&text, 4 * SENTENCE_MAX);
		j = json_to(&text);
		json_begin_object(&j, NULL);
		json_begin_object(&j, "warning");
		json_text(&j, "message", message);
		json_end(&j);
		json_end(&j);
		put_object(np->err, &j, &text);
	} else {
		fprintf(np->err, "nanopod: %swarning:%s ", print_color(np, np->err, COLOR_YELLOW),
			print_color(np, np->err, COLOR_NONE));
		put_sentence(np, message, strlen("nanopod: warning: "));
	}
	fflush(np->err);
	free(message);
}

void print_note(struct nanopod *np, const char *fmt, ...)
{
	char *message;
	va_list ap;

	if (np->errors_json)
		return;
	va_start(ap, fmt);
	message = print_sentence(fmt, ap);
	va_end(ap);
	print_before(np);
	fputs("nanopod: ", np->err);
	put_sentence(np, message, strlen("nanopod: "));
	fflush(np->err);
	free(message);
}

const char *print_color(const struct nanopod *np, const FILE *stream, enum color c)
{
	static const char *const escapes[] = {
		[COLOR_NONE] = "\033[0m",
		[COLOR_BOLD] = "\033[1m",
		[COLOR_DIM] = "\033[2m",
		[COLOR_RED] = "\033[31m",
		[COLOR_GREEN] = "\033[32m",
		[COLOR_YELLOW] = "\033[33m",
		[COLOR_BLUE] = "\033[34m",
		[COLOR_CYAN] = "\033[36m",
		[COLOR_MAGENTA] = "\033[35m",
	};

	return (stream == np->err ? np->color_err : np->color_out) ? escapes[c] : "";
}

unsigned print_columns(const FILE *stream)
{
	struct winsize size;
	int fd = fileno((FILE *)stream); /* only reads it: the prototype is older than const */

	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

void print_csv_cell(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

void print_rest(const struct nanopod *np, FILE *stream, const char *text, size_t at, size_t indent)
{
	bool tty = (stream == np->err ? np->tty_err : np->tty_out) && np->format != FORMAT_WIDE;

	print_wrapped(stream, text, at, indent, tty ? print_columns(stream) : SIZE_MAX);
	putc('\n', stream);
}

void print_labelled(const struct nanopod *np, FILE *stream, const char *label, unsigned width, const char *text)
{
	if (stream == np->out && np->format == FORMAT_CSV) {
		print_csv_cell(stream, label);
		putc(',', stream);
		print_csv_cell(stream, text);
		putc('\n', stream);
		return;
	}
	fprintf(stream, "%s%-*s%s ", print_color(np, stream, COLOR_BOLD), (int)width, label,
		print_color(np, stream, COLOR_NONE));
	print_rest(np, stream, text, width + 1, width + 1);
}

static void put_part(FILE *stream, const char *text, size_t len)
{
	char *part = strndup(text, len);

	if (!part)
		command_nomem();
	print_safe_line(stream, part);
	free(part);
}

/* Prints one paragraph. begun: its first line stands at the indent already. */
static const char *fill_paragraph(FILE *stream, const char *p, unsigned indent, unsigned columns, bool begun)
{
	unsigned at = indent;
	bool first = true;

	if (!begun)
		fprintf(stream, "%*s", (int)indent, "");
	while (*p && !(p[0] == '\n' && (p[1] == '\n' || p[1] == ' ' || !p[1]))) {
		size_t len = strcspn(p, " \n"), width = utf8_width(p, len);

		if (!first && at + 1 + width > columns) {
			fprintf(stream, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (len) {
			fputs(first ? "" : " ", stream);
			put_part(stream, p, len);
			at += (unsigned)width + !first;
			first = false;
		}
		p += len;
		while (*p == ' ')
			p++;
		if (*p == '\n' && p[1] != '\n' && p[1] != ' ' && p[1])
			p++;
	}
	putc('\n', stream);
	return *p ? p + 1 : p;
}

void print_hang(FILE *stream, const char *text, unsigned indent, unsigned columns)
{
	fill_paragraph(stream, text, indent, columns, true);
}

void print_fill(FILE *stream, const char *text, unsigned indent, unsigned columns)
{
	const char *p = text;

	while (*p) {
		size_t len = strcspn(p, "\n");

		if (len == 0) {
			putc('\n', stream);
			p++;
		} else if (*p == ' ') { /* laid out by hand: unchanged */
			fprintf(stream, "%*s", (int)indent, "");
			put_part(stream, p, len);
			putc('\n', stream);
			p += len + (p[len] == '\n');
		} else {
			p = fill_paragraph(stream, p, indent, columns, false);
		}
	}
}

/* errno of the failed write may be overwritten by now: ask the descriptor. */
static bool reader_is_gone(FILE *stream)
{
	struct pollfd fd = { .fd = fileno(stream), .events = POLLOUT };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

int print_finish(struct nanopod *np, int status)
{
	bool failed = ferror(np->out);
	int why = np->out_failed;

	if (fflush(np->out) != 0) {
		why = why ? why : errno;
		failed = true;
	}
	np->out_failed = 0;
	if (!failed)
		return status;
	__fpurge(np->out); /* say it only once */
	clearerr(np->out);
	if (why == EPIPE || reader_is_gone(np->out))
		return STATUS_PIPE;
	if (why)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot write to standard output: %s", strerror(why));
	return print_fail(np, STATUS_FAILURE, NULL, "cannot write everything to standard output");
}
