#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod ssh: streams, statuses, the terminal.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep
sshd_up 2 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nanopod_ssh() { timeout -k 5 60 "$NANOPOD" ssh -F "$SSHD_CONFIG" "$@"; }

# ---- Commands ----
head -c 3000000 /dev/urandom >bytes
nanopod_ssh n1 cat <bytes >back
ok "standard input and output, byte for byte" cmp bytes back
nanopod_ssh n1 'cat >&2' <bytes 2>back
ok "standard error too" cmp bytes back
run nanopod_ssh n1 -- echo 'a   b' "'c   d'"
is "$out" "a b c   d" "words are joined as ssh does"
run_is 7 "the command's status" nanopod_ssh n1 exit 7
run_is 137 "128 + signal" nanopod_ssh n1 'kill -9 $$'
run_is 0 "a command with a '--' of its own" nanopod_ssh n1 echo a -- b
is "$out" "a -- b" "keeps it"
run_is 0 "and after ours" nanopod_ssh n1 -- echo a -- b
is "$out" "a -- b" "keeps it"
run_is 255 "255: not reached" nanopod_ssh nosuch.invalid true
like "$err" "nosuch.invalid" "with a reason"
printf 'Host n1\n  ProxyJump n1\n' >circle_config
run_is 255 "a jump host that is reached through itself" "$NANOPOD" ssh -F circle_config n1 true
like "$err" "own jump host; it needs .ProxyJump none." "is refused with the reason"
printf 'echo shell $((1+1)); exit 4\n' >lines
run_stdin lines nanopod_ssh n1
is "$status $out" "4 shell 2" "without a command: a shell that reads standard input"
run nanopod_ssh n1 -- 'tty; echo $SSH_AUTH_SOCK'
is "$out" "not a tty" "neither a terminal nor an agent unless asked for"
run nanopod_ssh -tt n1 -- 'tty >/dev/null && echo yes'
is "$(tr -d '\r' <"$TMP/.out")" yes "-tt insists on a terminal"
run_is 2 "several hosts are refused" nanopod_ssh 'n[1-2]' true
like "$err" "run -w" "with what does it"
run_is 2 "-t and -T" nanopod_ssh -tT n1 true
if [ -w /dev/full ]; then
	status=0
	nanopod_ssh n1 echo x >/dev/full 2>err || status=$?
	is "$status" 1 "a full disk is an error"
fi
nanopod_ssh n1 yes 2>/dev/null | head -n 1 >/dev/null
pass "a reader that goes away ends it"
if have ssh; then
	run nanopod_ssh --openssh n1 -- echo 'through   ssh'
	is "$status $out" "0 through ssh" "--openssh"
	run nanopod_ssh --openssh -p 1 n2x.invalid true
	is "$status" 255 "its status is kept"
	# Everything that nanopod understood reaches ssh: the fake shows the words, the real one connects.
	mkdir -p fake 'a b%c'
	printf '#!/bin/sh\nprintf "<%%s>\\n" "$@"\n' >fake/ssh
	chmod +x fake/ssh
	words() { PATH=$TMP/fake:$PATH timeout 60 "$NANOPOD" ssh --openssh "$@" | tr '\n' ' '; }
	is "$(words -F none root@h:2222 -- echo a)" "<-F> <none> <--> <ssh://root@h:2222> <echo> <a> " \
		"--openssh: user and port of the name"
	is "$(words -F none -p 7 -l eve root@h:2222)" "<-F> <none> <--> <ssh://root@h:2222> " \
		"they win over -l and -p"
	is "$(words -F none -p 7 -l eve h)" "<-F> <none> <-oPort=7> <-oUser=eve> <--> <h> " "-l and -p"
	is "$(words -F none 'ssh://root@[::1]:2222')" "<-F> <none> <--> <ssh://root@[::1]:2222> " "an address with its port"
	is "$(words -F none root@::1)" "<-F> <none> <--> <root@::1> " "an address without"
	is "$(words -F none -J 'a,eve@b:23' h)" "<-F> <none> <-oProxyJump=a,eve@b:23> <--> <h> " "jump hosts"
	is "$(words -F none -J none h)" "<-F> <none> <-oProxyJump=none> <--> <h> " "no jump host"
	is "$(words -F none --retry 2 --connect-timeout 1500ms h)" \
		"<-F> <none> <-oConnectTimeout=2> <-oConnectionAttempts=3> <--> <h> " "time limit and retries"
	cp "$SSHD_KEY" "$SSHD_KNOWN" 'a b%c'
	set -- -F none -l "$SSHD_USER" -i "$TMP/a b%c/id" --known-hosts "$TMP/a b%c/known_hosts" --agent none
	run timeout 60 "$NANOPOD" ssh --openssh "$@" "$SSHD_NET.1:$SSHD_PORT" -- echo through
	is "$status $out" "0 through" "a port, a key and known hosts with odd paths" || diag "$err"
	run timeout 60 "$NANOPOD" ssh --openssh "$@" -J "$SSHD_USER@$SSHD_NET.2:$SSHD_PORT" "$SSHD_NET.1:$SSHD_PORT" -- \
		echo through
	is "$status $out" "0 through" "the jump host is reached with the same key and known hosts" || diag "$err"
	run timeout 60 "$NANOPOD" ssh --openssh "$@" \
		-J "$SSHD_USER@$SSHD_NET.2:$SSHD_PORT,$SSHD_USER@$SSHD_NET.1:$SSHD_PORT" "$SSHD_NET.2:$SSHD_PORT" -- echo through
	is "$status $out" "0 through" "and two in a row" || diag "$err"
	run env NANOPOD_TIMEOUT=5s timeout 60 "$NANOPOD" ssh --openssh -F "$SSHD_CONFIG" n1 -- echo through
	is "$out" through "the setting timeout"
	like "$err" "'timeout' has no effect" "is not handed over, and said"
