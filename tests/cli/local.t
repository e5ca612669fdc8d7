#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod local: a market and nodes on this machine. Started, killed anywhere, started again, stopped, gone.
. "$(dirname "$0")/../lib/tap.sh"
need jq curl
for program in nanopod-marketd nanopod-agentd; do
	[ -x "$BUILD/$program" ] || skip_all "$program is not built"
done
PATH=$PATH:/usr/sbin:/sbin
command -v sshd >/dev/null && command -v ssh-keygen >/dev/null || skip_all "sshd is not installed (Debian: openssh-server)"
lo() { "$NANOPOD" local "$@"; }
DIR=$HOME/.local/share/nanopod/local
# A status waits two seconds for the market. One that is too busy for that is asked again.
field() {
	for look in 1 2 3 4 5; do
		lo status -o json >"$TMP/looked" 2>/dev/null
		jq -e '.market_pid and .agent_pid and (.state != "running" or .hosts == null)' "$TMP/looked" >/dev/null || break
	done
	jq -r ".$1" "$TMP/looked"
}
at_exit 'lo reset -y >/dev/null 2>&1'
mkdir "$HOME/.ssh"

# Whatever runs that has this folder in its command line or is a node's.
processes() {
	for each in /proc/[0-9]*; do
		tr '\0' ' ' <"$each/cmdline" 2>/dev/null | grep -qF "$DIR" && echo "${each#/proc/}"
	done
}
# Processes of the node of this name: sshd's, and what watches it.
node_of() {
	local id=$("$NANOPOD" nodes -o json | jq -r ".[] | select(.name == \"$1\").id")
	for each in $(processes); do tr '\0' ' ' <"/proc/$each/cmdline" | grep -qF "$id" && echo "$each"; done
}
none_left() { [ -z "$(processes)" ]; }

# ---- Nothing yet ----
run_is 3 "status of nothing" lo status
like "$err" "there is no local market; 'nanopod local start' creates one" "says how to begin"
run_is 0 "stop of nothing" lo stop
run_is 0 "reset of nothing" lo reset -y
run_is 2 "an action that is none" lo begin
run_is 2 "a driver that is none" lo start --driver none --nodes 2
run_is 2 "start --dry-run" lo start --dry-run
like "$err" "cannot run 'local start' with --dry-run: only 'local reset' takes it" "is refused"
run_is 2 "the market commands know no market" "$NANOPOD" balance
lo reset -y >/dev/null 2>&1

# ---- A start that fails ----
port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
# cannot TEXT: the agent fails once the market runs, because a folder is where its lock should be.
cannot() {
	run_is 1 "$1" lo start --driver process --nodes 2
	like "$err" "agent/lock" "says why"
	PORT=$(sed -n 's/^port[^0-9]*//p' "$DIR/state")
	like "$(cat "$DIR/market.log")" "ready http://127.0.0.1:$PORT" "(the market ran)"
	ok "no process is left" none_left || diag "$(processes)"
	ok "and the market's port is free" port_free "$PORT"
	is "$(ls "$DIR" | grep -E 'pid$|^config')" "" "nothing says that it runs"
}
mkdir -p -m 700 "$DIR/agent/lock" && chmod 700 "$DIR" "$DIR/agent"
cannot "a start whose agent cannot join"
run_is 3 "status" lo status
rmdir "$DIR/agent/lock"

# ---- Start ----
run_is 0 "start" lo start --driver process --nodes 2
like "$err" "driver 'process'.*as you chose" "says which driver, and why"
like "$err" "next: 'nanopod price -t cpu" "and what to type"
is "$(field state) $(field driver) $(field hosts) $(field hosts_up)" "running process 2 2" "it runs"
is "$(stat -c %a "$DIR" "$DIR/token" "$DIR/config.yaml" "$DIR/id_ed25519" | tr '\n' ' ')" "700 600 600 600 " "for this user alone"
MARKET=$(field market_pid) AGENT=$(field agent_pid)
run_is 0 "start again" lo start
like "$err" "already running" "does nothing"
is "$(field market_pid) $(field agent_pid)" "$MARKET $AGENT" "(the same processes)"
run_is 5 "another driver" lo start --driver ns
like "$err" "'nanopod local reset' starts over" "is not taken"
run_is 5 "another number of nodes" lo start --nodes 3
shown() { run lo; [ "$status" -eq 0 ]; }
ok "status" wait_for 20 shown
like "$out" "state +running" "is what is shown without a word"
kill -STOP "$MARKET"
run_is 3 "status of a market that hangs" lo
kill -CONT "$MARKET"
like "$out$err" "market .*does not answer" "says so, and does not wait for it"
for wrong in "stop --dry-run" "stop --nodes 1" "--dry-run"; do run_is 2 "$wrong is refused" lo $wrong; done
is "$(field market_pid) $(field agent_pid)" "$MARKET $AGENT" "and all runs on"

