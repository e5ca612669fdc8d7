# SPDX-License-Identifier: Apache-2.0
# A market whose clock goes on by itself in a test, after cluster.sh (bash): twice as fast as it is, so that a busy machine does
# not outlive what it bought, and it jumps where the test says so. The market's minutes begin when they would.
#     market_ticks           begins; market_ticks_end
#     market_jump TIME       returns when it is that late; market_minute: when the next minute has begun
market_ticks() { ticks_go 2>/dev/null & TICKS=$!; }
market_ticks_end() { kill "$TICKS" 2>/dev/null; }
ticks_go() {
	local at to=''
	while at=$(cat "$TMP/clock"); do
		at=$((at + 1))
		[ ! -e "$TMP/jump" ] || { to=$(cat "$TMP/jump"); at=$((to > at ? to : at)); }
		agentd_time $at
		curl -sS --max-time 20 --unix-socket "$MARKETD_SOCKET" -H 'Content-Type: application/json' -d "{\"at\":$at}" \
			http://localhost/np/v1/admin/clock >/dev/null 2>&1
		[ -z "$to" ] || [ "$at" -lt "$to" ] || rm -f "$TMP/jump"
		to=''
		sleep 0.5
	done
}
market_jump() { echo "$1" >"$TMP/.jump" && mv "$TMP/.jump" "$TMP/jump"; wait_for 60 test ! -e "$TMP/jump"; }
market_minute() { market_jump $(($(cat "$TMP/clock") / 60 * 60 + 60)); }
