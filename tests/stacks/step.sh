#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The text that runs one function of one step on a node, as the engine would send it (cli/provision), for tests of stacks alone:
#     step.sh check|apply|verify|undo|NAME STACKDIR STEP [VAR=VALUE…] [-- WORD…] | ssh NODE sh -s
# VARs are NP_… and S_…; NP_TAKEN=FILE of this machine goes along.
# On standard output come the records of the node, what programs say on standard error.
function=$1 stack=$2 step=$3
shift 3
common=$(cd "$(dirname "$0")/../../stacks/common" && pwd) || exit

quote() { printf "'%s'" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")"; }

cat "$common/lib.sh"
printf "NP_CLUSTER=test NP_AIRGAP=''\\n(\\nNP_STACK=%s NP_STEP=%s NP_UPLOAD='' NP_UPLOAD_ID=''\\n" "$(basename "$stack")" "$step"
while [ $# -gt 0 ]; do
	case $1 in
	--) shift; break ;;
	NP_TAKEN=*) echo "np_take <<'.'"; base64 "${1#*=}"; echo . ;;
	*) printf '%s=%s\n' "${1%%=*}" "$(quote "${1#*=}")" ;;
	esac
	shift
done
words=
for word; do words="$words $(quote "$word")"; done
for part in $(sed -n "s/.*name: ${step}[,}].*include: \[\([^]]*\)\].*/\1/p" "$stack/stack.yaml" | tr ',' ' '); do
	if [ -e "$stack/$part" ]; then cat "$stack/$part"; else cat "$common/$part"; fi
done
cat "$stack/$step.sh"
printf 'np_work %s%s\n) </dev/null\nnp_end $?\n' "$function" "$words"