fi

# ---- Host keys ----
# Of a server with several keys only the RSA one is known: libssh2 before 1.11 cannot check it, and what it
# then says to type works.
if have ssh; then
	ssh-keygen -q -t rsa -N '' -C '' -f rsa
	printf 'rsa_only %s\n' "$(cut -d' ' -f1,2 rsa.pub)" >rsa_known
	{
		printf 'Host rsa_only\n  ProxyCommand %s -o HostKey=%s\n' "$SSHD_PROXY" "$TMP/rsa"
		printf '  UserKnownHostsFile %s\n' "$TMP/rsa_known"
		cat "$SSHD_CONFIG"
	} >rsa_config
	run timeout 60 "$NANOPOD" ssh -F rsa_config rsa_only echo in
	if [ "$status" -ne 0 ]; then
		advice=$(printf '%s\n' "$err" | sed -n "s/.*\"\(ssh [^\"]*\)\".*/\1/p")
		like "$advice" "^ssh -o UpdateHostKeys=yes 'rsa_only' true\$" "only the RSA key is known: the way out is said"
		ok "which ssh does" timeout 60 sh -c "$(printf '%s' "$advice" | sed 's/^ssh/ssh -F rsa_config/')"
		run timeout 60 "$NANOPOD" ssh -F rsa_config rsa_only echo in
	fi
	is "$status $out" "0 in" "then it connects"
fi

# ---- The agent ----
if have ssh-agent && have ssh-add; then
	eval "$(ssh-agent -a "$TMP/agent" 2>/dev/null)" >/dev/null
	at_exit "kill $SSH_AGENT_PID 2>/dev/null"
	ssh-add -q "$SSHD_KEY" 2>/dev/null
	sed '/IdentityFile/d; /IdentitiesOnly/d; /IdentityAgent/d' "$SSHD_CONFIG" >agent_config
	run timeout 60 "$NANOPOD" ssh -F agent_config n1 echo in
	is "$out" in "a key of the agent of SSH_AUTH_SOCK"
	run timeout 60 "$NANOPOD" ssh -F agent_config n1 'echo "<$SSH_AUTH_SOCK>"'
	is "$out" "<>" "is not forwarded"
	run timeout 60 "$NANOPOD" ssh -F agent_config -A n1 ssh-add -l
	if [ "$status" -ne 0 ]; then
		like "$err" "does not forward agents.*--openssh" "-A: what libpssh does not do, --openssh does"
	else
		is "$(cut -d' ' -f2 "$TMP/.out")" "$(ssh-keygen -lf "$SSHD_KEY.pub" | cut -d' ' -f2)" "-A forwards it"
		{ echo 'ForwardAgent yes'; cat agent_config; } >forward_config
		run timeout 60 "$NANOPOD" ssh -F forward_config n1 ssh-add -l
		is "$status" 0 "so does ForwardAgent"
		run timeout 60 "$NANOPOD" run -F forward_config -w n1 -- ssh-add -l
		is "$status" 0 "and for run"
	fi
	run timeout 60 "$NANOPOD" run -F agent_config -w n1 -A -- ssh-add -l
	if [ "$status" -ne 0 ]; then
		like "$err" "does not forward agents.*ssh --openssh -A HOST" "run -A: what to type instead"
	else
		is "$(printf '%s\n' "$out" | cut -d' ' -f3)" "$(ssh-keygen -lf "$SSHD_KEY.pub" | cut -d' ' -f2)" "run -A forwards it"
	fi
	run timeout 60 "$NANOPOD" ssh --openssh -F agent_config -A n1 ssh-add -l
	is "$(cut -d' ' -f2 "$TMP/.out")" "$(ssh-keygen -lf "$SSHD_KEY.pub" | cut -d' ' -f2)" "-A through the system's ssh"
	run timeout 60 "$NANOPOD" ssh -F agent_config --agent none n1 true
	is "$status" 255 "--agent none does without"
	unset SSH_AUTH_SOCK
else
	skip "ssh-agent is not installed"
fi

