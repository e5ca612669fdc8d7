/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/logs/logsource.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/flat.h"
#include "cli/logs/loglevel.h"
#include "cli/logs/logtime.h"
#include "market/when.h"

enum { LINE_MAX_BYTES = 1 << 20, HEAD_MAX = 4096, COMMAND_MAX = 1 << 20, LEVEL_INFO = 6 };

/*
 * Reads a file by POSIX sh. Arguments: file, inode and offset of what was read (0: start), lines, watch. It prints
 * pieces, "@ inode offset length" and so many bytes, so that the reader always knows its position. It follows
 * a rename by the open descriptor, or later finds the file by its inode; a file that shrank starts over. While
 * it watches, the end of standard input ends it, so that no process outlives the connection. The last arguments
 * are a unit and the command for its journal: it says so and reads that where the file does not exist.
 */
static const char file_script[] =
	"f=$1 i=$2 o=$3 n=$4 w=$5 u=$6 j=$7 p=\n"
	"case $f in '~/'*) f=$HOME/${f#'~/'};; esac\n"
	"[ \"$w\" = 0 ] || { exec 9<&0 </dev/null; { while read -r x; do :; done <&9; kill 0; } >/dev/null 2>&1 & }\n"
	"put() {\n"
	"\ts=$(stat -Lc %s /proc/self/fd/3) || return\n"
	"\t[ \"$s\" -ge \"$o\" ] || { o=0; command exec 3<\"$f\"; s=$(stat -Lc %s /proc/self/fd/3) || return; }\n"
	"\tk=$((s - o)); [ \"$k\" -gt 0 ] || return 0\n"
	"\tprintf '@ %s %s %s\\n' \"$i\" \"$o\" \"$k\"\n"
	"\thead -c \"$k\" <&3\n"
	"\tp=$s; while IFS=' \t' read -r x y; do [ \"$x\" != pos: ] || p=$y; done </proc/$$/fdinfo/3\n"
	"\t[ \"$p\" -ge \"$s\" ] || head -c $((s - p)) /dev/zero | tr '\\0' '\\n'\n"
	"\to=$s\n"
	"}\n"
	"take() { command exec 3<\"$1\" && i=$(stat -Lc %i /proc/self/fd/3) && o=$2 && dd bs=1 skip=\"$o\" count=0 <&3 "
	"2>/dev/null; }\n"
	"start() {\n"
	"\t[ \"$n\" != all ] || { take \"$f\" 0; return; }\n"
	"\tfor a in 1 2 3 4 5; do\n"
	"\t\ts=$(stat -Lc %s \"$f\"); k=$(tail -n \"$n\" \"$f\" | wc -c); b=$(stat -Lc %s \"$f\")\n"
	"\t\t[ \"$s\" != \"$b\" ] || break\n"
	"\tdone\n"
	"\t[ \"$k\" -le \"$b\" ] || k=$b\n"
	"\ttake \"$f\" $((b - k))\n"
	"}\n"
	"again() {\n"
	"\t[ \"$(stat -Lc %i \"$f\")\" != \"$i\" ] || { take \"$f\" \"$o\"; return; }\n"
	"\ta=$i b=$o i=\n"
	"\tIFS='\n"
	"'\n"
	"\tfor g in $(ls -1tr -- \"$f\"*); do\n"
	"\t\tif [ -z \"$i\" ] && [ \"$(stat -Lc %i \"$g\")\" = \"$a\" ]; then take \"$g\" \"$b\"; put\n"
	"\t\telif [ -n \"$i\" ] && [ \"$g\" != \"$f\" ]; then take \"$g\" 0; put; fi\n"
	"\tdone\n"
	"\tunset IFS\n"
	"\t[ -n \"$i\" ] || echo @lost\n"
	"\ttake \"$f\" 0\n"
	"}\n"
	"printf '@zone %s\\n' \"$(date +%z)\"\n"
	"until [ -r \"$f\" ] && [ ! -d \"$f\" ]; do\n"
	"\t[ -z \"$u\" ] || [ -z \"$(journalctl -q -n 1 -o cat -u \"$u\" 2>/dev/null)\" ] || { echo @journal; exec sh "
	"-c \"$j\"; }\n"
	"\t[ \"$w\" != 0 ] || { [ -d \"$f\" ] && echo \"'$f' is a folder\" >&2 || echo \"'$f' is not there, or may not "
	"be read\" >&2; exit 3; }\n"
	"\tsleep 1\n"
	"done\n"
	"if [ \"$i\" = 0 ]; then start; else again; fi\n"
	"while put && [ \"$w\" != 0 ]; do\n"
	"\tsleep 0.3 2>/dev/null || sleep 1\n"
	"\t[ \"$(stat -Lc %i \"$f\" 2>/dev/null)\" = \"$i\" ] || [ ! -r \"$f\" ] || { put; take \"$f\" 0; }\n"
	"done\n";

