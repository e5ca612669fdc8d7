#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/lib/leaves, under which every suite runs: what a suite leaves behind cannot hang those after it, and is a failure.
. "$(dirname "$0")/../lib/tap.sh"
LEAVES=$SRC/tests/lib/leaves
export LEAVES_TRIES=20

# The reader ends when nobody holds the pipe any more, as automake's driver does.
said=$("$LEAVES" bash -c 'echo ok 1; sleep 600 & echo $! >"$0"; exit 3' "$TMP/pid"; echo "status $?")
is "$(sed "s/$(cat "$TMP/pid")/PID/" <<<"$said")" $'ok 1\nnot ok - it leaves nothing behind that holds its output\n# process PID: sleep 600 \nstatus 3' \
	"a process that holds the output is named, and the status is the test's"
ended() { ! kill -0 "$(cat "$TMP/pid")" 2>/dev/null; }
ok "it was ended" wait_for 20 ended
said=$(LEAVES_TRIES=1000 "$LEAVES" bash -c 'echo ok 1; (until [ -e "$0" ]; do sleep 0.05; done) & : >"$0"' "$TMP/went")
is "$said" "ok 1" "one that ends by itself is none"
said=$("$LEAVES" bash -c 'echo ok 1; sleep 600 >/dev/null 2>&1 & echo $! >"$0"' "$TMP/pid")
is "$said" "ok 1" "nor is one that writes elsewhere"
ok "which goes on" kill -0 "$(cat "$TMP/pid")"
kill "$(cat "$TMP/pid")"
done_testing
