#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod under the names of pdsh, clush and pssh, against real sshd; beside the tools themselves, where they are
# installed.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 5 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
# What make built may be a script around the program: a link by another name has to lead to the program itself.
program=$NANOPOD
if [ -x "$BUILD/.libs/nanopod" ]; then
	program=$BUILD/.libs/nanopod
	export LD_LIBRARY_PATH="$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
mkdir bin home
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
for name in pdsh pdcp rpdcp clush pssh pscp parallel-ssh parallel-scp; do ln -s "$program" "bin/$name"; done
unset WCOLL FANOUT DSHPATH PDSH_SSH_ARGS PDSH_SSH_ARGS_APPEND PDSH_RCMD_TYPE
export HOME=$TMP/home NANOPOD_SSH_CONFIG=$SSHD_CONFIG CLUSTERSHELL_CFGDIR=$TMP/clustershell
unset XDG_CONFIG_HOME
by() { name=$1; shift; timeout -k 5 60 "$TMP/bin/$name" "$@"; }
sorted() { sort "$TMP/.out"; }
me=$(hostname); me=${me%%.*}
here='here=$(echo "$SSH_CONNECTION" | cut -d" " -f3); here=${here##*.};'

# ---- pdsh: the examples of its page, and what it says of options ----
run by pdsh -w 'n[1-3]' 'echo one; echo bad >&2'
is "$status" 0 "pdsh -w n[1-3] command"
is "$(sorted)" "$(printf 'n%d: one\n' 1 2 3)" "pdsh: 'host: line'"
is "$(sort "$TMP/.err")" "$(printf 'n%d: bad\n' 1 2 3)" "standard error has the same label"
run by pdsh -w n1 echo a -- b
is "$out" "n1: a -- b" "the command's own words, '--' too"
run by pdsh -w 'n[1,3-4]' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 3 4)" "pdsh -w n[1,3-4]"
run by pdsh -w 'n[1-5]' -x 'n[2-4]' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 5)" "pdsh -x"
run by pdsh -w 'n[1-5],-n[2-4]' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 5)" "pdsh -w with -name"
run by pdsh -R ssh -w 'n[1-5],/[24]$/' -x n4 echo x
is "$out" "n2: x" "pdsh -w with /regex/"
printf 'n1\nn[2-3] # comment\n' >hosts
run by pdsh -w ^hosts -x /3/ echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2)" "pdsh -w ^file, -x /regex/"
run env WCOLL=hosts timeout 60 bin/pdsh echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 3)" "WCOLL"
run by pdsh -q -w 'n[1-3]' -x n2
is "$out" "$(printf -- '-- Target nodes --\nn[1,3]')" "pdsh -q lists the hosts"
run by pdsh -w "ssh:$SSHD_USER@n1" -l nobody echo x
is "$out" "n1: x" "pdsh -w ssh:user@host, whose label is the host"
run by pdsh -N -w n1 echo x
is "$out" "x" "pdsh -N"
run by pdsh -w 'n[1-2]' 'echo %h %n %u %% %x'
is "$(sorted)" "$(printf 'n1: n1 0 %s %% %%x\nn2: n2 1 %s %% %%x' "$SSHD_USER" "$SSHD_USER")" "%h %n %u %%"
run env DSHPATH=/usr/bin:/bin:/x timeout 60 bin/pdsh -w n1 'echo $PATH'
is "$out" "n1: /usr/bin:/bin:/x" "DSHPATH"
run_is 0 "pdsh: 0, whatever the commands' statuses" by pdsh -w 'n[1-3]' "$here [ \$here -ne 2 ] || exit 7"
is "$err" "pdsh@$me: n2: ssh exited with exit code 7" "which a message tells"
run_is 7 "pdsh -S: the largest" by pdsh -S -w 'n[1-3]' "$here [ \$here -ne 2 ] || exit 7"
run_is 254 "pdsh -S -u: 254 where the time ran out" by pdsh -S -u 1 -w n1 'sleep 600'
is "$err" "pdsh@$me: n1: command timeout" "with a message"
run_is 255 "pdsh -S: 255 of a host that cannot be reached" by pdsh -S -w nosuch.invalid true
like "$err" "^nosuch: cannot resolve 'nosuch.invalid'" "and why"
run_is 1 "pdsh without hosts" by pdsh true
run_is 2 "pdsh -R rsh is refused" by pdsh -R rsh -w n1 true
run_is 2 "so is rsh: in front of a host" by pdsh -w rsh:n1 true
like "$err" "by ssh only" "with the reason"
run_is 2 "and -j" by pdsh -j 17 -w n1 true
like "$err" "squeue" "with what to use instead"
printf 'echo a\necho b\n' >commands
run_stdin commands by pdsh -w n1
is "$out" "$(printf 'n1: a\nn1: b')" "pdsh without a command reads commands"
run env PDSH_SSH_ARGS="-p $SSHD_PORT -o HostKeyAlias=n1 -l %u %h" PDSH_SSH_ARGS_APPEND="-q -o 'UserKnownHostsFile=$TMP/known'" \
	timeout 60 bin/pdsh -w n1 echo x