# ---- A node that this machine cannot run ----
run_is 0 "(a node is bought)" "$NANOPOD" buy -t cpu -n 1 -d 1h -p 1 --name broken --wait -y
NODE=$("$NANOPOD" nodes -o json | jq -r '.[0].id')
curl -sS --unix-socket "$DIR/market/socket" -H 'Content-Type: application/json' \
	-d '{"status":"failed","message":"this host could not start it: no /run/systemd"}' \
	"http://localhost/np/v1/instances/$NODE/report"
hosts_up() { [ "$(field hosts_up)" = "$1" ]; }
ok "(it fails, and takes its host down)" wait_for 20 hosts_up 1
run_is 0 "start, while one host is down" lo start
like "$err" "1 of 2 hosts stay down.*'broken-0' failed: this host could not start it: no /run/systemd" "says which node failed, and why"
run_is 0 "(the machine begins anew)" lo reset -y
run_is 0 "(and starts)" lo start --driver process --nodes 2
MARKET=$(field market_pid) AGENT=$(field agent_pid)

# ---- Settings ----
run_is 0 "commands go there" "$NANOPOD" balance -o json
is "$(printf '%s' "$out" | jq -r '.[0].available')" "1000.000000" "with a thousand dollars"
like "$("$NANOPOD" config --origin 2>/dev/null)" "url.*http://127.0.0.1:.*local" "and the settings say where that comes from"
run env NANOPOD_URL=http://127.0.0.1:1 "$NANOPOD" balance
is "$status" 4 "another market that is named is not given this one's token"
like "$err" "you are not signed in" "(so one must sign in there)"
mkdir -p "$HOME/.config/nanopod" && printf 'url: http://127.0.0.1:1\n' >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
is "$("$NANOPOD" config get url)" http://127.0.0.1:1 "one's own settings win"
run lo status
like "$err" "commands go to 'http://127.0.0.1:1'" "and status says so"
rm "$HOME/.config/nanopod/config.yaml"

# ---- The main job ----
run_is 0 "buy" "$NANOPOD" buy -t cpu -n 2 -d 1h -p 1 --name first --wait=2m -y
is "$out" first "a reservation"
is "$("$NANOPOD" nodes -r first -o json | jq -r '[.[].status] | join(" ")')" "running running" "its nodes run when it ends"
run_is 0 "run on both" "$NANOPOD" run -r first -- echo there
is "$(printf '%s\n' "$out" | sort)" "first-0: there
first-1: there" "without a question"
is "$(find "$HOME/.ssh" -type f)" "" "and nothing is written down in ~/.ssh"
echo kept >"$TMP/file"
run_is 0 "cp" "$NANOPOD" cp "$TMP/file" first-0:kept
run lo status
like "$err" "next: 'nanopod nodes'" "what to type is another now"
run_is 0 "host status" "$NANOPOD" host status
like "$err" "no machines in this market; 'nanopod host join URL'" "(a buyer has none)"
run_is 0 "host list" "$NANOPOD" host list
like "$err" "no hosts; 'nanopod host join URL'" "(nor hosts)"
run_is 0 "console" "$NANOPOD" console first-0
console_says() { "$NANOPOD" console first-0 | grep -q '[a-z]'; }
ok "has something to say" wait_for 30 console_says

# ---- Two at once ----
exec 9>"$DIR/lock"
flock 9
lo status >/dev/null 2>"$TMP/waiting" 9>&- &
ok "status while another one is at work" wait_for 10 grep -q "waiting for it" "$TMP/waiting"
exec 9>&-
wait $!
is "$?" 0 "waiting for it"

