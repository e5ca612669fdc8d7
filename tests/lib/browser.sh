# SPDX-License-Identifier: Apache-2.0
# The market's page in Debian's Chromium, after tap.sh and marketd.sh:
#     browser_start SCRIPT [ARG…]  runs tests/daemon/SCRIPT in the background: $BROWSER_PID
#     browser_end                  waits for it; its lines "ok TEXT" and "not ok TEXT" are tests
# playwright-core, which drives it, and axe-core are fetched for the test and no part of this program; $BROWSER_ROOT may
# name a folder that has them. tests/lib/browser.mjs is what scripts share. The page is at localhost: of pages without TLS
# a browser keeps the cookies of those alone.
need node npm jq chromium

if [ ! -d "${BROWSER_ROOT-}/node_modules/playwright-core" ]; then
	BROWSER_ROOT=$TMP/npm
	mkdir -p "$BROWSER_ROOT" && printf '{"private":true}\n' >"$BROWSER_ROOT/package.json"
	(cd "$BROWSER_ROOT" && timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts \
		playwright-core@1.65.1 axe-core@4.14.1 >"$TMP/npm.log" 2>&1) ||
		skip_all "playwright-core cannot be fetched: $(grep -i error "$TMP/npm.log" | head -n 1 | tr -d '#')"
fi
export BROWSER_ROOT BROWSER_PROGRAM BROWSER_SOCKET=$MARKETD_SOCKET
BROWSER_PROGRAM=$(command -v chromium)
BROWSER_PID=''

browser_start() {
	browser_script=$1
	shift
	PAGE_URL=http://localhost:${NANOPOD_URL##*:} timeout -k 5 540 node "$SRC/tests/daemon/$browser_script" "$@" \
		>"$TMP/browser.out" 2>"$TMP/browser.err" </dev/null &
	BROWSER_PID=$!
}

browser_end() {
	wait "$BROWSER_PID" || fail "$browser_script runs: $(head -c 1000 "$TMP/browser.err" | tr '\n' ' ')"
	BROWSER_PID=''
	while read -r browser_line; do
		case $browser_line in
		ok\ *) pass "${browser_line#ok }" ;;
		not\ ok\ *) fail "${browser_line#not ok }" ;;
		*) diag "$browser_line" ;;
		esac
	done <"$TMP/browser.out"
}
at_exit '[ -z "$BROWSER_PID" ] || kill "$BROWSER_PID" 2>/dev/null'