like "$err" "n1.*" "PDSH_SSH_ARGS reach the connection: the key is unknown under another name"
is "$out" "" "and nothing ran"
printf 'n1 web,rack=1\nn2 web,rack=2,pdsh_all_skip\nn[3-4] db\n' >genders
run by pdsh -F "$TMP/genders" -g web echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2)" "pdsh -g with genders"
run by pdsh -F "$TMP/genders" -g rack=2,db -X db echo x
is "$out" "n2: x" "attribute=value, and -X"
run by pdsh -F "$TMP/genders" -a echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 3 4)" "pdsh -a leaves pdsh_all_skip out"
run by pdsh -F "$TMP/genders" -A echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 3 4)" "pdsh -A does not"
mkdir -p home/.dsh/group && printf 'n1\nn3\n' >home/.dsh/group/odd
[ -e /etc/genders ] && skip "this machine has /etc/genders" || {
	run by pdsh -g odd echo x
	is "$(sorted)" "$(printf 'n%d: x\n' 1 3)" "pdsh -g with dsh's groups"
}

printf 'expect pdsh> \nsend echo a b\\n\nexpect n1: a b\nexpect pdsh> \nsend exit\\n\n' >script
run_is 0 "pdsh without a command asks for commands on a terminal" timeout 60 "$PTY" script bin/pdsh -w n1
: >script
run_is 2 "clush refuses to" timeout 60 "$PTY" script bin/clush -w n1
like "$out" "nanopod shell" "and says what does"

# ---- pdcp, rpdcp ----
echo data >file; mkdir -p tree/sub far; echo deep >tree/sub/f
run_is 0 "pdcp" by pdcp -w n1 file "$TMP/far/copy"
is "$(cat far/copy)" data "copies"
run_is 0 "pdcp -r, two sources" by pdcp -r -p -w 'n[1-2]' file tree "$TMP/far"
is "$(cat far/file far/tree/sub/f)" "$(printf 'data\ndeep')" "into a directory"
run_is 0 "rpdcp" by rpdcp -w 'n[1-2]' "$TMP/far/copy" .
is "$(cat copy.n1 copy.n2)" "$(printf 'data\ndata')" "each file gets its host's name"
run_is 1 "pdcp of a file that is not there" by pdcp -w n1 nosuch "$TMP/far"

