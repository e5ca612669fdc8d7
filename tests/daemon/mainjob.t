#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, as a person types it, on a local market: start, buy two nodes, run on both, copy, logs, extend, stop,
# start again, reset; both daemons are killed on the way. Runs as the user of the tests with the driver process;
# mainjob-user.t runs it as an ordinary user, mainjob-ns.t with the driver ns.
. "$(dirname "$0")/../lib/tap.sh"
need jq
PATH=$PATH:/usr/sbin:/sbin
command -v sshd >/dev/null && command -v ssh-keygen >/dev/null ||
	skip_all "sshd is not installed (Debian: openssh-server)"
for program in nanopod-marketd nanopod-agentd nanopod-node; do [ -x "$BUILD/$program" ] ||
	skip_all "$program is not built"; done
DRIVER=${TEST_DRIVER:-process}
NANOPOD_LIBEXEC=$BUILD
export NANOPOD_LIBEXEC
DIR=$HOME/.local/share/nanopod/local
lo() { "$NANOPOD" local "$@"; }
field() { lo status -o json 2>/dev/null | jq -r ".$1"; }
mkdir -p -m 700 "$HOME/.ssh"
if [ "$DRIVER" = ns ]; then
	[ "$(id -u)" -eq 0 ] || skip_all "driver 'ns' needs root"
	[ -d "${TEST_IMAGES:=$BUILD/images}" ] ||
		skip_all "no image: 'nanopod-agentd --images $BUILD/images image build' makes one"
	mkdir -p -m 700 "$HOME/.local/share/nanopod" && ln -s "$TEST_IMAGES" "$HOME/.local/share/nanopod/images"
fi
at_exit 'lo reset -y >/dev/null 2>&1'

# Processes that have this folder in their command line.
processes() {
	for each in /proc/[0-9]*; do
		case ${each#/proc/} in $$|$BASHPID) continue ;; esac
		tr '\0' ' ' <"$each/cmdline" 2>/dev/null | grep -F "$DIR" | sed "s,^,${each#/proc/} ,"
	done
}
none_left() { [ -z "$(processes)" ]; }
diag "as user $(id -u), driver '$DRIVER'"

run_is 0 "start" lo start --driver "$DRIVER" --nodes 2 || { done_testing; }
like "$err" "driver '$DRIVER'" "says with what"
if [ "$DRIVER" = ns ] && "$BUILD/nanopod-agentd" inventory --json 2>/dev/null | jq -e .capacity >/dev/null; then
	is "$("$NANOPOD" types -o json | jq '.[0] | .vcpus > 0 and (.memory | tonumber) > 0 and (.storage | tonumber) > 0')" true \
		"the type promises what this machine has"
fi
run_is 0 "price" "$NANOPOD" price -t cpu -n 2 -d 1h
run_is 0 "buy two nodes for an hour" "$NANOPOD" buy -t cpu -n 2 -d 1h -p 1 --name job --wait=4m -y
is "$("$NANOPOD" nodes -r job -o json | jq -r '[.[].status] | join(" ")')" "running running" "both run"
run_is 0 "run on both" "$NANOPOD" run -r job -- 'echo on $(hostname)'
is "$(printf '%s\n' "$out" | sort)" "job-0: on job-0
job-1: on job-1" "each says who it is" || diag "$err"
mkdir "$TMP/data" && head -c 300000 /dev/urandom >"$TMP/data/blob" && echo small >"$TMP/data/small"
run_is 0 "cp a folder to both" "$NANOPOD" cp -r "$TMP/data" "@job:"
is "$("$NANOPOD" run -r job -- 'cat data/blob | sha256sum | cut -c1-64' | sed 's/.*: //' | sort -u)" \
	"$(sha256sum <"$TMP/data/blob" | cut -c1-64)" "it is the same on both"
run_is 0 "and back" "$NANOPOD" cp job-1:data/small "$TMP/back"
is "$(cat "$TMP/back" 2>/dev/null)" small "(it came)"
both() { "$NANOPOD" logs -r job >"$TMP/said" && grep -q job-0 "$TMP/said" && grep -q job-1 "$TMP/said"; }
wait_for 60 both # agents send what consoles say a moment later
run_is 0 "logs" "$NANOPOD" logs -r job
like "$out" 'job-0' "of the one"
like "$out" 'job-1' "and the other"
"$NANOPOD" run -r job -- 'setsid sleep 86399 >/dev/null 2>&1 </dev/null & echo $! >pid' >/dev/null 2>&1
END=$("$NANOPOD" nodes -r job -o json | jq -r '.[0].ends // .[0].end // .[0].until')
run_is 0 "extend" "$NANOPOD" extend job -d 1h -y
isnt "$("$NANOPOD" nodes -r job -o json | jq -r '.[0].ends // .[0].end // .[0].until')" "$END" "it ends later"
same() { "$NANOPOD" run -r job -- 'kill -0 $(cat pid) && cat data/small' 2>/dev/null | sort; }
is "$(same)" "job-0: small
job-1: small" "what ran there runs"

# ---- Both are killed -----------------------------------------------------------------------------------------------
kill -9 "$(field market_pid)" "$(field agent_pid)"
broken() { [ "$(field state)" != running ]; }
ok "market and agent are killed" wait_for 20 broken
run_is 0 "start mends it" lo start
is "$(field state)" running "(it runs)"
heard() { [ "$(same)" = "job-0: small
job-1: small" ]; }
ok "the nodes went on, with what ran in them" wait_for 60 heard || diag "$(same)"

# ---- Stop, start, reset ---------------------------------------------------------------------------------------------
run_is 0 "stop" lo stop
ok "no process is left" wait_for 30 none_left || diag "$(processes)"
run_is 0 "start again" lo start
back() { [ "$("$NANOPOD" run -r job -- 'cat data/small' 2>/dev/null | sort)" = "job-0: small
job-1: small" ]; }
ok "the nodes that are paid come back, with their files" wait_for 120 back ||
	diag "$("$NANOPOD" nodes 2>&1)" "$("$NANOPOD" run -r job -- 'cat data/small' 2>&1)"
run_is 0 "burn" "$NANOPOD" burn
run_is 0 "reset" lo reset -y
ok "no process is left" wait_for 30 none_left || diag "$(processes)"
not_ok "nor a file" test -e "$DIR"
is "$(grep -c "$DIR" /proc/self/mountinfo)" 0 "nor a mount"
is "$(find "$HOME/.ssh" -type f)" "" "and ~/.ssh was left alone"
done_testing
