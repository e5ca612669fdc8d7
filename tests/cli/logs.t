#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod logs on plain hosts, against real sshd: files and commands, merged, followed over lost connections and rotations.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep
sshd_up 3 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
nanopod_logs() { timeout -k 5 60 "$NANOPOD" logs -F "$SSHD_CONFIG" "$@"; }

# ---- What was there already ----
mkdir logs
printf '2026-11-21T10:00:01Z one\n2026-11-21T10:00:04Z four\n  and more of it\n' >logs/a
printf '2026-11-21T10:00:02Z two\n2026-11-21T10:00:05Z five\n' >logs/b
printf 'Nov 21 10:00:03 host three\n' >logs/c
TZ=UTC run nanopod_logs -w n1 "$TMP/logs/a" "$TMP/logs/b" --no-label
is "$status" 0 "two files of one host"
is "$out" "$(printf '%s\n' '2026-11-21T10:00:01Z one' '2026-11-21T10:00:02Z two' '2026-11-21T10:00:04Z four' '  and more of it' \
	'2026-11-21T10:00:05Z five')" "are merged by their times, and a line without one stays with the one before it"
run nanopod_logs -w n1 "$TMP/logs/a" "$TMP/logs/b"
like "$out" "^n1 $TMP/logs/b: +2026-11-21T10:00:02Z two\$" "each line says whose it is"
run nanopod_logs -w 'n[1-3]' "$TMP/logs/a"
is "$(cut -d' ' -f2- "$TMP/.out" | sort -u | wc -l) $(grep -c . "$TMP/.out")" "3 9" "three hosts"
is "$(cut -c1-3 "$TMP/.out" | head -3 | sort | tr '\n' ' ')" "n1: n2: n3: " "lines of the same time come together, whoever said them"
run nanopod_logs -w n1 -n 1 "$TMP/logs/b" --no-label
is "$out" "2026-11-21T10:00:05Z five" "-n: the last lines only"
run nanopod_logs -w n1 --since 2026-11-21T10:00:02Z --until 2026-11-21T10:00:04Z "$TMP/logs/a" "$TMP/logs/b" --no-label
is "$out" "$(printf '2026-11-21T10:00:02Z two\n2026-11-21T10:00:04Z four\n  and more of it')" "--since and --until"
run nanopod_logs -w n1 -n 1 --until 2026-11-21T10:00:02Z "$TMP/logs/a" "$TMP/logs/b" --no-label
is "$out" "$(printf '2026-11-21T10:00:01Z one\n2026-11-21T10:00:02Z two')" "-n and --until: the last lines until then, of each"
printf '2019-05-01T10:00:00Z long ago\n2019-05-03T10:00:00Z and then\n' >logs/old
run nanopod_logs n1 --since 2019-05-02T00:00:00Z "$TMP/logs/old" --no-label
is "$out" "2019-05-03T10:00:00Z and then" "a date of another year"
# Not where the day turns in between, nor before 00:01 of it.
not_midnight() { case $(date -u +%H%M) in 2358 | 2359 | 0000) return 1 ;; esac; }
wait_for 240 not_midnight
printf '%sT23:59:59Z before\n%sT00:02:00Z after\n' "$(date -u -d yesterday +%F)" "$(date -u +%F)" >logs/days
run nanopod_logs n1 --since 'today 00:01' "$TMP/logs/days" --no-label
like "$out" "after" "--since 'today 00:01'"
unlike "$out" "before" "is not yesterday"
run nanopod_logs n1 --since 00:01 "$TMP/logs/days" --no-label
like "$out" "after" "a time alone is the last one that was"
run nanopod_logs n1 "$TMP/logs/b" -o jsonl
is "$(jq -r 'select(.seq == 1) | [.time, .node, .log, .line] | join("|")' "$TMP/.out" 2>/dev/null || cat "$TMP/.out")" \
	"2026-11-21T10:00:02.000000Z|n1|file|2026-11-21T10:00:02Z two" "as JSON Lines"
run nanopod_logs n1 -- 'echo said; echo wrong >&2; exit 3'
is "$status: $out: $err" "1: n1: said: n1! wrong" "a command's output, its errors apart, and that it failed"

# ---- What cannot be had ----
run nanopod_logs -w 'n[1-2]' "$TMP/logs/a" "$TMP/nothing"
is "$status" 10 "one log of two hosts is not there: partly"
like "$err" "n1! '$TMP/nothing' is not there" "which one is said"
run nanopod_logs n1 "$TMP/nothing"
is "$status" 3 "the only one is not there"
run nanopod_logs n1 nonsense
is "$status" 2 "what is no log"
like "$err" "'nonsense' is not a log; use 'console', 'journal', a unit" "is told how logs are written"
like "$err" "nanopod provision list" "and where others are"
run nanopod_logs n1 console
is "$status" 3 "a plain host has no console at a market"
run nanopod_logs
is "$status" 2 "no node"
run nanopod_logs n1 -n some "$TMP/logs/a"
is "$status" 2 "-n takes a number"
run nanopod_logs n1 --since yesterdayish "$TMP/logs/a"
is "$status" 2 "--since takes a time"
run nanopod_logs -w n9x.invalid "$TMP/logs/a"
is "$status" 8 "a host that cannot be reached"

# ---- Following ----
said() { grep -cF "$1" "$TMP/follow.out" >/dev/null; }
followed() { cut -d' ' -f2- "$TMP/follow.out" | tr '\n' '|'; }
seq 1 3 | sed 's/^/line /' >logs/f
"$NANOPOD" logs -F "$SSHD_CONFIG" -f -w n1 -n 2 "$TMP/logs/f" >follow.out 2>follow.err </dev/null &
follower=$!
ok "the last lines come at once" wait_for 20 said "line 3"
echo 'line 4' >>logs/f
ok "and what is written then" wait_for 20 said "line 4"

# Its connection is killed in the middle, and the file rotated while it is away.
session() { pgrep -of "nanopod-logs $TMP/logs/f"; }
shell=$(session)
parent=$(ps -o ppid= -p "$shell" | tr -d ' ')
ok "the reader is there" test -n "$parent"
kill -9 "$parent" # the session's sshd: the connection is gone
printf 'line 5\nli' >>logs/f
mv logs/f logs/f.1
echo 'ne 6' >>logs/f.1
printf 'line 7\n' >logs/f
ok "it connects again by itself" wait_for 30 said "line 7"
echo 'line 8' >>logs/f
ok "and goes on" wait_for 20 said "line 8"
is "$(followed)" "line 2|line 3|line 4|line 5|line 6|line 7|line 8|" "over a lost connection and a rotation no line is lost and none is there twice"
like "$(cat follow.err)" "n1: .*; trying again" "what happened is said"
like "$(cat follow.err)" "n1: reconnected; continuing where it was" "and that it is over"
kill -TERM $follower
wait $follower
is $? 143 "SIGTERM ends it"
gone() { ! pgrep -f "nanopod-logs $TMP/logs/f" >/dev/null; }
ok "and leaves no process on the host" wait_for 20 gone

long=$((70000000 + $$)) # seconds, of this test alone
"$NANOPOD" logs -F "$SSHD_CONFIG" -f -w 'n[1-2]' -- "echo here; exec sleep $long" >follow.out 2>follow.err </dev/null &
follower=$!
here_twice() { [ "$(grep -c here follow.out)" = 2 ]; }
ok "a command on two hosts" wait_for 20 here_twice
kill -TERM $follower
wait $follower
is $? 143 "SIGTERM ends it"
ended() { ! pgrep -f "sleep $long" >/dev/null; }
ok "the commands end with it" wait_for 20 ended

done_testing