/* Reads as root, where sudo needs no password. */
static const char root_script[] =
	"s=; [ \"$(id -u)\" = 0 ] || ! sudo -n true 2>/dev/null || s='sudo -n'; exec $s \"$@\"";

/* Any other command that must end with the connection. */
static const char held_script[] =
	"exec 9<&0 </dev/null; { while read -r x; do :; done <&9; kill 0; } >/dev/null 2>&1 & w=$!\n";

static const char *const kinds[] = {
#define LOGKIND_X(name, word) [name] = word,
	LOGKINDS(LOGKIND_X)
#undef LOGKIND_X
};

const char *logkind_name(enum log_kind kind)
{
	return kinds[kind];
}

int logsource_what(const char *typed, enum log_kind *kind, const char **what, struct fail *f)
{
	static const char *const units[] = { ".service", ".socket", ".timer", ".mount", ".target", ".slice", ".scope",
		".path" };

	*what = typed;
	*kind = LOG_JOURNAL;
	if (strcmp(typed, "console") == 0) {
		*kind = LOG_CONSOLE;
		*what = "";
	} else if (strcmp(typed, "journal") == 0) {
		*what = "";
	} else if (str_starts(typed, "unit:") && typed[5] && typed[5] != '-') {
		*what = typed + 5;
	} else if (typed[0] == '/' || str_starts(typed, "~/")) {
		*kind = LOG_FILE;
	} else {
		for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
			size_t len = strlen(typed), end = strlen(units[i]);

			if (len > end && typed[0] != '-' && strcmp(typed + len - end, units[i]) == 0)
				return 0;
		}
		return fail_set(f, -EINVAL,
			"'%s' is not a log; use 'console', 'journal', a unit ('ssh.service' or 'unit:ssh') or a path "
			"('/var/log/syslog')",
			typed);
	}
	return 0;
}

void logsource_init(struct log_source *s, enum log_kind kind, char *what, size_t number)
{
	*s = (struct log_source){ .kind = kind, .what = what, .number = number, .level = LEVEL_INFO };
	buf_init(&s->head, HEAD_MAX);
	buf_init(&s->line, LINE_MAX_BYTES);
}

void logsource_release(struct log_source *s)
{
	free(s->what);
	free(s->unit);
	free(s->cursor);
	buf_release(&s->head);
	buf_release(&s->line);
}

/* ---- Commands ---------------------------------------------------------------------------- */

long logsource_lines(const struct log_want *w)
{
	return w->until ? -1 : w->lines;
}

static int logsource_add_lines(struct buf *b, long lines)
{
	return lines < 0 ? buf_adds(b, "all") : buf_addf(b, "%ld", lines);
}

static int add_shell(const struct log_source *s, struct buf *out)
{
	int rc = 0;

	if (s->root) {
		rc = buf_adds(out, "sh -c ");
		rc = rc ? rc : str_quote_sh(out, root_script);
		rc = rc ? rc : buf_adds(out, " nanopod-logs-root ");
	}
	return rc ? rc : buf_adds(out, "sh -c ");
}

/* unit NULL: failed units. */
static int journal_words(const struct log_source *s, const struct log_want *w, const char *unit, struct buf *out)
{
	int rc = buf_adds(out, "journalctl -q --no-pager -o json "
		"--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_PID,_COMM");

	if (!rc && s->cursor) {
		rc = buf_adds(out, " -n all --after-cursor=");
		rc = rc ? rc : str_quote_sh(out, s->cursor);
	} else if (!rc) {
		rc = buf_adds(out, " -n ");
		rc = rc ? rc : logsource_add_lines(out, w->lines);
		if (!rc && w->since)
			rc = buf_addf(out, " --since=@%" PRId64, w->since);
	}
	if (!rc && w->until)
		rc = buf_addf(out, " --until=@%" PRId64, w->until);
	if (!rc && w->priority >= 0)
		rc = buf_addf(out, " -p %d", w->priority);
	if (!rc && !unit) {
		rc = buf_adds(out, " $u");
	} else if (!rc && *unit) {
		rc = buf_adds(out, " -u ");
		rc = rc ? rc : str_quote_sh(out, unit);
	}
	return rc || !w->follow ? rc : buf_adds(out, " -f");
}

