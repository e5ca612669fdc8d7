#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod provision without a node: what the command line, a file and a stack's table say of themselves, before anything is
# connected to. With nodes: provisionnodes.t.
. "$(dirname "$0")/../lib/tap.sh"
need jq
NANOPOD_STACKS=$SRC/stacks
export NANOPOD_STACKS
cd "$TMP" || exit 99

np() { "$NANOPOD" provision "$@" </dev/null; }
plain() { "$NANOPOD" provision "$@" --ssh-config none --known-hosts none --connect-timeout 1s </dev/null; }

# What is wrong with the line is said before anybody is asked, with what to type.
run_is 2 "nothing" np
like "$err" "nanopod provision -r RESERVATION slurm" "says what to type"
run_is 3 "a cluster that is none" np plan train
like "$err" "no cluster 'train' here" "says so"
run_is 2 "stacks without nodes" np plan base slurm
run_is 2 "nodes without a stack" np plan -w n1
like "$err" "provision stacks" "says where they are listed"
run_is 2 "a file and nodes" np plan -w n1 ./x.yaml
run_is 3 "a stack that is none" np plan -w n1 slrum
like "$err" "slurm" "names the nearest"
run_is 2 "a setting that is none" np plan -w n1 slurm --set slurm.acounting=yes
like "$err" "accounting" "names the nearest"
run_is 2 "a setting of another stack" np plan -w n1 slurm --set k3s.url=x
like "$err" "has no stack 'k3s'" "adds no stack"
run plain plan -w 127.9.9.9:1 gpu-operator --set k3s.url=x
is "$status" 8 "a setting of a stack that another one needs is one"
run_is 2 "a map as a text" np plan -w n1 slurm --set 'slurm.partitions={gpu: {nodes: workers}}'
like "$err" "'slurm.partitions' is a map .*--set slurm.partitions.NAME=VALUE" "and how it is typed"
run_is 2 "a setting without a value" np plan -w n1 slurm --set slurm.accounting
run_is 2 "a value that is none" np plan -w n1 slurm --set slurm.accounting=perhaps
run_is 2 "a role that is none" np plan -w 'n[1-2]' slurm --role controler=n1
like "$err" "controller" "names the nearest"
run_is 2 "a role for a stranger" np plan -w 'n[1-2]' slurm --role controller=n9
run_is 2 "a gate that is none" np plan -w n1 base --skip-gate clok
like "$err" "clock" "lists them"
run_is 2 "a name that is none" np plan -w n1 base --name 'a b'
run_is 3 "an airgap folder that is none" np plan -w n1 base --airgap "$TMP/none"
run_is 2 "nobody to ask" np -w n1 base
like "$err" "'-y'" "names the flag"
for verb in "verify" "add" "drop" "drain" "upgrade" "remove" "bundle"; do
	run_is 2 "$verb without a word" np $verb -y
	like "$err" "nanopod provision $verb" "says how"
done
run_is 2 "bundle without a folder" np bundle slurm
run_is 3 "bundle of what is none" np bundle slrum -d "$TMP/x"
run_is 3 "from a folder that is none" np bundle slurm -d "$TMP/x" --from "$TMP/none"
is "$(ls -A "$TMP" | grep -v '^home$' | grep -v '^\.')" "" "none of that made a file"
is "$(find "$HOME" -type f)" "" "not at home either"

# Files.
printf 'cluster: a\nnodes: {hosts: n1}\nstacks: {slurm: {acounting: yes}}\n' >bad.yaml
run_is 2 "a mistake in a file" np plan ./bad.yaml
like "$err" "bad.yaml.*line 3" "is told with its line"
printf 'cluster: a\nnodes: {hosts: n1}\nstacks: {slurm: {}}\nroles: {workers: n9}\n' >bad.yaml
run_is 2 "a role for a stranger" np plan bad.yaml
printf 'cluster: ../../x\nnodes: {hosts: n1}\nstacks: {base: {}}\n' >bad.yaml
run_is 2 "a hostile name" np plan bad.yaml
run_is 3 "no such file" np plan ./none.yaml
like "$err" "provision init" "says what writes one"
for file in "$SRC"/examples/cluster-*.yaml; do
	run plain plan "$file"
	unlike "$err" "line [0-9]|unknown|cannot read" "$(basename "$file") is understood" || diag "$err"