# ---- clush: the examples of its page ----
mkdir -p clustershell/groups.d
printf 'mds: n1\noss: n[2-3]\nall: n[1-4]\n' >clustershell/groups.d/local.cfg
run by clush -w 'n[1-2,5]' echo x </dev/null
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 5)" "clush -w n[1-2,5] command"
run by clush -nw 'n[1-2,5]' -b echo x
is "$out" "$(printf -- '---------------\nn[1-2,5] (3)\n---------------\nx')" "clush -b"
run by clush -nw 'n[1-3]' -b "$here echo same; [ \$here -ne 2 ] || { echo other; exit 3; }; echo err >&2"
is "$out" "$(printf -- '---------------\nn[1,3] (2)\n---------------\nsame\n---------------\nn2\n---------------\nsame\nother')" \
	"clush -b: a block for each output"
is "$(sort "$TMP/.err")" "$(printf 'clush: n2: exited with exit code 3\nn1: err\nn3: err')" "and standard error by host"
# Which of the two streams comes first is not promised, and may differ from host to host.
run by clush -nw 'n[1-2]' -B 'echo a; echo a >&2'
is "$out$err" "$(printf -- '---------------\nn[1-2] (2)\n---------------\na\na')" "clush -B"
run by clush -nw 'n[1-3]' -L "$here echo \$here"
is "$out" "$(printf 'n%d: %d\n' 1 1 2 2 3 3)" "clush -L: host by host"
run by clush -nw 'n[1-3]' -bL "$here echo same; [ \$here -eq 2 ] && echo x || echo y"
is "$out" "$(printf 'n[1-3]: same\nn[1,3]: y\nn2: x')" "clush -bL: line by line"
run by clush -nw 'n[1-4]' --diff "$here seq 1 9; [ \$here -eq 2 ] && echo x; seq 10 20"
printf -- '--- n[1,3-4] (3)\n+++ n2\n@@ -7,6 +7,7 @@\n 7\n 8\n 9\n+x\n 10\n 11\n 12\n' >want
is "$out" "$(cat want)" "clush --diff"
echo foo >stdin
run_stdin stdin by clush -w 'n[1-2]' -b cat
is "$out" "$(printf -- '---------------\nn[1-2] (2)\n---------------\nfoo')" "echo foo | clush -b cat"
echo 'echo from-stdin' >stdin
run_stdin stdin by clush -w n1
is "$out" "n1: from-stdin" "clush without a command gives standard input to the shell there"
run by clush -n -a echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 3 4)" "clush -a"
run by clush -n -a -x 'n[2,4]' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 3)" "clush -a -x"
run by clush -n -w @oss echo x
is "$(sorted)" "$(printf 'n%d: x\n' 2 3)" "clush -w @oss"
run by clush -n -g oss echo x
is "$(sorted)" "$(printf 'n%d: x\n' 2 3)" "clush -g oss"
run by clush -n -w @mds,@oss -X mds echo x
is "$(sorted)" "$(printf 'n%d: x\n' 2 3)" "clush -w @mds,@oss -X mds"
run by clush -n -w 'n[1-5]!n3&@all^n[4-5]' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 5)" "clush -w with ! & ^"
printf '@mds\nn[3-4] n5\n' >hostfile
run by clush -n --hostfile hostfile --pick 2 echo x
is "$(sorted | wc -l)" 2 "clush --hostfile --pick"
run by clush -n --hostfile=hostfile -N echo x
is "$out" "$(printf 'x\nx\nx\nx')" "clush -N"
run_is 0 "clush: 0, whatever the statuses" by clush -nw 'n[1-2]' exit 3
is "$(sort "$TMP/.err")" "$(printf 'clush: n%d: exited with exit code 3\n' 1 2)" "which messages tell"
run_is 3 "clush -S: the largest" by clush -n -S -b -w 'n[1-2]' exit 3
is "$err" "clush: n[1-2] (2): exited with exit code 3" "with -b once for all"
run_is 3 "clush -qS" by clush -n -qS -w 'n[1-2]' exit 3
is "$err" "" "says nothing"
run_is 255 "clush -S -u: 255 where the time ran out" by clush -n -S -u 1 -w n1 'sleep 600'
is "$err" "clush: n1: command timeout" "with a message"
run by clush -n -w n1 -f 3 -t 20 -O fanout=2 -O connect_timeout=9 -o "-q -l $SSHD_USER" -R ssh --outdir outs --errdir errs 'echo o; echo e >&2'
is "$(cat outs/n1 errs/n1)" "$(printf 'o\ne')" "clush --outdir --errdir"
run_is 2 "clush --sudo is refused" by clush --sudo -w n1 true
like "$err" "sudo -n" "with what to use instead"
run_is 2 "and -R exec" by clush -R exec -w n1 true
run_is 2 "and a source of groups" by clush -n -w @other:oss true
cat >clustershell/groups.conf <<'END'
[Main]
default: local
autodir: $CFGDIR/groups.d
[local]
map: sed -n 's/^$GROUP://p' $CFGDIR/groups.d/local.cfg
all: sed -n 's/^all://p' $CFGDIR/groups.d/local.cfg
[by]
map: echo "n$GROUP"
list: echo 3 5
END
run by clush -n -w @oss,@by:5 -x n3 echo x
is "$(sorted)" "$(printf 'n%d: x\n' 2 5)" "clush -w @SOURCE:GROUP, where a groups.conf has it"
run by clush -n -w '@by:*' echo x
is "$(sorted)" "$(printf 'n%d: x\n' 3 5)" "clush -w '@SOURCE:*'"
run by clush -n -a echo x
is "$(sorted)" "$(printf 'n%d: x\n' 1 2 3 4)" "clush -a asks the default source"
chmod o+w clustershell/groups.conf
run_is 2 "a groups.conf that others may write" by clush -n -w @oss echo x
like "$err" "groups.conf': others may write it, and it names commands" "is not used"
rm clustershell/groups.conf
rm -rf far; mkdir far
run_is 0 "clush --copy --dest" by clush -w 'n[1-2]' --copy file --dest "$TMP/far/motd2"
is "$(cat far/motd2)" data "copies under the new name"
cp -r tree far/tree
run_is 0 "clush -c of a directory to the same place" by clush -w n1 -c "$TMP/far/tree"
is "$(cat far/tree/sub/f)" deep "is there"
run_is 0 "clush --rcopy --dest" by clush -w 'n[1-2]' --rcopy "$TMP/far/motd2" --dest "$TMP/outs"
is "$(cat outs/motd2.n1 outs/motd2.n2)" "$(printf 'data\ndata')" "each file gets its host's name"

