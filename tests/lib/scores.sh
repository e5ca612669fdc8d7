# SPDX-License-Identifier: Apache-2.0
# Who scores addresses, after tap.sh: scores_start fetches npm's ethers and siwe to $PERSON_ROOT, starts the stand-in of
# tests/daemon/personhood.mjs at $SCORES_URL, which answers as the file $PERSON_MODE says and tells $TMP/server.log, and
# writes its key to $TMP/key; person WHAT… asks that script for a wallet.
need node npm
export PERSON_ROOT=$TMP/persons HOME=$TMP/home PERSON_MODE=$TMP/mode

person() { node "$SRC/tests/daemon/personhood.mjs" "$@"; }
scores_ready() { SCORES_URL=$(sed -n 's/^ready //p' "$TMP/server.log") && [ -n "$SCORES_URL" ]; }
scores_stop() { kill "$scores_pid" 2>/dev/null; wait "$scores_pid" 2>/dev/null; }
scores_start() {
	mkdir -p "$PERSON_ROOT" "$HOME" && printf '{"private":true}\n' >"$PERSON_ROOT/package.json"
	(cd "$PERSON_ROOT" && timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts \
		ethers@6.17.0 siwe@3.0.0 >"$TMP/npm.log" 2>&1) ||
		skip_all "ethers and siwe cannot be fetched: $(grep -i error "$TMP/npm.log" | head -n 1 | tr -d '#')"
	printf 'score 33.53800\n' >"$PERSON_MODE"
	printf 'key-of-the-market\n' >"$TMP/key"
	chmod 600 "$TMP/key"
	person serve >"$TMP/server.log" 2>&1 </dev/null &
	scores_pid=$!
	at_exit scores_stop
	wait_for 60 scores_ready || { diag "$(cat "$TMP/server.log")"; skip_all "the stand-in does not start"; }
}
