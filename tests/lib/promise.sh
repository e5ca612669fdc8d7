# SPDX-License-Identifier: Apache-2.0
# Promises in the work document, after agentd.sh: a program between market and agent writes them into it.
#     promise_begin          agents that join from now on talk to the market through it
#     promise MEMBERS        from now on all hosts and nodes have "resources": {MEMBERS}; '': none

promise_begin() {
	: >"$TMP/promises"; : >"$TMP/promises.log"; : >"$TMP/promises.port"
	"$BUILD/tests/lib/between" "$TMP/promises.port" "${NANOPOD_URL##*:}" "$TMP/promises" "$TMP/promises.log" &
	at_exit "kill $! 2>/dev/null"
	wait_for 10 test -s "$TMP/promises.port" || exit 1
	AGENTD_URL=http://127.0.0.1:$(cat "$TMP/promises.port")
}

promise() {
	printf 'swap="type":"cpu",%s GET /np/v1/agent/work\n' "\"type\":\"cpu\"${1:+,\"resources\":{$1\}}" >"$TMP/promises.new"
	mv "$TMP/promises.new" "$TMP/promises"
}
