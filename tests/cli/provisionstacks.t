#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One stack of a cluster: taken off alone, written and tried, one that cannot work, one whose files are broken. Against real
# sshd, as in provisionengine.t, whose "nodes" these are.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
need jq

cd "$TMP" || exit 99
NANOPOD_STACKS=$TMP/stacks XDG_STATE_HOME=$TMP/kept
export NANOPOD_STACKS XDG_STATE_HOME
cp -r "$SRC/tests/fixtures/engine" stacks && chmod -R u+w stacks && mkdir -p stacks/common || exit 99
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|NP_RUN=/run|NP_RUN=$NANOPOD_RUN|' "$SRC/stacks/common/lib.sh" >stacks/common/lib.sh
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|"$1" ] .. return 0|"$1" ] \|\| return 0|' "$SRC/stacks/common/facts.sh" >stacks/common/facts.sh
: >config
for x in a b; do
	mkdir -p "$x/state" "$x/run"
	SSHD_EXTRA="SetEnv SHLVL=3 NANOPOD_STATE=$TMP/$x/state NANOPOD_RUN=$TMP/$x/run NANOPOD_UPLOADS=$TMP/$x/uploads"
	sshd_up 1 "$x" || { fail "sshd is up"; done_testing; }
	sed "s/^Host \*/Host ${x}1/" "$SSHD_CONFIG" >>config
