# SPDX-License-Identifier: Apache-2.0
# A stand-in for a policy server, after tap.sh: policy_serve starts it on $TMP/opa.sock with the process id $policy_server;
# policy_mode TEXT says how it answers (policyserver.py), policy_asked how often it was asked: $TMP/asked has the questions.

policy_mode() { printf '%s' "$1" >"$TMP/mode.new" && mv "$TMP/mode.new" "$TMP/mode"; }
policy_asked() { wc -l <"$TMP/asked"; }
policy_serve() {
	rm -f "$TMP/opa.sock"
	python3 "$SRC/tests/daemon/policyserver.py" "$TMP/opa.sock" "$TMP/mode" "$TMP/asked" >"$TMP/served" 2>"$TMP/served.err" &
	policy_server=$!
	wait_for 20 grep -q ready "$TMP/served" && return
	fail "the stand-in starts"
	diag "$(cat "$TMP/served.err")"
	done_testing
}
at_exit 'kill $policy_server 2>/dev/null'
: >"$TMP/asked"
