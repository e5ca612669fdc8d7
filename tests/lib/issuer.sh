# SPDX-License-Identifier: Apache-2.0
# An issuer of identities that nobody here wrote, npm's oidc-provider, after tap.sh. It is fetched for the test and is no
# part of this program; where it cannot be fetched, the test says so.
need node npm jq

ISSUER=oidc-provider@9.13.3
export ISSUER_ROOT=$TMP/npm HOME=$TMP/home
mkdir -p "$ISSUER_ROOT" "$HOME" && printf '{"private":true}\n' >"$ISSUER_ROOT/package.json"
(cd "$ISSUER_ROOT" && timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts "$ISSUER" >"$TMP/npm.log" 2>&1) ||
	skip_all "'$ISSUER' cannot be fetched: $(grep -i error "$TMP/npm.log" | head -n 1 | tr -d '#')"

issuer_begin() {
	: >"$TMP/issuer.log"
	KEYS=$TMP/$issuer_keys ISSUER_PORT=${issuer_port:-0} node "$SRC/tests/daemon/issuer.mjs" >"$TMP/issuer.log" 2>&1 </dev/null &
	issuer_pid=$!
}
# A connection of another test may have come from its port meanwhile: then it is begun again.
issuer_ready() {
	sed -n 's/^ready //p' "$TMP/issuer.log" >"$TMP/issuer.url"
	[ ! -s "$TMP/issuer.url" ] || return 0
	! grep -q EADDRINUSE "$TMP/issuer.log" || { issuer_stop; issuer_begin; }
	return 1
}

# issuer_start KEYS: on the same port as before.
issuer_start() {
	issuer_keys=$1
	issuer_begin
	wait_for 100 issuer_ready || { diag "$(cat "$TMP/issuer.log")"; skip_all "the issuer does not start"; }
	issuer_url=$(cat "$TMP/issuer.url")
	issuer_port=${issuer_url##*:}
}
issuer_stop() {
	[ -n "${issuer_pid:-}" ] || return 0
	kill -9 "$issuer_pid" 2>/dev/null
	wait "$issuer_pid" 2>/dev/null
	issuer_pid=
}
at_exit issuer_stop