done
sed '/^Host b1$/,$s/Port .*/Port 1/' config >config.away
skip=''
for gate in name machine-id address root dpkg system disk route mtu names clock memory; do skip="$skip --skip-gate $gate"; done
# shellcheck disable=SC2086
p() { verb=$1; shift; timeout -k 5 300 "$NANOPOD" provision "$verb" -F "$TMP/${CONFIG-config}" $skip "$@" </dev/null; }
state() { ls "$TMP/$1/state" | grep -v '^np$' | tr '\n' ' '; }
kept() { cat "$XDG_STATE_HOME/nanopod/clusters/toys/cluster.yaml"; }
forget() { rm -rf a/state/* b/state/* "$XDG_STATE_HOME"; }
cat >tops.yaml <<'END'
cluster: toys
nodes: {hosts: 'a1,b1'}
roles:
  toy.head: a1
  # the others
  top.nodes: a1,b1
stacks:
  toy:
    # more: no
    word: one
  top:
    # nothing to set
END

# ---- A stack alone ----
run_is 0 "two stacks" p apply -y tops.yaml
run_is 5 "one that another needs" p remove -y toys toy
like "$err" "'top' needs 'toy'" "is not removed"
like "$err" "nanopod provision remove toys top toy" "what to type removes both"
run p remove -y toys base
like "$err" "every cluster needs 'base'.*provision remove toys" "nor is the base"
run_is 3 "one that it has not" p remove -y toys tip
like "$err" "has no stack 'tip'; did you mean 'top'" "is not found"
run_is 2 "a file" p remove -y ./tops.yaml top
run_is 0 "--dry-run" p remove toys top --dry-run
like "$err" "remove top from 'toys'" "shows what goes" || diag "$out$err"
like "$err" "top/one +undo it" "step by step"
is "$(state b)" "applied key slow top " "and does nothing"
rm a/state/slow
run_is 0 "the stack on top" p remove -y toys top
is "$(state b)" "applied key slow " "is undone" || diag "$out$err"
is "$(state a)" "applied key last " "alone: what differed elsewhere still does"
is "$(kept)" "cluster: toys
nodes: {hosts: 'a1,b1'}
roles:
  toy.head: a1
  # the others
stacks:
  toy:
    # more: no
    word: one
  base: {}" "the file no longer has it, nor its comments and roles"
run_is 0 "apply mends the rest" p apply -y toys
is "$(state a)" "applied key last slow " "with what stayed"
run_is 0 "the last stack" p remove -y toys toy
is "$(state a)$(state b)" "" "is undone"
run_is 0 "a cluster without one" p plan toys
like "$err" "nothing to do" "has nothing to do"

forget
printf "cluster: toys\\nnodes: {hosts: 'a1,b1'}\\nstacks: {top: {}}\\n" >needs.yaml
run_is 0 "a stack that came because another needs it" p apply -y needs.yaml
run_is 0 "stays without that" p remove -y toys top
is "$(state b)" "applied key slow " "on the nodes"
like "$(kept)" "^  toy: \{\}" "and in the file"

# ---- A node that is away ----
forget
run p apply -y tops.yaml
CONFIG=config.away run p remove -y toys top
is "$status" 10 "a node that is away" || diag "$out$err"
like "$err" "1 of 2 nodes did not answer; 'nanopod provision apply toys' undoes it there" "is told"
unlike "$(kept)" "top" "the file is without it"
run_is 0 "it comes back" p apply -y toys
is "$(state b)" "applied key slow " "and is without it"

# ---- What status says ----
forget
run p apply -y tops.yaml
CONFIG=config.away run p status toys
like "$out" "^b1 +unreachable" "a node that cannot be reached"
rm b/state/slow
sed -i 's|np_bad "it was not slow"; np_hint "try again"|np_hint "first this"; np_bad "it was not slow"; np_hint "second that"; np_bad "nor quick"|' stacks/toy/slow.sh
run_is 11 "verify, of a check that fails" p verify toys
like "$err" "'toys' differs from its file in [0-9]+ place" "says too that the node differs from the file" || diag "$err"
p verify toys -o json >verify.json 2>&1
like "$(cat verify.json)" '"changes":\[\{"node":"b1","stack":"toy","step":"slow"' "and in JSON where"
run p verify toys
like "$out" "it was not slow
    first this
.*nor quick
    second that" "each failed check has its own hint" || diag "$out"
run p status toys
like "$out" "^b1 +failing" "a check that fails"
cp stacks/toy/slow.sh slow.kept
sed -i 's|^check() {|check() { np_hint "free its disk"; np_fail "no room"; return 1; |' stacks/toy/slow.sh
run p status toys
like "$out" "^b1 +failing .*no room" "a step that cannot be checked" || diag "$out$err"
unlike "$out" "unreachable" "is no lost node"
cp slow.kept stacks/toy/slow.sh

# ---- People ----
forget
mkdir stacks/users
printf 'stack: users\nsettings:\n  disk-mb: {type: number, default: 0}\nsteps: [{name: people}]\n' >stacks/users/stack.yaml
# shellcheck disable=SC2016
echo 'want() { for name in $S_people; do eval "keys=\$S_people_${name}_keys may=\${S_people_${name}_sudo-no}"; printf "%s %s\n%s\n" "$name" "$may" "$keys"; done | np_file "$NANOPOD_STATE/people" 0600; }' >stacks/users/people.sh
public() { printf 'ssh-ed25519 AAAA%064d %s' "$1" "$2"; }
cat >people.yaml <<END
cluster: people
nodes: {hosts: a1}
users: {ada: {keys: ['$(public 1 ada@home)']}}   # in one line
stacks: {users: {}}
END
run_is 0 "people" p apply -y people.yaml
printf '# of bob\r\n\n  %s\r\n%s\n' "$(public 2 bob@home)" "$(public 3 bob@work)" >bob.pub
run_is 0 "one more, where they stand in {}" p adduser -y people bob --key bob.pub --sudo || diag "$err"
is "$(cat a/state/people)" "ada no
$(public 1 ada@home)

bob yes
$(public 2 bob@home)
$(public 3 bob@work)" "with all keys of the file"
run_is 0 "another key" p adduser -y people bob --key <(public 4 bob@train)
is "$(sed -n '/^bob/,$p' a/state/people)" "bob yes
$(public 4 bob@train)" "takes the place of his others, and he stays who he was"
run_is 3 "one whom it has not" p deluser -y people bbo
is "$err" "nanopod: 'people' has no user 'bbo'" "is not found"
run_is 0 "one less" p deluser -y people ada || diag "$err"
is "$(grep -c . a/state/people)" 2 "is out"
rm -r stacks/users

# ---- Files that the cluster file names ----
forget
mkdir -p lab/up && echo hello >lab/up/file
printf 'cluster: toys\nnodes: {hosts: "a1,b1"}\nstacks:\n  # mine\n  toy: {file: ./up}\n' >lab/toys.yaml
run_is 0 "a path that begins at the file" p apply -y lab/toys.yaml || diag "$err"
like "$(kept)" "file: $TMP/lab/up" "is kept as the whole path"
run_is 0 "so that the name is enough" p plan --detailed-exitcode toys || diag "$err"
is "$(cat b/state/file/file)" hello "from any folder"

# ---- Facts ----
forget
mkdir stacks/asks
printf 'stack: asks\nsettings:\n  disk-mb: {type: number, default: 0}\nsteps:\n  - {name: asks, facts: [kernel]}\n  - {name: does-not}\n' >stacks/asks/stack.yaml
for step in asks does-not; do
	# shellcheck disable=SC2016
	echo 'want() { np_fact "$NP_HOST" cgroup; np_fact "$NP_HOST" kernel; } >$NANOPOD_STATE/'$step >stacks/asks/$step.sh
done
run_is 0 "a step that asks for a fact" p apply -y -w a1 asks || diag "$err"
is "$(sed -n 2p a/state/asks)" "$(cat /proc/sys/kernel/osrelease)" "has it"
is "$(cat a/state/does-not)" "$(sed -n 1p a/state/asks)" "others have the usual ones"
echo 'check() { sleep 13; }; apply() { :; }' >stacks/asks/asks.sh
run_is 0 "a plan that takes long" p plan -w a1 asks
like "$err" "waiting for a1 \(asks/asks, 1[0-9] s\)" "says what it waits for" || diag "$err"
rm -r stacks/asks

# ---- Stacks of one's own ----
forget
own=$TMP/home/nanopod/stacks
folder_of() { XDG_CONFIG_HOME=$TMP/home NANOPOD_STACKS=$1 "$NANOPOD" provision stacks -o csv --fields stack,folder | sed -n "s/^$2,//p"; }
shipped=$(folder_of '' slurm)
ok "those that come with nanopod, without any" test -e "$shipped/stack.yaml"
mkdir -p "$own/mine" "$own/slurm"
printf 'stack: mine\nneeds: [base]\nsteps: [{name: one, include: [sshd.inc]}]\n' >"$own/mine/stack.yaml"
# shellcheck disable=SC2016
echo 'want() { echo mine | np_file "$NANOPOD_STATE/mine" 0600; }' >"$own/mine/one.sh"
mkdir "$own/common" && : >"$own/common/sshd.inc"
printf 'stack: slurm\nsteps: [{name: one}]\n' >"$own/slurm/stack.yaml"
: >"$own/slurm/one.sh"
is "$(folder_of '' mine)" "$own/mine" "one's own is beside them"
is "$(folder_of '' slurm)" "$own/slurm" "and takes the place of one of its name"
is "$(folder_of '' ray)" "${shipped%/*}/ray" "the others stay"
is "$(folder_of "$TMP/stacks:" slurm)" "$shipped" "an empty part of NANOPOD_STACKS is those that come with nanopod"
is "$(folder_of "$TMP/stacks:$own" mine)|$(folder_of "$TMP/stacks" mine)" "$own/mine|" "others are those that it names"
sed -i '$a settings: {disk-mb: {type: number, default: 0}}' "$own/mine/stack.yaml"
NANOPOD_STACKS=$own:$TMP/stacks run_is 0 "a cluster with one of each" p apply -y --set toy.word=one -w a1,b1 --name toys mine toy || diag "$err"
is "$(state b)" "applied key mine slow " "has both"
mv "$own/mine" mine.gone
NANOPOD_STACKS=$own:$TMP/stacks run_is 0 "and is removed" p remove -y toys || diag "$err"
is "$(state b)" "" "also when it is gone"
rm -r "$own"

# ---- One writes a stack: new, check, test ----
forget
stack() { p stack "$@"; }
run_is 0 "stack new" stack new mine
is "$out" "$TMP/stacks/mine" "prints its folder"
like "$err" "nanopod provision stack check mine" "and says what finds mistakes"
run_is 0 "what it wrote" stack check mine
like "$err" "nothing wrong; 'nanopod provision stack test mine -w HOST'" "has none" || diag "$out"
run_is 5 "stack new of one that is there" stack new mine
like "$err" "$TMP/stacks/mine/stack.yaml" "says where"
run_is 2 "stack new of a name that is none" stack new ../x
run_is 2 "stack without a verb that it knows" stack tset mine
like "$err" "no action 'provision stack tset'; available: new, check and test" "says which there are"
run_is 3 "stack check of one that is none" stack check mien
like "$err" "did you mean 'mine'" "names the nearest"
XDG_CONFIG_HOME=$TMP/home NANOPOD_STACKS='' run_is 5 "stack new with the name of one that comes with nanopod" stack new slurm
XDG_CONFIG_HOME=$TMP/home NANOPOD_STACKS='' run_is 0 "all that come with nanopod" stack check
XDG_CONFIG_HOME=$TMP/home NANOPOD_STACKS='' run_is 0 "stack new, of one's own" stack new mine
ok "is beside them" test -e "$TMP/home/nanopod/stacks/mine/greet.sh"
# said LINES…: what check says of mine, FILE:LINE PROBLEM
said() { stack check mine -o json >"$TMP/said" 2>"$TMP/said.err"; jq -r '.[] | "\(.file):\(.line) \(.problem)"' "$TMP/said"; }
cat >stacks/mine/greet.sh <<'END'
# np_nothing is a word of this comment.
want() {
	np_word=1; if np_chnging; then :; fi
	printf '%s\n' "$S_txt" "${S_other-none}" | np_fil "$NANOPOD_STATE/mine" 0600 && helper np_file
	for word in $(np_membrs nodes); do ! np_is_not "$word"; done
}
helper() { :; }
# It's what a shell doesn't run; neither is what follows.
quoted() {
	printf '%s' "a; np_words" 'b; np_words' \; np_words2=1
	awk '
		np_program { print "'"$(np_called)"'" }
		np_program
	'
	cat <<EOF
np_foo
EOF
	echo $((1 << 2)) "it's ${1:-np_x}"; np_after
}
END
is "$(said)" "greet.sh:3 no function 'np_chnging'; did you mean 'np_changing'?
greet.sh:4 no setting 'txt'; did you mean 'text'?
greet.sh:4 no function 'np_fil'; did you mean 'np_file'?
greet.sh:5 no function 'np_membrs'; did you mean 'np_members'?
greet.sh:5 no function 'np_is_not'; nanopod-stacks(7) lists all
greet.sh:12 no function 'np_called'; did you mean 'np_enabled'?
greet.sh:18 no function 'np_after'; nanopod-stacks(7) lists all" "functions and settings that are none, by line" || diag "$(cat "$TMP/said" "$TMP/said.err")"
run_is 11 "its exit status" stack check mine
printf 'want() {\n\tif true; then\n}\n' >stacks/mine/greet.sh
like "$(said)" "^greet.sh:3 .*[Ss]yntax error" "what is no shell"
printf 'verify() { :; }\n' >stacks/mine/greet.sh
like "$(said)" "^stack.yaml:8 the step 'greet' does nothing" "a step that does nothing"
printf 'check() { :; }\napply() { :; }\n' >stacks/mine/greet.sh
sed -i 's/^needs:.*/needs: [base, nowhere, toyy]\nafter: [elsewhere]/; s/name: greet,/name: greet, needs: [base.begn, toy.key@hed],/' stacks/mine/stack.yaml
like "$(said)" "^stack.yaml:9 the step 'greet' needs 'toy.key', but the stack lacks 'needs: \[toy\]'" "a step of a stack that it does not need"
sed -i 's/toyy/toy/' stacks/mine/stack.yaml
is "$(said)" "stack.yaml:3 no stack 'nowhere'; 'nanopod provision stacks' lists them
stack.yaml:9 the stack 'base' has no step 'begn'; did you mean 'begin'?
stack.yaml:9 the stack 'toy' has no role 'hed'" "what no stack gives"
sed -i 's/^about:/abuot:/' stacks/mine/stack.yaml
is "$(said)" "stack.yaml:2 unknown setting 'abuot'; did you mean 'about'?" "a key that is none"
sed -i 's/^abuot:/about:/; s/name: greet,/name: gone,/' stacks/mine/stack.yaml
like "$(said)" "^stack.yaml:9 cannot read 'gone.sh' beside it" "a script that is missing"

cat >stacks/mine/stack.yaml <<'END'
stack: mine
needs: [base]
settings: {text: {type: text, default: one}, disk-mb: {type: number, default: 0}}
steps: [{name: greet}]
END
# shellcheck disable=SC2016
good='want() { echo "$S_text" | np_file "$NANOPOD_STATE/mine" 0600; }; verify() { grep -q . "$NANOPOD_STATE/mine" && np_ok "it is there" || np_bad "it is not there"; }'
mine() { echo "$good" | sed "$1" >stacks/mine/greet.sh; }
results() { jq -r '.[] | "\(.step) \(.result)"' <<<"$out" | xargs; }
mine ''
run_is 2 "stack test without a node" stack test mine
like "$err" "-w HOST or -r RESERVATION is required: a node that may be lost" "asks for one"
run_is 2 "a dry run of it" stack test mine -w b1 --dry-run
run_is 2 "a dry run of new" stack new other --dry-run
run_is 2 "a name of its cluster" stack test mine -w b1 --name mine
is "$(state b)" "" "all do nothing"
run_is 0 "(a cluster of a person's own)" p apply -y --name test-mine -w b1 mine
run_is 5 "whose name a test would take" stack test mine -w b1
like "$err" "a cluster 'test-mine' is there, of an earlier test or yours" "is left alone"
run_is 0 "(it is still there)" p verify test-mine
p remove -y test-mine >/dev/null 2>&1
run_is 3 "stack test of one that is none" stack test mien -w b1
run_is 0 "stack test" stack test mine -w b1 --set mine.text=two -o json || diag "$err"
is "$(results)" "apply ok again ok verify ok remove ok" "tries all" || diag "$out"
like "$err" "1 check holds" "shows what each step says"
is "$(state b)" "" "and leaves nothing"
is "$(ls "$XDG_STATE_HOME/nanopod/clusters")" "" "not here either"
mine 's/^want() {/want() { np_fail "no room"; return 1;/'
run_is 11 "one that cannot be applied" stack test mine -w b1 -o json
is "$(results)" "apply failed" "fails there"
like "$err" "cause  no room" "with its cause" || diag "$err"
mine ''
# shellcheck disable=SC2016
echo 'want() { echo other | np_file "$NANOPOD_STATE/mine" 0600; }' >stacks/mine/spoils.sh
sed -i 's/{name: greet}/{name: greet}, {name: spoils, needs: [greet]}/' stacks/mine/stack.yaml
run_is 11 "one whose steps spoil each other" stack test mine -w b1 -o json
is "$(results)" "apply ok again failed" "fails at the second look" || diag "$out$err"
like "$err" "mine/greet +write .*/mine" "which shows what would change"
like "$err" "'nanopod provision remove test-mine' removes what this left" "and what to type"
run_is 0 "which does that" p remove -y test-mine
is "$(state b)" "" "and leaves nothing"
sed -i 's/, {name: spoils, needs: \[greet\]}//' stacks/mine/stack.yaml
mine 's/grep -q . /grep -q three /'
run_is 11 "one whose check fails" stack test mine -w b1 -o json
is "$(results)" "apply ok again ok verify failed" "fails at verify"
like "$err" "it is not there" "which says why"
run_is 0 "(what it left goes)" p remove -y test-mine
mine 's/$/; undo() { np_fail "it stays"; }/'
run_is 11 "one that cannot be undone" stack test mine -w b1 -o json
is "$(results)" "apply ok again ok verify ok remove failed" "fails at remove" || diag "$out$err"
mine ''
run_is 0 "and mended" p remove -y test-mine
is "$(state b)" "" "it goes"
rm -r stacks/mine "$TMP/home"

# ---- A stack that cannot work ----
forget
run p apply -y --set toy.word=one -w a1,b1 --name toys toy
sed -i 's|^want() {|want() { np_fail "it has no such kernel"; return 1; |' stacks/top/one.sh
before=$(kept)
run p apply -y -w a1,b1 top
isnt "$status" 0 "a stack that cannot work on any node"
like "$err" "it has no such kernel" "says why"
is "$(kept)" "$before" "and is not kept"
run_is 0 "the cluster goes on" p plan toys
cp "$SRC/tests/fixtures/engine/top/one.sh" stacks/top/one.sh

# ---- A stack whose files are broken, or gone ----
forget
run p apply -y tops.yaml
printf 'stack: top\nabout: [\n' >stacks/top/stack.yaml
run p plan toys
like "$err" "top/stack.yaml.*line" "a broken stack.yaml: its file and line"
like "$err" "nanopod provision remove toys top' takes that stack off" "and what to type"
run p status toys
like "$out" "^a1 +ready" "status still works" || diag "$out$err"
like "$err" "the stack 'top' cannot be read.*line" "and says what it does not know"
run_is 0 "drop" p drop -y toys -w b1
is "$(state b)" "" "undoes all on its node" || diag "$out$err"
like "$(state a)" "top" "and nothing elsewhere"
run_is 0 "remove of the stack" p remove -y toys top
is "$(state a)" "applied key last slow " "undoes it by what the node kept" || diag "$out$err"
run_is 0 "the rest works again" p plan toys
forget
cp "$SRC/tests/fixtures/engine/top/stack.yaml" stacks/top/
run p apply -y tops.yaml
mv stacks/top top.gone
run p verify toys
like "$err" "no stack 'top'" "a stack that is gone"
run_is 0 "remove of the cluster" p remove -y toys
is "$(state a)$(state b)" "" "undoes all of it" || diag "$out$err"
is "$(ls "$XDG_STATE_HOME/nanopod/clusters")" "" "and forgets it"
done_testing