/* Without systemd there is no failed unit. */
static int failed_words(const struct log_source *s, const struct log_want *w, struct buf *out)
{
	int rc = buf_adds(out,
		"u=$(systemctl --failed --plain --no-legend --no-pager 2>/dev/null | while read -r x y; do "
		"printf ' -u %s' \"$x\"; done); [ -n \"$u\" ] || exit 0; set -f; ");

	return rc ? rc : journal_words(s, w, NULL, out);
}

/* After a lost connection it asks from the second of the last line on, and skips the lines that it has. */
static int pod_words(struct log_source *s, const struct log_want *w, struct buf *out)
{
	const char *name = strchr(s->what, '/'), *container;
	bool many; /* a selector of labels, "app=web", not a name */
	char since[WHEN_TEXT];
	struct buf word;
	int rc;

	name = name ? name + 1 : s->what;
	container = strchr(name, ':');
	many = strchr(name, '=') != NULL;
	s->skip = s->last_count;
	buf_init(&word, HEAD_MAX);
	rc = buf_adds(out,
		"PATH=$PATH:/usr/local/bin; k=kubectl; ! command -v k3s >/dev/null || k='k3s kubectl "
		"--cache-dir=/run/k3s/nanopod'; "
		"$k logs --timestamps");
	if (!rc && name != s->what) {
		rc = buf_add(&word, s->what, (size_t)(name - 1 - s->what));
		rc = rc ? rc : buf_adds(out, " -n ");
		rc = rc ? rc : str_quote_sh(out, buf_text(&word));
	}
	if (!rc && container) {
		rc = buf_adds(out, " -c ");
		rc = rc ? rc : str_quote_sh(out, container + 1);
	}
	when_iso(s->last_us ? s->last_us / 1000000 : w->since, since);
	if (!rc && (s->last_us || w->since))
		rc = buf_addf(out, " --since-time=%s", since);
	if (!rc && !s->last_us && logsource_lines(w) >= 0)
		rc = buf_addf(out, " --tail=%ld", logsource_lines(w));
	else if (!rc && many) /* else kubectl has ten lines of each */
		rc = buf_adds(out, " --tail=-1");
	if (!rc && w->follow)
		rc = buf_adds(out, " -f");
	buf_clear(&word);
	rc = rc ? rc : buf_add(&word, name, container ? (size_t)(container - name) : strlen(name));
	rc = rc ? rc : buf_adds(out, many ? " --max-log-requests=100 -l " : " ");
	rc = rc ? rc : str_quote_sh(out, buf_text(&word));
	buf_release(&word);
	return rc;
}

static int file_command(struct log_source *s, const struct log_want *w, struct buf *out)
{
	struct buf journal;
	int rc = add_shell(s, out);

	buf_init(&journal, COMMAND_MAX);
	rc = rc ? rc : str_quote_sh(out, file_script);
	rc = rc ? rc : buf_adds(out, " nanopod-logs ");
	rc = rc ? rc : str_quote_sh(out, s->what);
	rc = rc ? rc : buf_addf(out, " %" PRIu64 " %" PRIu64 " ", s->inode, s->offset);
	rc = rc ? rc : logsource_add_lines(out, logsource_lines(w));
	rc = rc ? rc : buf_addf(out, " %d", w->follow);
	if (!rc && s->unit) {
		rc = buf_addc(out, ' ');
		rc = rc ? rc : str_quote_sh(out, s->unit);
		rc = rc ? rc : buf_addc(out, ' ');
		rc = rc ? rc : journal_words(s, w, s->unit, &journal);
		rc = rc ? rc : str_quote_sh(out, buf_text(&journal));
	}
	buf_release(&journal);
	return rc;
}

