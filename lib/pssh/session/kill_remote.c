/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/kill_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pssh/pssh_types.h"

/*
 * `sh` reads this from its standard input, so the user's login shell does not interpret it.
 *
 * What it may cost is bounded. `beat` prints a line, so the script dies of a closed channel, and it
 * fails when the script's time is up; `beating` prints lines while a long look at all processes goes
 * on. One `grep` reads the table of processes, and that seldom: once to find the command's processes,
 * once to see that they are all gone; in between it looks at those that it found. A look that does not
 * see the script itself went wrong (no grep, no memory).
 */
enum { HEARD_MAX = 4096, PIDS_SHOWN = 80 };

#define KILL_MARK "libpssh-sweep" /* tells these scripts from the commands that they look for */

static const char script_proc[] =
	"if cd /proc 2>/dev/null && [ -r $$/stat ] && [ -r uptime ]; then\n"
	"clock() { read -r t _ <uptime; now=$((${t%.*} * 100 + 1${t#*.} - 100)); }\n"
	"children() { k=; { read -r k <$up/task/$up/children; } 2>/dev/null; [ \"$k\" ] ||"
	" k=$(echo [0-9]*/stat | xargs grep -lsE \"\\) [^ZX] $up \"); }\n"
	"stat() { l=; { read -r l <$1/stat; } 2>/dev/null; l=${l##*) }; [ \"$l\" ] && [ \"${l#[ZX]}\" = \"$l\" ]; }\n"
	/* What is about to end has no memory (its size is 0) and thus no command line, by which we could tell it. */
	"born() { c=; { read -r c <$1/cmdline; } 2>/dev/null; stat $1 || return;"
	" set -- $l; a=${20}; [ ${21} != 0 ]; }\n"
	"look() { found= me=; [ $# -gt 0 ] || set -- [0-9]*/stat\n"
	" for f in $(echo $$/stat \"$@\" | xargs grep -lsE \"^$$ |\\) [^ZX] [0-9]+ [0-9]+ $sid \"); do"
	" f=${f%/stat}; [ $f = $$ ] && me=1 || found=\"$found $f\"; done\n"
	" [ \"$me\" ] || { echo lost; exit; }; }\n"
	/* What the process $1 has as its output. */
	"pipes() { ls -l $1/fd/1 $1/fd/2 2>/dev/null | grep -oE '(pipe|socket):.[0-9]+.'; }\n"
	"opened() { echo [0-9]*/fd/[0-9] | xargs ls -l 2>/dev/null; }\n"
	"holders() { [ \"$o\" ] && opened | grep -F \"$o\" |"
	" sed -n 's|.* \\([0-9]*\\)/fd/.*|\\1|p' | sort -u | grep -vx $up; }\n"
	/*
	 * The only session of this connection whose first process has ended while others still write to sshd:
	 * to what is of the kind that sshd gave us too, and that nobody else reads whom we see. With two of them,
	 * one is what an earlier command left running.
	 */
	"orphan() { [ \"$SSH_CONNECTION\" ] || return; sid=; kind=$(pipes $$); kind=${kind%%:*}; \n"
	" all=$(opened | grep -v \" $up/fd/\")\n"
	" for f in $(echo [0-9]*/environ | xargs grep -lszF \"SSH_CONNECTION=$SSH_CONNECTION\"); do f=${f%/*}\n"
	"  stat $f || continue; set -- $l; [ -e $4 ] && continue\n"
	"  for p in $(pipes $f | grep \"^$kind:\"); do echo \"$all\" | grep -F \"$p\" | grep -q ^lr-x && continue\n"
	"   [ ${sid:-$4} = $4 ] || return; sid=$4; o=$p; done; done; [ \"$sid\" ]; }\n";

/* Where there is no /proc: a process group stands for a session. `pipes` and `orphan` find nothing. */
static const char script_ps[] =
	"else\n"
	"clock() { now=$(($(date +%s) * 100)); }\n"
	"children() { k=$(ps -A -o ppid= -o pid= | while read -r pp p; do [ $pp != $up ] || echo $p; done); }\n"
	"born() { c=$(ps -o args= -p $1) && a=0; }\n"
	"look() { l=$(ps -A -o pid= -o pgid=) || { echo lost; exit; }\n"
	" found=$(echo \"$l\" | while read -r p s; do [ $s != $sid ] || echo $p; done); }\n"
	"pipes() { :; }; holders() { :; }; orphan() { false; }\n"
	"fi\n";

/*
 * $PPID is sshd's process for this connection; its other children are our commands, oldest first. If
 * their number is not the expected one (a command may just have ended), it counts again. A process of
 * the command's session may have any parent or group. Who left the session is looked for only if the
 * channel is still there after the session's end: then somebody holds the command's output.
 */
