#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `users` of a cluster file on real nodes: the same ids, keys, groups and sudo everywhere, ssh between nodes, Slurm's accounts
# and shares, one more by one command, one less who is out at once, nothing left but files of people. Five users of different
# shares send 200 jobs: what Slurm's Fair Tree makes of them is what their shares say. Needs root, an image and packages.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/provision/look.sh"

cluster_repo all
cluster_nodes 2
look_begin
pictures before

provision() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}" </dev/null; }
one() { in_node train-1 "$1"; }
key() { ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$TMP/$1"; cat "$TMP/$1.pub"; }
# as_user USER NODE COMMAND: by SSH, with the user's own key alone; whose_as KEY USER NODE COMMAND: with that of another.
as_user() { whose_as "$1" "$@"; }
sed '/IdentityFile/d' "$CLUSTER_CONFIG" >"$TMP/keyless"
whose_as() { ssh -F "$TMP/keyless" -i "$TMP/$1" -o BatchMode=yes -o ConnectTimeout=20 "$2@$3" "$4" </dev/null 2>"$TMP/.as.err"; }

cat >"$TMP/lab.yaml" <<END_FILE
cluster: lab
nodes: {from: reservation/train}
roles: {workers: 'train-[1-2]'}
users:
  ada: {keys: ['$(key ada)'], sudo: yes, groups: [physics], account: physics, shares: 3}
  bob: {keys: ['$(key bob)'], groups: [physics], account: physics}
  cy: {uid: 4321, keys: ['$(key cy)'], limits: MaxJobs=1}
  dee: {keys: ['$(key dee)'], shares: 2}
  eli: {keys: ['$(key eli)'], account: physics}
stacks:
  users: {}
  slurm:
    accounts: {physics: {shares: 4}}
    conf: MinJobAge=10
END_FILE
FROM=$(date +%s)
run_is 0 "Slurm with people, from nothing" provision "$TMP/lab.yaml" --airgap "$CLUSTER_REPO" -y || { diag "$(tail -c 6000 "$TMP/.out")" "$(tail -c 3000 "$TMP/.err")"; done_testing; }
diag "from nothing: $(($(date +%s) - FROM)) s"
run_is 0 "again: nothing to do" provision plan lab --detailed-exitcode || diag "$out"

# ---- Who they are ------------------------------------------------------------------------------------------------------------
is "$(on_nodes 'id -u ada; id -u bob; id -u cy; id -gn ada' | sort | uniq -c | awk '{ print $1 }' | sort -u | xargs)" 2 "the same ids on both nodes"
is "$(on_nodes 'id -u cy')" "$(printf '4321\n4321')" "an id of the file is taken"
like "$(one 'id -Gn ada')" physics "groups"
is "$(on_nodes 'stat -c "%a %U" ~ada ~bob' | sort | uniq -c | xargs)" "2 700 ada 2 700 bob" "homes are theirs alone"
is "$(as_user ada train-1 'sudo -n id -un')" root "ada signs in and may become root"
is "$(as_user bob train-2 'id -un; sudo -n true 2>/dev/null || echo not')" "$(printf 'bob\nnot')" "bob signs in and may not"
not_ok "not with the key of another" whose_as cy bob train-1 true
is "$(in_node train-1 'whoami')" root "root gets in as before"
is "$(as_user bob train-1 'ssh -o BatchMode=yes train-2 "hostname; id -un"')" "$(printf 'train-2\nbob')" "from node to node without a key there" || diag "$(cat "$TMP/.as.err")"
not_ok "but nobody becomes somebody else" as_user bob train-1 'ssh -o BatchMode=yes ada@train-2 true'

# ---- What Slurm knows -------------------------------------------------------------------------------------------------------
assoc() { one "sacctmgr -n -P show assoc cluster=lab format=account,user,share,maxjobs | grep -E '\|(ada|bob|cy|dan|dee|eli)\||^physics\|\|'" | sort | xargs; }
is "$(assoc)" "physics|ada|3| physics|bob|1| physics|eli|1| physics||4| users|cy|1|1 users|dee|2|" "accounts, users, shares, limits"
# Each works a little, ada on both nodes: what they used counts from the next minute on. Cy's lasts until his limit was seen.
as_user cy train-1 "sbatch --parsable -o /dev/null --wrap 'until [ -e /tmp/seen ]; do sleep 1; done'" >"$TMP/job.cy"
runs() { one "squeue -h -j $(cat "$TMP/job.cy") -o %T" | grep -qx RUNNING; }
ok "(a job runs)" wait_for 30 runs
for user in ada bob dee eli; do as_user $user train-1 "sbatch --parsable -o /dev/null --wrap 'sleep 4'" >"$TMP/job.$user"; done
like "$(cat "$TMP/job.bob")" '^[0-9]+$' "a person submits from the first node" || diag "$(cat "$TMP/.as.err")"
as_user cy train-1 "sbatch -o /dev/null -J second --wrap true" >/dev/null
limited() { one 'squeue -h -n second -o "%T %r"' | grep -qx 'PENDING AssocMaxJobsLimit'; }
ok "whose limit is one job has one" wait_for 20 limited || diag "$(one 'squeue -a; sinfo -R')" "$(on_nodes 'tail -n 30 /var/log/slurm/slurmd.log')"
on_nodes ': >/tmp/seen'
one 'useradd -m eve' 2>/dev/null
unlike "$(one 'cd /tmp && runuser -u eve -- sbatch --wrap true 2>&1')" 'Submitted' "whom the file does not name may not work"
one 'userdel -r eve' 2>/dev/null

# ---- One more, one less --------------------------------------------------------------------------------------------------------
key dan >/dev/null
run_is 2 "a person without a key" provision adduser lab dan -y
run_is 2 "a private key" provision adduser lab dan --key "$TMP/dan" -y
unlike "$out$err" PRIVATE "is not shown"
run_is 0 "one more, by one command" provision adduser lab dan --key "$TMP/dan.pub" --set users.dan.shares=5 --set users.dan.account=physics -y || diag "$out" "$err"
is "$(as_user dan train-2 'id -un')" dan "he signs in" || diag "$(cat "$TMP/.as.err")"
is "$(assoc)" "physics|ada|3| physics|bob|1| physics|dan|5| physics|eli|1| physics||4| users|cy|1|1 users|dee|2|" "and Slurm knows him"
run_is 0 "the same again: nothing to do" provision adduser lab dan --key "$TMP/dan.pub" -y
like "$err" "nothing to do" "it says so"
as_user bob train-2 'echo mine >mine; nohup sleep 1000 >/dev/null 2>&1 &'
BOB=$(one 'id -u bob')
ok "(he has a process)" wait_for 20 in_node train-2 "pgrep -x sleep -U $BOB"
run_is 3 "one who is not there" provision deluser lab bbo -y
run_is 0 "one less" provision deluser lab bob -y || diag "$out" "$err"
like "$out$err" "/home/bob: the files of bob" "it says what stays"
is "$(on_nodes "getent passwd bob; pgrep -U $BOB | wc -l")" "$(printf '0\n0')" "no user, no process"
not_ok "he is out" as_user bob train-2 true
is "$(in_node train-2 'cat /home/bob/mine')" mine "his files stay"
run_is 0 "plan: nothing to do" provision plan lab --detailed-exitcode || diag "$out"

# ---- Drift -----------------------------------------------------------------------------------------------------------------------
in_node train-2 'userdel cy; rm /etc/ssh/nanopod-keys/ada' 2>/dev/null
one 'sacctmgr -i modify user ada set fairshare=1 where cluster=lab account=physics' >/dev/null
run provision verify lab
is "$status" 11 "verify sees what is missing"
like "$out$err" "user 'cy' is missing" "a user"
like "$out$err" "'physics\|ada'" "and shares"
run_is 0 "and apply mends it" provision apply lab -y || diag "$out" "$(tail -n 20 <<<"$err")"
is "$(in_node train-2 'id -u cy; stat -c %U ~cy')" "$(printf '4321\ncy')" "with the same id, and his files"

# ---- Fair Tree ----------------------------------------------------------------------------------------------------------------
# 200 jobs of five people wait; their order is what shares and use say, worked out here from the two numbers of each level.
used() { one 'sshare -n -P -a --format=User,RawUsage' | awk -F '|' '$1 ~ /^ *(ada|cy|dee|eli)$/ { n += $2 > 0 } END { exit n != 4 }'; }
ok "what they used counts" wait_for 150 used || diag "$(one 'sshare -a -l')"
one 'scontrol update partition=all state=DOWN'
for user in ada cy dan dee eli; do as_user $user train-1 'for i in $(seq 40); do echo "sbatch -Q -o /dev/null --wrap true"; done | sh' & jobs="${jobs-} $!"; done
for job in $jobs; do wait "$job"; done
is "$(one 'squeue -h -t PD -o %u' | grep -cE '^(ada|cy|dan|dee|eli)$')" 200 "200 jobs wait" || diag "$(one "squeue -h -o '%u %T %r' | sort | uniq -c")"
# Level by level: an account or user comes first whose shares are more beside what was used; a dan who used nothing comes first of all.
cat >"$TMP/tree.py" <<'END_TREE'
import sys
rows = [line.rstrip("\n").split("|") for line in open(sys.argv[1])]
children = {"root": []}
for account, user, shares, usage, fair in rows:
    if account == "root" and not user: continue
    key = user and account + "/" + user or account
    parent = account if user else "root"
    share = 1.0 if shares == "parent" else float(shares)
    children.setdefault(parent, []).append((key, share, float(usage)))
order = []
def walk(parent):
    below = children.get(parent, [])
    total, used = sum(s for _, s, _ in below), sum(u for _, _, u in below)
    rank = lambda c: float("inf") if c[2] == 0 else (c[1] / total) / (c[2] / used)
    for key, _, _ in sorted(below, key=rank, reverse=True):
        if "/" in key: order.append(key.split("/")[1])
        else: walk(key)
walk("root")
print(" ".join(u for u in order if u in ("ada", "cy", "dan", "dee", "eli")))
END_TREE
shares() { one 'sshare -n -P -a --format=Account,User,RawShares,EffectvUsage,FairShare' | tr -d ' ' >"$TMP/sshare"; python3 "$TMP/tree.py" "$TMP/sshare" >"$TMP/tree"; }
ranks() { sort -t '|' -k 5,5gr "$TMP/sshare" | awk -F '|' '$2 ~ /^(ada|cy|dan|dee|eli)$/ { print $2 }' | xargs; }
waits() { one 'squeue -h -t PD -S -p -o "%u"' | grep -E '^(ada|cy|dan|dee|eli)$' | uniq | xargs; }
# The shares were repaired above; Slurm counts them anew once a while.
agree() { shares; [ "$(ranks)" = "$(cat "$TMP/tree")" ] && [ "$(waits)" = "$(cat "$TMP/tree")" ]; }
wait_for 150 agree
is "$(wc -w <"$TMP/tree")" 5 "Slurm shares among five people"
is "$(ranks)" "$(cat "$TMP/tree")" "Fair Tree's order is what shares and use say" || diag "$(cat "$TMP/sshare")"
is "$(waits)" "$(cat "$TMP/tree")" "and the jobs wait in that order"
like "$(one 'sacctmgr -n -P show qos normal format=name')" '^normal$' "there is a quality of service"
one 'for u in ada cy dan dee eli; do scancel -u $u; done; scontrol update partition=all state=UP'

# ---- Removed ---------------------------------------------------------------------------------------------------------------------
run_is 0 "remove" provision remove lab -y || diag "$out" "$err"
like "$out$err" "/home/dan: the files of dan|removed" "it says what stays"
in_node train-1 'rm -rf /home/bob /home/ada /home/cy /home/dan /home/dee /home/eli'; in_node train-2 'rm -rf /home/bob /home/ada /home/cy /home/dan /home/dee /home/eli'
pictures after
for node in $CLUSTER_NODES; do same_picture before after "$node" "$node is as it was"; done
done_testing