done

# A node that is not there.
run_is 8 "nobody is reached" plain plan -w 127.9.9.9:1 base
like "$err" "127.9.9.9.*not reached" "it is told which" || diag "$err"
run_is 8 "with -o json" plain plan -w 127.9.9.9:1 base -o json
is "$(printf '%s\n' "$err" | jq -r .error.code)" unreachable "the error is an object"
is "$(find "$HOME" -name '*.yaml')" "" "nothing is kept of a look"

# What there is.
run_is 0 "stacks" np stacks -q
like "$(echo $out)" "base .*k3s.*slurm" "are listed"
run_is 0 "stacks as JSON" np stacks -o json
is "$(printf '%s\n' "$out" | jq -r '.[] | select(.stack == "slurm") | .roles | split(",")[0]')" controller "with their roles"
run_is 0 "one" np stacks slurm -o json
is "$(printf '%s\n' "$out" | jq -r '.[] | select(.setting == "accounting") | .type')" flag "with its settings"
run_is 3 "one that is none" np stacks slrum
run_is 0 "no clusters" np list -o json
is "$(printf '%s\n' "$out" | jq length)" 0 "are an empty list"
run_is 3 "the status of none" np status
run_is 2 "a field that is none" np list --fields nmae

# Completion.
mkdir -p "$HOME/.local/state/nanopod/clusters/train" "$HOME/.local/state/nanopod/clusters/x.y"
printf 'cluster: train\nnodes: {hosts: n1}\nstacks: {base: {}}\n' >"$HOME/.local/state/nanopod/clusters/train/cluster.yaml"
echo n1 >"$HOME/.local/state/nanopod/clusters/train/members"
cp "$HOME/.local/state/nanopod/clusters/train/cluster.yaml" "$HOME/.local/state/nanopod/clusters/x.y"
complete() { "$NANOPOD" complete -- "$@"; }
run complete provision ''
like "$(echo $out)" "apply .*train.*slurm" "verbs, clusters and stacks"
unlike "$out" "x\.y" "no hostile name"
run complete provision verify tr
is "$out" "train" "a cluster after a verb"
is "$(complete provision stack '' | tr '\n' ' ')" "new check test " "the verbs of stack"
is "$(complete provision stack check slu)$(complete provision stack test slu)$(complete provision stack check base slu)" "slurmslurmslurm" "their stacks"
run complete kubeconfig t
is "$out" "train" "and for kubeconfig"
run_is 0 "list" np list -o json
is "$(printf '%s\n' "$out" | jq -r '.[] | "\(.cluster) \(.nodes) \(.stacks)"')" "train 1 base" "the cluster"
run_is 3 "a typing mistake" np plan trian
like "$err" "did you mean 'train'" "names the nearest"
run_is 5 "the same name for other nodes" plain plan -w n7 base --name train
like "$err" "of other nodes" "is refused"
run_is 3 "drop of a stranger" np drop train -w n5 -y
run_is 5 "drop of the last" np drop train -w n1 -y
like "$err" "provision remove train" "says what removes"
run_is 5 "drain where no stack can" np drain train -w n1 -y
run_is 5 "kubeconfig without K3s" "$NANOPOD" kubeconfig train
like "$err" "no stack 'k3s'" "says so"
run_is 2 "add of a role that is none" np add train -w n2 --role nods -y
like "$err" "did you mean 'nodes'" "names the nearest"
run_is 0 "the plan of a removal" np remove train --dry-run
like "$err" "stacks +base" "says what goes"
run_is 2 "and asks" np remove train

# init.
run_is 8 "init with nobody there" plain init -w 127.9.9.9:1
is "$(ls ./*.yaml)" "./bad.yaml" "writes nothing"
done_testing
