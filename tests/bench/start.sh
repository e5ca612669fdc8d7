#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What it costs to start: CPU and wall time of `nanopod --version`, of help and of completion, on average.
#     tests/bench/start.sh [NANOPOD] [TIMES]
# Build without --enable-dev first: the sanitizers are most of the time there.
NANOPOD=${1-./nanopod} TIMES=${2-200}
[ -x "$NANOPOD" ] || { echo "start.sh: '$NANOPOD' is not there" >&2; exit 2; }
# In a build folder that is libtool's script: what it runs is measured.
if [ -x "$(dirname "$NANOPOD")/.libs/nanopod" ]; then
	NANOPOD=$(dirname "$NANOPOD")/.libs/nanopod
	LD_LIBRARY_PATH=$(dirname "$NANOPOD")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi
HOME=$(mktemp -d) && export HOME
trap 'rm -rf "$HOME"' EXIT

# measure NAME ARGUMENT…
measure() {
	name=$1; shift
	start=$(date +%s%N)
	i=0
	times=$(
		while [ $i -lt "$TIMES" ]; do
			"$NANOPOD" "$@" >/dev/null 2>&1
			i=$((i + 1))
		done
		times >"$HOME/times"
		tail -n 1 "$HOME/times"
	)
	wall=$((($(date +%s%N) - start) / 1000 / TIMES))
	echo "$times" | awk -v n="$name" -v w="$wall" -v t="$TIMES" '
		function seconds(s) { split(s, p, /[ms]/); return p[1] * 60 + p[2] }
		{ printf "%-24s %7.2f ms wall  %7.2f ms CPU\n", n, w / 1000, (seconds($1) + seconds($2)) * 1000 / t }'
}
measure "nanopod --version" --version
measure "nanopod help" help
measure "nanopod buy --help" buy --help
measure "completion" complete -- buy --