# ---- pssh: the examples of its page ----
untimed() { sed 's/ [0-9][0-9]:[0-9][0-9]:[0-9][0-9] / TIME /'; }
run by pssh -i -H "n1 n2" echo "hello, world"
is "$(untimed <"$TMP/.out" | sed 's/n[12]$/nX/')" "$(printf '[%d] TIME [SUCCESS] nX\nhello, world\n' 1 2)" "pssh -i -H 'n1 n2'"
printf '# hosts\nn1\n%s@n2\nn3 %s\n' "$SSHD_USER" "$SSHD_USER" >hosts.txt
run by parallel-ssh -h hosts.txt -p 100 -t 0 true
is "$(untimed <"$TMP/.out" | sed 's/^\[[0-9]\]//' | sort)" "$(printf ' TIME [SUCCESS] %s\n' n1 "$SSHD_USER@n2" "$SSHD_USER@n3" | sort)" "parallel-ssh -h"
run by pssh -h hosts.txt -g 'n[12]' -P echo x
is "$(grep -v SUCC "$TMP/.out" | sort)" "$(printf 'n%d: x\n' 1 2)" "pssh -g -P"
run by pssh -i -H n1 -H n2 'echo $PSSH_NODENUM $PSSH_NUMNODES $PSSH_HOST'
is "$(grep -v SUCC "$TMP/.out" | sort)" "$(printf '0 2 n1\n1 2 n2')" "PSSH_NODENUM, PSSH_NUMNODES, PSSH_HOST"
run by pssh -i -H n1 -H n1 -H n2 'echo $PSSH_NODENUM'
is "$(grep -v SUCC "$TMP/.out" | sort)" "$(printf '0\n1')" "a host that is named twice is used once"
like "$err" "'n1' is named twice" "with a warning"
run_is 5 "5: a command failed" by pssh -i -H n1 'echo out; echo err >&2; exit 7'
is "$(echo "$out" | untimed)" "$(printf '[1] TIME [FAILURE] n1 Exited with error code 7\nout\nStderr: err')" "and how"
run_is 4 "4: ssh failed" by pssh -H 'nosuch.invalid n1' true
run_is 3 "3: the time ran out" by pssh -t 1 -H n1 'sleep 600'
like "$out" 'FAILURE\] n1 Timed out, Killed by signal 9' "and says so"
run_is 2 "2: no command" by pssh -H n1
run_is 2 "2: no hosts" by pssh true
run_is 1 "1: a file that is not there" by pssh -h nosuch true
run by pssh -o po -e pe -H n1 'echo o; echo e >&2'
is "$(cat po/n1 pe/n1)" "$(printf 'o\ne')" "pssh -o -e"
run_stdin stdin by pssh -I -i -H n1
is "$(echo "$out" | untimed)" "$(printf '[1] TIME [SUCCESS] n1\nfrom-stdin')" "pssh -I"
run by pssh -i -H n1 -x "-tt -o 'SetEnv=QUX=a'" -O 'SendEnv=NOTHING' -X -q 'echo $QUX; tty >/dev/null && echo terminal'
is "$(echo "$out" | untimed | tr -d '\r')" "$(printf '[1] TIME [SUCCESS] n1\na\nterminal')" "pssh -x -X -O"
run_is 2 "-x '-O …', as its page has it, is refused" by pssh -H n1 -x "-O StrictHostKeyChecking=no" echo hi
like "$err" "follow '-o'" "with what to write"
: >empty
run_is 4 "an unknown host key is refused" by pssh -H n1 -O "UserKnownHostsFile=$TMP/empty" true
is "$(cat empty)" "" "and not remembered"
run env PSSH_OUTDIR=po2 PSSH_PAR=1 PSSH_TIMEOUT=50 PSSH_USER="$SSHD_USER" timeout 60 bin/pssh -H 'n1 n2' echo y
is "$(cat po2/n1 po2/n2)" "$(printf 'y\ny')" "PSSH_OUTDIR, PSSH_PAR, PSSH_TIMEOUT, PSSH_USER"
run_is 0 "pscp -r" by pscp -r -H 'n1 n2' tree "$TMP/far/pscp"
is "$(echo "$out" | untimed | sed 's/n[12]$/nX/')" "$(printf '[%d] TIME [SUCCESS] nX\n' 1 2)" "reports each host"
is "$(cat far/pscp/sub/f)" deep "and copies"
run_is 1 "parallel-scp of a file that is not there" by parallel-scp -H n1 nosuch "$TMP/far"

