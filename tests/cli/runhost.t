#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run with a command that differs on each host: {host}, NANOPOD_HOST, --env.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 3 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" --no-label "$@"; }
names=$(printf 'n1\nn2\nn3')

# ---- {host} ----
run nanopod_run -w 'n[1-3]' -- echo '{host}' 'a{host}b-{host}'
is "$(sort "$TMP/.out")" "$(printf 'n%d an%db-n%d\n' 1 1 1 2 2 2 3 3 3)" "{host} is the name"
run nanopod_run -w "$SSHD_USER@n1:$SSHD_PORT" -- echo '{host}'
is "$out" "$SSHD_USER@n1:$SSHD_PORT" "as it was typed"
run nanopod_run -w n1 -- echo '{{host}}' '{hosts}' '{ host }' '{}'
is "$out" "{host} {hosts} { host } {}" "{{host}} is {host}; all else stays"
printf 'echo "$1" "{host}"\n' >plain.sh
run nanopod_run -w 'n[1-3]' --script plain.sh -- '{host}'
is "$(sort "$TMP/.out")" "$(printf 'n%d {host}\n' 1 2 3)" "in a script's arguments, not in the script"
printf 'n1;id\n' >evil
run_is 2 "a name that a shell would run is refused" nanopod_run --hosts-file evil -- echo '{host}'
run nanopod_run -w 'n[1-3]' --batch 2 -- echo '{host}'
is "$(sort "$TMP/.out")" "$names" "in batches too"

# ---- NANOPOD_HOST ----
run nanopod_run -w 'n[1-3]' -- 'echo "$NANOPOD_HOST"'
is "$(sort "$TMP/.out")" "$names" "NANOPOD_HOST, whatever the server accepts"
run nanopod_run -w 'n[1-3]' -- 'sh -c "echo \$NANOPOD_HOST"'
is "$(sort "$TMP/.out")" "$names" "for programs that it starts"
printf '#!/bin/sh -u\necho "$NANOPOD_HOST $1"\n' >name.sh
run nanopod_run -w 'n[1-3]' --script name.sh -- x
is "$(sort "$TMP/.out")" "$(printf 'n%d x\n' 1 2 3)" "in a script"
run nanopod_run -w n1 -- 'env | grep -c ^NANOPOD'
is "$out" 0 "not where the command does not name it"
run nanopod_run -w n1 --env NANOPOD_HOST -- 'env | grep ^NANOPOD'
is "$out" "NANOPOD_HOST=n1" "but with --env NANOPOD_HOST"

# ---- --env ----
export HERE="it's
two lines" EMPTY=
run nanopod_run -w 'n[1-2]' -b --env HERE --env EMPTY --env 'B=$x "y" \z' --env C= -- \
	'echo "<$HERE><${EMPTY-unset}><$B><${C-unset}>"'
is "$(printf '%s\n' "$out" | tail -n +2)" "<it's
two lines><><\$x \"y\" \\z><>" "--env NAME and NAME=VALUE arrive byte for byte"
printf 'echo "<$B><$1>"\n' >env.sh
run nanopod_run -w n1 --env 'B=a b' --script env.sh -- '{host}'
is "$out" "<a b><n1>" "for scripts too"
run nanopod_run -w n1 --env 'B=1' --env B=2 -- 'echo $B'
is "$out" 2 "the last one counts"
for wrong in 1A=x =x 'A B' A-B=x; do
	run_is 2 "--env '$wrong'" nanopod_run -w n1 --env "$wrong" -- true
done
run_is 2 "a variable that is not set" nanopod_run -w n1 --env NOT_SET_HERE -- true
like "$err" "'NOT_SET_HERE' is not set here" "is told"
run nanopod_run -w 'n[1-2]' --env SECRET=hush --save saved -- false
not_ok "--save keeps no values" grep -r hush saved
for shell in bash dash zsh fish ksh busybox; do
	have $shell || continue
	line=$(printf "export A='it'\\\\''s' B='x y'; echo \"\$A \$B\"")
	[ $shell = busybox ] && at="busybox sh" || at=$shell
	is "$($at -c "$line")" "it's x y" "$shell takes what is put in front of the command"
done
run_is 2 "not through gateways" nanopod_run -w n1 --via n2 -- echo '{host}'
like "$err" "do not go through gateways" "and why"
done_testing