int logsource_command(struct log_source *s, const struct log_want *w, struct buf *out)
{
	struct buf inner;
	int rc;

	buf_clear(&s->head);
	s->left = 0;
	if (s->kind != LOG_FILE)
		buf_clear(&s->line);
	if (s->kind == LOG_FILE)
		return file_command(s, w, out);
	buf_init(&inner, COMMAND_MAX);
	rc = logsource_holds(s, w) ? buf_adds(&inner, held_script) : 0;
	if (!rc && s->kind == LOG_JOURNAL)
		rc = journal_words(s, w, s->what, &inner);
	else if (!rc && s->kind == LOG_FAILED)
		rc = failed_words(s, w, &inner);
	else if (!rc && s->kind == LOG_POD)
		rc = pod_words(s, w, &inner);
	else if (!rc)
		rc = buf_adds(&inner, s->what);
	if (!rc && logsource_holds(s, w))
		rc = buf_adds(&inner, "\nstatus=$?; kill $w 2>/dev/null; exit $status");
	rc = rc ? rc : add_shell(s, out);
	rc = rc ? rc : str_quote_sh(out, buf_text(&inner));
	buf_release(&inner);
	return rc;
}

bool logsource_holds(const struct log_source *s, const struct log_want *w)
{
	return w->follow && s->kind != LOG_CONSOLE;
}

/* ---- What comes --------------------------------------------------------------------------- */

static bool in_time(const struct log_want *w, int64_t us)
{
	return !us || ((!w->since || us >= w->since * 1000000) && (!w->until || us <= w->until * 1000000));
}

/* Did this line of a pod come before the connection was lost? */
static bool logsource_again(struct log_source *s, int64_t us)
{
	if (us < s->last_us)
		return s->skip > 0;
	if (us == s->last_us && s->skip)
		return s->skip--, true;
	if (us > s->last_us)
		s->last_count = s->skip = 0;
	s->last_us = us;
	s->last_count++;
	return false;
}

/* Is the line wanted? One without a time goes with the line before it. *level: its severity. */
static bool logsource_wanted(struct log_source *s, const struct log_want *w, const char *text, size_t len, size_t timed,
	int64_t us, int *level)
{
	*level = loglevel_read(text, len, timed);
	if (s->kind == LOG_CONSOLE)
		return in_time(w, us);
	if (us || *level >= 0)
		s->level = *level >= 0 ? *level : LEVEL_INFO;
	if (us)
		s->out = !in_time(w, us);
	return !s->out && (w->priority < 0 || s->level <= w->priority);
}

static int logsource_take_text(struct log_source *s, const struct log_want *w, struct logmerge *m, const char *text,
	size_t len, int64_t now_us)
{
	int64_t us = 0, own;
	size_t timed;
	int level;

	if (len && text[len - 1] == '\r')
		len--;
	timed = logtime_parse(text, len, now_us, s->east, &us);
	if (s->kind == LOG_POD && timed) {
		timed += timed < len && text[timed] == ' ';
		text += timed;
		len -= timed;
		if (logsource_again(s, us))
			return 0;
		timed = logtime_parse(text, len, now_us, s->east, &own);
	}
	if (!logsource_wanted(s, w, text, len, timed, us, &level))
		return 0;
	return logmerge_add(m, s->number, us, now_us, clock_ms(), level, text, len);
}

/* A line of `journalctl -o json`. A message that is not text comes as a list of numbers, and is dropped. */
static int take_entry(struct log_source *s, struct logmerge *m, const char *text, size_t len, int64_t now_us)
{
	const char *message, *name, *pid, *cursor;
	struct flat entry;
	struct buf b;
	int64_t us;
	char *kept;
	int rc;

	if (!len)
		return 0;
	rc = flat_parse(&entry, text, len);
	if (rc)
		return rc == -ENOMEM ? rc : logmerge_add(m, s->number, 0, now_us, clock_ms(), -1, text, len);
	buf_init(&b, LINE_MAX_BYTES);
	message = flat_text(&entry, "MESSAGE");
	name = flat_text(&entry, "SYSLOG_IDENTIFIER");
	name = name ? name : flat_text(&entry, "_COMM");
	pid = flat_text(&entry, "_PID");
	us = flat_text(&entry, "__REALTIME_TIMESTAMP") ? strtoll(flat_text(&entry, "__REALTIME_TIMESTAMP"), NULL, 10)
						       : 0;
	rc = buf_addf(&b, "%s%s%s%s: %s", name ? name : "-", pid ? "[" : "", pid ? pid : "", pid ? "]" : "",
		message ? message : "(a message that is not text)");
	if (!rc)
		rc = logmerge_add(m, s->number, us, now_us, clock_ms(),
			flat_text(&entry, "PRIORITY") ? *flat_text(&entry, "PRIORITY") - '0' : -1, buf_text(&b), b.len);
	cursor = flat_text(&entry, "__CURSOR");
	if (!rc && cursor && (kept = strdup(cursor))) {
		free(s->cursor);
		s->cursor = kept;
	}
	buf_release(&b);
	flat_release(&entry);
	return rc == -EFBIG ? 0 : rc;
}