static const char script_main[] =
	"nap() { sleep 0.$1 2>/dev/null || sleep 1; }\n"
	"beat() { echo . || exit; clock; [ $now -lt $end ]; }\n"
	"beating() { while nap 9 >/dev/null; do echo . || exit; done & beats=$!; \"$@\"; set -- $?;"
	" kill $beats; return $1; }\n"
	"commands() { children; for p in $k; do p=${p%/*}; born $p || continue\n"
	" case $c in *" KILL_MARK ") ;; *) echo \"$a $p\" ;; esac; done | sort -n -k1,1 -k2,2 |"
	" while read -r a p; do echo $p; done; }\n"
	"again() { if [ \"$found\" ]; then set --; for p in $found; do set -- \"$@\" $p/stat; done; look \"$@\"; fi\n"
	" [ \"$found\" ] || look; }\n"
	"up=$PPID; i=0; clock; end=$((now + grace + 300))\n"
	"while set -- $(commands); [ $# -ne $running ] && [ $i -lt 9 ] && beat; do i=$((i + 1)); nap 1; done\n"
	"if [ $# -eq $running ]; then shift $nth; sid=$1; o=$(pipes $sid)\n"
	"elif [ $#$running != 01 ] || ! beating orphan; then echo lost; exit; fi\n"
	"echo found; look; [ \"$found\" ] && kill -s $sig $found 2>/dev/null\n"
	"clock; soon=$((now + grace)); stop=$((soon + 200)); end=$((stop + 100)); i=1; said=ended\n"
	"while [ \"$found\" ] && beat && [ $now -lt $soon ]; do nap $i; [ $i -ge 5 ] || i=$((i + 1)); again; done\n"
	"while [ \"$found\" ] && beat && [ $now -lt $stop ]; do kill -s KILL $found 2>/dev/null; said=killed; nap 1;"
	" again; done\n"
	"[ -z \"$found\" ] || { echo left $found; exit; }\n"
	"echo $said; nap 5; echo . || exit; echo away $(holders)\n";

struct kill_remote {
	struct exec_want want;
	struct input input;
	struct exec *exec;
	struct buf heard;
	enum kill_outcome outcome;
	char said[160];
};

int kill_remote_new(struct link *l, const char *signal, unsigned grace_ms, unsigned nth, unsigned running,
	struct kill_remote **out)
{
	struct kill_remote *s = calloc(1, sizeof *s);
	int rc = PSSH_ENOMEM;

	if (!s)
		return rc;
	input_init(&s->input);
	s->input.open = s->input.ended = true;
	buf_init(&s->heard, HEARD_MAX);
	s->want = (struct exec_want){
		.command = "exec sh -s " KILL_MARK,
		.output = { .mode = PSSH_OUTPUT_LINES, .ceiling = HEARD_MAX },
	};
	if (buf_addf(&s->input.data, "sig=%s; grace=%u; nth=%u; running=%u\n%s%s%s", signal, grace_ms / 10, nth,
		    running, script_proc, script_ps, script_main) == 0)
		rc = exec_new(l, &s->want, &s->input, &s->exec);
	if (rc)
		kill_remote_free(s);
	else
		*out = s;
	return rc;
}

void kill_remote_free(struct kill_remote *s)
{
	if (!s)
		return;
	exec_free(s->exec);
	input_release(&s->input);
	buf_release(&s->heard);
	free(s);
}

/* "1 process still runs (PID 7)", with `whose` after the noun. */
static void kill_remote_name(struct kill_remote *s, const char *pids, const char *whose)
{
	unsigned n = 0;
	int shown = (int)strlen(pids);

	if (pids[strspn(pids, "0123456789 ")]) /* not our script's */
		return;
	for (const char *c = pids; *c; c++)
		n += c[0] != ' ' && (c == pids || c[-1] == ' ');
	if (shown > PIDS_SHOWN)
		for (shown = PIDS_SHOWN; shown > 0 && pids[shown] != ' '; shown--)
			;
	s->outcome = KILL_LEFT;
	snprintf(s->said, sizeof s->said, "%u process%s%s still run%s (PID %.*s%s)", n, n == 1 ? "" : "es", whose,
		n == 1 ? "s" : "", shown, pids, pids[shown] ? " ..." : "");
}

static void kill_remote_line(struct kill_remote *s, const char *line)
{
	if (strcmp(line, "found") == 0) {
		s->outcome = KILL_FOUND;
	} else if (strcmp(line, "ended") == 0 || strcmp(line, "killed") == 0) {
		s->outcome = KILL_ENDED;
		snprintf(s->said, sizeof s->said, "its processes %s",
			*line == 'e' ? "ended" : "ignored the signal and were killed");
	} else if (str_starts(line, "left ")) {
		kill_remote_name(s, line + 5, "");
	} else if (str_starts(line, "away ") && line[5]) {
		kill_remote_name(s, line + 5, " that left its session");
	} else if (strcmp(line, "lost") == 0) {
		s->outcome = KILL_LOST;
	}
}

static void kill_remote_hear(struct kill_remote *s, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n') {
			buf_addc(&s->heard, data[i]); /* a line that is too long is cut */
			continue;
		}
		kill_remote_line(s, buf_text(&s->heard));
		buf_clear(&s->heard);
	}
}

int kill_remote_step(struct kill_remote *s, struct exec_room *room, bool *heard, struct fail *f)
{
	for (;;) {
		int rc = exec_step(s->exec, room, f);

		if (rc == EXEC_OUTPUT && s->exec->emit_stream == 0)
			kill_remote_hear(s, s->exec->emit, s->exec->emit_len);
		if (rc == EXEC_OUTPUT || rc == EXEC_BEGUN) {
			*heard = true;
			continue;
		}
		if (rc == EXEC_DONE && !*s->said)
			snprintf(s->said, sizeof s->said, "its processes could not be found and may still run");
		return rc;
	}
}

enum kill_outcome kill_remote_outcome(const struct kill_remote *s)
{
	return s->outcome;
}

const char *kill_remote_said(const struct kill_remote *s)
{
	return s->said;
}
