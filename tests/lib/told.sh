# SPDX-License-Identifier: Apache-2.0
# told NAME JSON TEXT: an answer is whole as the market's own document (/openapi.json) says. After tap.sh and marketd.sh.
[ -x "$BUILD/tests/daemon/fits" ] || skip_all "tests/daemon/fits is not built"
told() {
	[ -s "$TMP/openapi.json" ] || curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
	is "$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1)" "" "$3"
}