static int logsource_take_line(struct log_source *s, const struct log_want *w, struct logmerge *m, int64_t now_us)
{
	int rc = s->kind == LOG_JOURNAL || s->kind == LOG_FAILED
		? take_entry(s, m, buf_text(&s->line), s->line.len, now_us)
		: logsource_take_text(s, w, m, buf_text(&s->line), s->line.len, now_us);

	buf_clear(&s->line);
	return rc;
}

/* Bytes of the log itself. */
static int take_bytes(struct log_source *s, const struct log_want *w, struct logmerge *m, const char *data, size_t len,
	int64_t now_us)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;
		bool full = s->line.len + n > LINE_MAX_BYTES / 2;
		int rc = n ? buf_add(&s->line, data, n > LINE_MAX_BYTES / 2 ? LINE_MAX_BYTES / 2 : n) : 0;

		s->begun = true;
		if (!rc && (end || full))
			rc = logsource_take_line(s, w, m, now_us);
		if (rc)
			return rc;
		data += n + (end != NULL);
		len -= n + (end != NULL);
	}
	return 0;
}

/* "+0130" */
static int logsource_zone_of(const char *text)
{
	int sign = text[0] == '-' ? -1 : 1;

	for (int i = 1; i < 5; i++)
		if (!isdigit((unsigned char)text[i]))
			return 0;
	return sign * (((text[1] - '0') * 10 + text[2] - '0') * 3600 + ((text[3] - '0') * 10 + text[4] - '0') * 60);
}

/* What the file's script prints between pieces. */
static void logsource_take_head(struct log_source *s)
{
	const char *head = buf_text(&s->head);
	uint64_t inode, offset, len;

	if (str_starts(head, "@zone ") && strlen(head) >= 11) {
		s->east = logsource_zone_of(head + 6);
	} else if (strcmp(head, "@journal") == 0 && s->unit) {
		free(s->what);
		s->what = s->unit;
		s->unit = NULL;
		s->kind = LOG_JOURNAL;
		buf_clear(&s->line);
	} else if (strcmp(head, "@lost") == 0) {
		s->lost = true;
		buf_clear(&s->line);
	} else if (sscanf(head, "@ %" SCNu64 " %" SCNu64 " %" SCNu64, &inode, &offset, &len) == 3) {
		s->inode = inode;
		s->offset = offset;
		s->left = len;
	}
}

static int logsource_take_piece(struct log_source *s, const struct log_want *w, struct logmerge *m, const char **data,
	size_t *len, int64_t now_us)
{
	size_t n = *len < s->left ? *len : (size_t)s->left;
	uint64_t was;
	int rc;

	if (s->left) {
		rc = take_bytes(s, w, m, *data, n, now_us);
		s->left -= n;
		s->offset += n;
		*data += n;
		*len -= n;
		return rc;
	}
	while (*len) {
		char c = **data;

		++*data;
		--*len;
		if (c != '\n') {
			rc = buf_addc(&s->head, c);
			if (rc == -ENOMEM)
				return rc;
			continue;
		}
		was = s->inode;
		logsource_take_head(s);
		buf_clear(&s->head);
		/* Another file starts a new line. */
		return was && s->inode != was && s->line.len ? take_bytes(s, w, m, "\n", 1, now_us) : 0;
	}
	return 0;
}

int logsource_feed(struct log_source *s, const struct log_want *w, struct logmerge *m, const char *data, size_t len,
	int64_t now_us)
{
	int rc = 0;

	/* The file does not exist: from the next byte on it is its unit's journal. */
	while (!rc && len && s->kind == LOG_FILE)
		rc = logsource_take_piece(s, w, m, &data, &len, now_us);
	return rc || !len ? rc : take_bytes(s, w, m, data, len, now_us);
}

int logsource_end(struct log_source *s, const struct log_want *w, struct logmerge *m, int64_t now_us)
{
	return s->line.len && !(w->follow && s->kind != LOG_COMMAND) ? logsource_take_line(s, w, m, now_us) : 0;
}