# ---- The terminal ----
[ -x "$PTY" ] || { skip "tests/lib/pty is not built"; done_testing; }
on_terminal() { timeout -k 5 200 "$PTY" "$@" >"$TMP/.shown" 2>&1; status=$?; out=$(tr -d '\r' <"$TMP/.shown"); }
export TERM=xterm
cat >session <<'END'
raw on
send PS1='ready> '; stty size; echo "term $TERM"\r
expect 24 80
expect term xterm
expect ready>
size 100 40
send until stty size | grep '40 1''00'; do :; done\r
expect 40 100
send ~?
expect end the connection
send \x03
expect ready>
send ~~tilde\r
expect ~tilde
send exit 5\r
END
on_terminal session "$NANOPOD" ssh -F "$SSHD_CONFIG" n1
is "$status" 5 "a shell on a terminal: size, changes of size, escapes, status" || diag "$out"
cat >leave <<'END'
raw on
send PS1='ready> '\r
expect ready>
send \r
expect ready>
send ~.
echo on
raw off
END
on_terminal leave "$NANOPOD" ssh -F "$SSHD_CONFIG" n1
is "$status" 255 "~. ends it" || diag "$out"
like "$out" "connection to n1 ended" "and says so"
# What the terminal is like afterwards, seen by the shell that ran it.
cat >after <<'END'
raw on
send kill -9 $PPID\r
expect modes:
END
on_terminal after sh -c '"$0" ssh -F "$1" n1; echo modes: $(stty -a | grep -o -- "[-]*icanon\|[-]*echo\b\|[-]*isig\|[-]*opost" | paste -sd " ")' "$NANOPOD" "$SSHD_CONFIG"
like "$out" "modes: .*" "the connection is cut"
unlike "$out" "modes:.*-(icanon|echo|isig|opost)" "and the terminal is as it was" || diag "$out"
# A sanitizer would die of SEGV in its own way.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0"
for signal in TERM HUP SEGV; do
	cat >crash <<-END
		raw on
		send PS1='rea''dy> '\r
		expect ready>
		send echo now\r
		expect ready>
		expect modes:
	END
	(
		wait_for 20 eval '[ "$(grep -o "ready>" "$TMP/.shown.$signal" | wc -l)" -ge 2 ]'
		kill -"$signal" "$(pgrep -f "[n]anopod ssh -F $SSHD_CONFIG n2\$")"
	) &
	killer=$!
	timeout -k 5 200 "$PTY" crash sh -c '"$0" ssh -F "$1" n2; echo modes: $(stty -a | grep -o -- "[-]*icanon\|[-]*echo\b\|[-]*isig\|[-]*opost" | paste -sd " ")' "$NANOPOD" "$SSHD_CONFIG" >"$TMP/.shown.$signal" 2>&1
	is $? 0 "killed by SIG$signal" || diag "$(cat "$TMP/.shown.$signal")"
	unlike "$(cat "$TMP/.shown.$signal")" "modes:.*-(icanon|echo|isig|opost)" "the terminal is as it was"
	wait $killer
done
cat >suspend <<'END'
expect start
send "$NANOPOD" ssh -F "$CONFIG" n1\r
raw on
send PS1='rea''dy> '\r
expect ready>
send ~\x1a
expect topped
send stty -a | grep -o -- '-*icanon'; echo mo''des\r
expect icanon
expect modes
send fg\r
raw on
send echo ba''ck\r
expect back
send exit 3\r
expect start
send exit $?\r
END
CONFIG=$SSHD_CONFIG PS1='start ' on_terminal suspend bash --norc --noprofile -i
is "$status" 3 "~^Z stops it, fg goes on" || diag "$out"

# ---- Questions ----
cp "$SSHD_KEY" locked && ssh-keygen -q -p -P '' -N 'open sesame' -f locked >/dev/null
sed "s|IdentityFile .*|IdentityFile $TMP/locked|" "$SSHD_CONFIG" >locked_config
printf 'expect assphrase\necho off\nsend open sesame\\r\n' >unlock
on_terminal unlock "$NANOPOD" ssh -F locked_config n1 echo unlocked
is "$status" 0 "a key's passphrase is asked for on the terminal" || diag "$out"
like "$out" "unlocked" "and opens it"
unlike "$out" "sesame" "nothing of it is shown"
on_terminal unlock "$NANOPOD" run -F locked_config -w 'n[1-2]' -- echo unlocked
is "$(printf '%s\n' "$out" | grep -c 'n[12]:.* unlocked')" 2 "once for all hosts" || diag "$out"
on_terminal unlock sh -c 'echo data | "$0" ssh -F "$1" n1 cat' "$NANOPOD" locked_config
like "$out" "^data" "not on standard input" || diag "$out"
run setsid timeout 60 "$NANOPOD" ssh -F locked_config n1 true
is "$status" 255 "without a terminal it is declined"
like "$err" "ssh-add FILE" "and what to type is said"
done_testing
