/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/kill_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pssh/pssh_types.h"

/*
 * `sh` reads this from its standard input, so the user's login shell does not interpret it. $PPID is
 * sshd's process for this connection; its other children are our commands, oldest first. If their
 * number is not the expected one (a command may just have ended), it looks again. It finds a
 * session's processes by the session's id, so they may have changed parent or group. It reads /proc
 * on Linux and calls ps elsewhere.
 */
#define KILL_MARK "libpssh-sweep" /* tells these scripts from the commands that they look for */

static const char script[] =
	"all() { if [ -r /proc/self/stat ]; then for f in /proc/[0-9]*/stat; do"
	" { read -r l <\"$f\"; } 2>/dev/null || continue; p=${l%% *}; set -- ${l##*) };"
	" [ \"$1\" = Z ] || echo \"$p $2 $4 ${20}\"; done;"
	" else ps -A -o pid= -o ppid= -o pgid=; fi; }\n"
	"up=$PPID; me=$$; i=0\n"
	"while :; do\n"
	" t=$(all | while read -r p pp s a; do [ \"$pp\" = \"$up\" ] && [ \"$p\" != \"$me\" ] || continue;"
	" case $(tr '\\0' ' ' 2>/dev/null <\"/proc/$p/cmdline\" || ps -o args= -p \"$p\") in *" KILL_MARK
	"*) ;; *) echo \"${a:-0} $p\" ;; esac; done"
	" | sort -n -k1,1 -k2,2); set -f; set -- $t; set +f\n"
	" [ $(($# / 2)) -eq $running ] && break; i=$((i + 1)); [ $i -ge 10 ] && break; sleep 0.1\n"
	"done\n"
	"[ $(($# / 2)) -eq $running ] || { [ $# -eq 0 ] && echo ended && exit; echo lost; exit; }\n"
	"shift $((nth * 2 + 1)); sid=$1\n"
	"left() { all | while read -r p pp s a; do [ \"$s\" = \"$sid\" ] && printf '%s ' \"$p\"; done; }\n"
	"l=$(left); [ -n \"$l\" ] && kill -s \"$sig\" $l 2>/dev/null\n"
	"i=0; while l=$(left); [ -n \"$l\" ] && [ $i -lt $grace ]; do sleep 0.1; i=$((i + 1)); done\n"
	"[ -z \"$l\" ] && { echo ended; exit; }\n"
	"i=0; while l=$(left); [ -n \"$l\" ] && [ $i -lt 20 ]; do kill -s KILL $l 2>/dev/null; i=$((i + 1)); sleep "
	"0.1; done\n"
	"[ -z \"$l\" ] && echo killed || echo \"left $l\"\n";

struct kill_remote {
	struct exec_want want;
	struct input input;
	struct exec *exec;
	struct buf heard;
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
	buf_init(&s->heard, 4096);
	s->want = (struct exec_want){
		.command = "exec sh -s " KILL_MARK,
		.output = { .mode = PSSH_OUTPUT_GATHER, .ceiling = 4000 },
	};
	if (buf_addf(&s->input.data, "sig=%s; grace=%u; nth=%u; running=%u\n%s", signal, grace_ms / 100, nth, running,
		    script) == 0)
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

static void kill_remote_conclude(struct kill_remote *s)
{
	const char *t = buf_text(&s->heard);

	if (str_starts(t, "ended"))
		snprintf(s->said, sizeof s->said, "its processes ended");
	else if (str_starts(t, "killed"))
		snprintf(s->said, sizeof s->said, "its processes ignored the signal and were killed");
	else if (str_starts(t, "left "))
		snprintf(s->said, sizeof s->said, "these processes survived KILL: %.*s", (int)strcspn(t + 5, "\n"),
			t + 5);
	else
		snprintf(s->said, sizeof s->said, "its processes could not be found and may still run");
}

int kill_remote_step(struct kill_remote *s, struct exec_room *room, struct fail *f)
{
	for (;;) {
		int rc = exec_step(s->exec, room, f);

		if (rc == EXEC_OUTPUT && s->exec->emit_stream == 0)
			buf_add(&s->heard, s->exec->emit, s->exec->emit_len);
		if (rc == EXEC_OUTPUT || rc == EXEC_BEGUN)
			continue;
		if (rc == EXEC_DONE)
			kill_remote_conclude(s);
		return rc;
	}
}

bool kill_remote_lost(const struct kill_remote *s)
{
	return str_starts(buf_text(&s->heard), "lost");
}

const char *kill_remote_said(const struct kill_remote *s)
{
	return s->said;
}