# ---- How many at once, and as whom ----
# Two at once find the folder there.
lone="mkdir $TMP/lone || echo clash; sleep 0.2; rmdir $TMP/lone"
lone() { what=$1; shift; run "$@" "$lone"; unlike "$out" clash "$what: one host after the other"; }
lone "pdsh -f 1" by pdsh -f 1 -w 'n[1-4]'
lone "FANOUT=1" env FANOUT=1 timeout 60 bin/pdsh -w 'n[1-4]'
lone "NANOPOD_FANOUT=1" env NANOPOD_FANOUT=1 timeout 60 bin/pdsh -w 'n[1-4]'
lone "clush -f 1" by clush -n -f 1 -w 'n[1-4]'
lone "clush -O fanout=1" by clush -n -O fanout=1 -w 'n[1-4]'
lone "pssh -p 1" by pssh -i -p 1 -H 'n1 n2 n3 n4'
for tool in "pdsh -S -l nosuch -w n1" "clush -n -S -l nosuch -w n1" "pssh -i -l nosuch -H n1"; do
	run by $tool true
	like "$out$err" "as 'nosuch'" "${tool%% *} -l: the user"
done

# ---- As commands of nanopod ----
run timeout 60 "$NANOPOD" pdsh -w n1 echo x
is "$out" "n1: x" "nanopod pdsh"
run timeout 60 "$NANOPOD" parallel-ssh --version
like "$out" '^pssh \(nanopod' "nanopod parallel-ssh"
unlike "$("$NANOPOD" help)" pdsh "help does not list them"
like "$("$NANOPOD" help drop-ins)" 'pssh .*also parallel-ssh' "'help drop-ins' does"
like "$(by pdsh -h)" 'nanopod pdsh \[options\]' "pdsh -h lists its options"

