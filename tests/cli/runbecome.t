#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run --become: who gets sudo's password, and when. A stand-in for sudo, made after what sudo(8) says of -S, -p,
# -H and -u, asks where a file says so; tests/cli/runsudo.t meets the real one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

mkdir "$TMP/bin" "$TMP/sudo"
cat >"$TMP/bin/sudo" <<'END'
#!/bin/bash
host=$(echo "$SSH_CONNECTION" | cut -d' ' -f3); host=${host##*.} user=root prompt=
here=$(dirname "$0")/../sudo
while [ "$1" != -- ]; do
	case $1 in
	-p) prompt=$2; shift ;;
	-u) user=$2; shift ;;
	-H | -S) ;;
	*) echo "sudo: unknown option $1" >&2; exit 1 ;;
	esac
	shift
done
shift
export SUDO_TO=$user
[ ! -e "$here/refused.$host" ] || { echo "me is not in the sudoers file." >&2; exit 1; }
[ ! -e "$here/free.$host" ] || exec "$@"
for try in 1 2 3; do
	printf '%s' "$prompt" >&2
	echo "$host" >>"$here/asked"
	if ! IFS= read -r line; then
		echo "sudo: no password was provided" >&2
		exit 1
	fi
	[ "$line" != "$(cat "$here/password.$host")" ] || exec "$@"
	echo "Sorry, try again." >&2
done
echo "sudo: 3 incorrect password attempts" >&2
exit 1
END
chmod +x "$TMP/bin/sudo"
SSHD_EXTRA="SetEnv SHLVL=3 PATH=$TMP/bin:/usr/bin:/bin"
sshd_up 4 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" "$@"; }
password="it's a \"secret\" \\n \$x"
(umask 077; printf '%s\n' "$password" >secret; printf 'wrong\n' >wrong)
for i in 1 2 3; do printf '%s\n' "$password" >sudo/password.$i; done
: >sudo/free.4
asked() { sort sudo/asked 2>/dev/null | paste -sd ' '; rm -f sudo/asked; }

# ---- From a file ----
run nanopod_run -w 'n[1-4]' -b --become --become-password-file secret -- 'echo "$SUDO_TO"; cat; echo over'
is "$status" 0 "with a password, and without one where none is asked for"
is "$out$err" "$(printf -- '---- n[1-4] (4 hosts)\nroot\nover')" "as root; no input is left over for the command; no mark shows"
is "$(asked)" "1 2 3" "each host that wants it asks once"
run nanopod_run -w n1 --become-user www --become-password-file secret -- 'echo "$SUDO_TO"; echo bad >&2; exit 7'
is "$status $out $err" "7 n1: www n1! bad" "--become-user, with output, errors and exit status"
run nanopod_run -w n1 --become --become-password-file <(printf '%s' "$password") --no-label -- echo in
is "$out" in "from a pipe"
run nanopod_run -w 'n[1-2]' --become --become-password-file secret --env 'A=a b' --no-label -- 'echo "{host} $NANOPOD_HOST $A"'
is "$(sort "$TMP/.out")" "$(printf 'n1 n1 a b\nn2 n2 a b')" "with names and variables"
printf 'echo "script $1"; id -un; cat\n' >script.sh
run nanopod_run -w 'n[3-4]' -b --become --become-password-file secret --script script.sh -- 'a b'
is "$out" "$(printf -- '---- n[3-4] (2 hosts)\nscript a b\n%s' "$SSHD_USER")" "a script comes after the password"
run nanopod_run -w 'n[1-3]' --batch 1 --become --become-password-file secret --no-label -- echo in
is "$out" "$(printf 'in\nin\nin')" "in batches"
echo 'head -n 100 /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n" | grep -c "a [\"]secret" ' >look
run nanopod_run -w n1 --become --become-password-file secret --no-label --script look
is "$out" 0 "no process has it on its command line or in its environment"

# ---- Refused ----
rm -f sudo/asked
echo other >sudo/password.2
run nanopod_run -w 'n[1-4]' --become --become-password-file secret -- echo in
is "$status" 10 "a wrong password on one host"
is "$(sort "$TMP/.out" | paste -sd ' ')" "n1: in n3: in n4: in" "the others go on"
is "$err" "$(printf 'nanopod: 1 of 4 hosts failed:\n  sudo refused the password: exit status 1 (1): n2\n%s' \
	"      'nanopod ssh HOST sudo -v' tries it on one host; '-l USER' is another user")" "is said once, and how to try it"
is "$(asked)" "1 2 2 3" "and is not sent again, so no account is locked"
run nanopod_run -w n2 --become --become-password-file secret -o jsonl -- echo in
like "$out" '"type":"exit".*"status":1,"message":"sudo refused the password"' "jsonl has it too"
run nanopod_run -w n2 --become --become-password-file secret -- echo in
is "$status" 1 "one host: sudo's status"
like "$err" "^nanopod: n2: sudo refused the password; " "and the reason"
: >sudo/refused.3
run nanopod_run -w n3 --become --become-password-file secret -- echo in
like "$err" "n3! me is not in the sudoers file" "what sudo says else is shown"
rm sudo/refused.3
# A command that asks for the password itself does not get it.
run nanopod_run -w n4 --become --become-password-file secret --no-label -- \
	'm=$(tr "\0" "\n" </proc/$PPID/cmdline | grep -o "nanopod-[0-9a-f]*" | head -n 1); echo "$m=ask" >&2; timeout 2 cat; echo "over"'
is "$out" over "a command cannot ask for it"

# ---- Without a terminal, without a file ----
run setsid -w timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1,4]' --become -- echo in
is "$status $out" "10 n4: in" "without a password: where sudo needs none, the command runs"
like "$err" "sudo wants a password: exit status 1 \(1\): n1" "the others are named"
like "$err" "'--become-password-file FILE' provides it" "and what to type"
chmod 644 wrong
run_is 2 "a file that others can read" nanopod_run -w n1 --become --become-password-file wrong -- true
like "$err" "run 'chmod 600 wrong'" "is refused, and how to mend it"
run_is 2 "a file that is not there" nanopod_run -w n1 --become --become-password-file nosuch -- true
run_is 2 "a file without --become" nanopod_run -w n1 --become-password-file secret -- true
for other in --stdin --tty '--via n2'; do
	run_is 2 "not with $other" nanopod_run -w n1 --become $other -- true
done

# ---- On a terminal ----
if [ -x "$PTY" ]; then
	printf '%s\n' "$password" >sudo/password.2
	rm -f sudo/asked
	printf "expect Password of sudo on 'n\nexpect (not shown): \necho off\nsend it's a \"secret\" \\\\\\\\n \$x\\\\r\n" >typed
	status=0
	timeout 200 "$PTY" typed "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' --become -- echo in >seen 2>&1 || status=$?
	is "$status $(grep -c ': in' seen) $(grep -c 'Password of' seen)" "0 3 1" "a person is asked once for all hosts"
	not_ok "the password is not shown" grep -q secret seen
	printf "expect (not shown): \nsend \\\\x03\n" >ctrlc
	status=0
	timeout 200 "$PTY" ctrlc "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' --become -- echo in >seen 2>&1 || status=$?
	is "$status $(grep -c ': in' seen)" "130 0" "Ctrl-C at the question: nothing runs"
	: >nothing
	status=0
	timeout 200 "$PTY" nothing "$NANOPOD" run -F "$SSHD_CONFIG" -w n4 --become -- echo in >seen 2>&1 || status=$?
	is "$status $(grep -c 'Password of' seen)" "0 0" "where no host wants one, nobody is asked"
else
	skip "tests/lib/pty is not built"
fi
done_testing