# ---- Killed ----
not_running() { [ "$(field state)" != running ]; }
kill -9 "$AGENT"
ok "(the agent is killed)" wait_for 10 not_running
run_is 3 "status" lo status
like "$out" "broken" "says that it is not whole"
run_is 0 "start mends it" lo start
is "$(field state) $(field market_pid)" "running $MARKET" "(and touches nothing else)"
run_is 0 "the nodes went on" "$NANOPOD" run -r first -- true
kill -9 "$(field market_pid)"
ok "(the market is killed)" wait_for 10 not_running
run lo status
like "$out" "market +not running" "status says which"
run_is 8 "a command that needs it" "$NANOPOD" balance
like "$err" "'nanopod local start'" "says what starts it"
run_is 11 "doctor" "$NANOPOD" doctor -o csv --fields state,check,mend
like "$out" "fail,market,nanopod local start" "says it too"
run_is 0 "start mends that too" lo start
run_is 0 "all is there" "$NANOPOD" ssh --wait=60s first-0 -- cat kept
is "$out" kept "as it was"
SILENT=$(node_of first-1)
isnt "$SILENT" "" "(a node has processes)"
kill -9 "$(field market_pid)" "$(field agent_pid)"
ok "(both are killed)" wait_for 10 not_running
# A start that is interrupted, while one node does not answer: the agent beside a copy of the program only waits.
mkdir "$TMP/beside" && cp "$BUILD/nanopod" "$TMP/beside/" && ln -s "$BUILD/nanopod-marketd" "$TMP/beside/"
[ ! -x "$BUILD/.libs/nanopod" ] || cp "$BUILD/.libs/nanopod" "$TMP/beside/"
cat >"$TMP/beside/nanopod-agentd" <<END
#!/bin/sh
case " \$* " in
*" halt "*) : >"$TMP/halted" ;;
*" --first-port "*) : >"$TMP/waits"; exec sleep 600 ;;
esac
END
chmod +x "$TMP/beside/nanopod-agentd"
# shellcheck disable=SC2086
kill -9 $SILENT
LD_LIBRARY_PATH=$BUILD/.libs "$TMP/beside/nanopod" local start >"$TMP/start" 2>&1 &
ok "(start waits for the node)" wait_for 20 test -e "$TMP/waits"
kill -INT $!
wait $!
is "$?" 130 "a start that is interrupted" || diag "$(cat "$TMP/start")"
not_ok "leaves the nodes that ran before it" test -e "$TMP/halted"
ok "and no daemon" not_running
run_is 0 "(it starts)" lo start
kill -9 "$(field market_pid)" "$(field agent_pid)"
ok "(both are killed again)" wait_for 10 not_running
for pid in "$DIR/market.pid" "$DIR/agent.pid"; do sed -i "s/^[0-9]*/$$/" "$pid"; done
run_is 0 "a process that has got the number of one of them" lo start
ok "is not taken for it" kill -0 $$
is "$(field state)" running "(they run)"

# ---- Stop ----
run_is 0 "stop" lo stop
ok "no process is left" wait_for 20 none_left || diag "$(processes)"
not_ok "nor a setting" test -e "$DIR/config.yaml"
run_is 3 "status" lo status
run_is 2 "commands know no market any more" "$NANOPOD" balance
like "$err" "the local market is stopped.*start it with 'nanopod local start'" "and say how to start it"
run_is 0 "stop again" lo stop
rm "$DIR/agent/lock" && mkdir "$DIR/agent/lock" && : >"$DIR/market.log"
cannot "a start whose agent ends at once"
rmdir "$DIR/agent/lock"
run_is 0 "start goes on" lo start
run_is 0 "with the nodes that are paid" "$NANOPOD" ssh --wait=90s first-0 -- cat kept
is "$out" kept "and what they have on disk"

# ---- Reset ----
run_is 2 "reset asks first" lo reset
like "$err" "'-y' answers yes" "(nobody is there)"
run_is 0 "reset --dry-run" lo reset --dry-run
is "$(field state)" running "removes nothing"
run_is 0 "reset" lo reset -y
ok "no process is left" wait_for 20 none_left || diag "$(processes)"
not_ok "nor a file" test -e "$DIR"
run_is 3 "status" lo status
done_testing