# ---- Beside the tools themselves ----
SSH="-F $SSHD_CONFIG"
alike() { # WHAT, real command, then by name: the same output in any order, and the same status
	what=$1 name=$2; shift 2
	"$real" "$@" >real.out 2>real.err </dev/null; status_real=$?
	timeout 60 "bin/$name" "$@" >our.out 2>our.err </dev/null; status_our=$?
	is "$status_our: $(untimed <our.out | sed 's/^\[[0-9]\]//' | sort)" "$status_real: $(untimed <real.out | sed 's/^\[[0-9]\]//' | sort)" "$name $what, as the tool"
	# The tool's progress on a slow machine is no message.
	tr '\r' '\n' <real.err | grep -Ev '^clush: *[0-9]+/[0-9]+$|^ *$' >messages
	is "$(sort our.err)" "$(sort messages)" "$name $what: its messages"
}
if real=$(command -v pdsh); then
	export PDSH_SSH_ARGS_APPEND="$SSH" PDSH_RCMD_TYPE=ssh
	alike "with statuses" pdsh -w 'n[1-3]' "$here echo \$here; [ \$here -ne 2 ] || exit 7"
	alike -S pdsh -S -w 'n[1-3]' "$here echo \$here; [ \$here -ne 2 ] || exit 7"
	alike "with filters" pdsh -w 'n[1-5],-n4,/[345]/' echo %h %n
	unset PDSH_SSH_ARGS_APPEND PDSH_RCMD_TYPE
else
	skip "pdsh is not installed"
fi
if real=$(command -v clush); then
	script="$here echo \$here; echo same; echo e >&2; exit \$((here / 3))"
	for how in -n -nN -nL -nS "-nb -S" -nbL "-n --diff"; do
		alike "$how" clush $how -o "$SSH" -w 'n[1-4]' "$script"
	done
	alike -b clush -n -b -o "$SSH" -w 'n[1-5]' "$here echo \$((here / 3)); exit \$((here / 4))"
	is "$(cat our.out)" "$(cat real.out)" "with the blocks in its order"
	alike --diff clush -n --diff -o "$SSH" -w 'n[1-4]' "$here seq 1 \$((20 + here / 3)); [ \$here -gt 1 ] && echo b; seq 30 50; echo \$((here / 3)); seq 60 70"
	alike "with operators" clush -n -o "$SSH" -w 'n[1-5]!n3&n[2-5]^n1' echo x
else
	skip "clush is not installed"
fi
if real=$(command -v parallel-ssh); then
	alike -i parallel-ssh -i -x "$SSH" -H 'n1 n2' echo "hello, world"
	alike "with statuses" parallel-ssh -i -x "$SSH" -H 'n1 n2 n3' "$here echo \$here; echo e >&2; exit \$((here / 2))"
	alike -P parallel-ssh -P -x "$SSH" -h hosts.txt echo x
else
	skip "parallel-ssh is not installed"
fi
done_testing
