# SPDX-License-Identifier: Apache-2.0
# `nanopod autoscale` of the cluster 'train', whose first node is train-1, in a test, after cluster.sh (bash). With ticks.sh.
#     scaling OPTION…        the market's clock goes on by itself; `scale` and `loop` have these options, too
#     scale OPTION…          the command; loop: it stays, and $LOG has what it says; loop_end SIGNAL
#     says REGEX, sayings REGEX     whether, and in how many lines, it said that
#     lives, one_lives, alone       how many bought nodes live; one; none, nor is one a member of the cluster
. "$SRC/tests/lib/ticks.sh"

scaling() {
	LOG=$TMP/loop.log LOOP='' SCALING=("$@")
	: >"$LOG"
	market_ticks
	at_exit scaling_end
}
scaling_end() { market_ticks_end; loop_end KILL; }
scale() { "$NANOPOD" autoscale train --every 1s --ssh-key "$TMP/buyer.pub" "${SCALING[@]}" "$@" "${CLUSTER_WAY[@]}"; }
loop() { (exec >>"$LOG" 2>&1 </dev/null; exec "$NANOPOD" autoscale train --every 1s --ssh-key "$TMP/buyer.pub" "${SCALING[@]}" "${CLUSTER_WAY[@]}") & LOOP=$!; }
loop_end() { [ -z "$LOOP" ] || { kill "-$1" "$LOOP" 2>/dev/null; wait "$LOOP" 2>/dev/null; LOOP=''; }; }
says() { grep -qE "$1" "$LOG"; }
sayings() { grep -cE "$1" "$LOG"; }
lives() { "$NANOPOD" nodes -q 2>/dev/null | grep -c '^train-auto-'; }
one_lives() { [ "$(lives)" = 1 ]; }
alone() { [ "$(lives)" = 0 ] && [ "$(cat "${XDG_STATE_HOME:-$HOME/.local/state}/nanopod/clusters/train/members")" = train-1 ]; }
