#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Requests that wait for an issuer of identities which hangs: strangers have places of their own, and not all of them. Codes
# that are none keep nobody at another address from signing in, and do not all come to the issuer.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need python3

cat >"$TMP/hang.py" <<'END'
import socket
s = socket.create_server(('127.0.0.1', 0))
print(s.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(s.accept())
END
python3 "$TMP/hang.py" >"$TMP/port" 2>/dev/null &
hang_pid=$!
hang_stop() { kill "$hang_pid" 2>/dev/null; }
at_exit hang_stop
wait_for 30 test -s "$TMP/port" || done_testing
marketd_start --oidc-issuer "http://127.0.0.1:$(cat "$TMP/port")" --oidc-client-id nanopod || done_testing
marketd_account acme 1.00
python3 "$SRC/tests/daemon/waiting.py" "$NANOPOD_URL" "$(marketd_token acme)" >"$TMP/out" 2>"$TMP/err" || diag "$(cat "$TMP/err")"
is "$(sed -n 's/^one address: //p' "$TMP/out")" 422 "one address gets sixteen places"
is "$(sed -n 's/^all strangers: //p' "$TMP/out")" 422 "strangers of many addresses get half of all"
is "$(sed -n 's/^a customer: //p' "$TMP/out")" 200 "a customer finds one meanwhile"
is "$(sed -n 's/^waiting and answered: //p' "$TMP/out")" 0 "while all those wait"
marketd_stop

python3 "$SRC/tests/daemon/waitingcodes.py" issuer >"$TMP/codes.port" 2>"$TMP/codes.err" &
codes_pid=$!
codes_stop() { kill "$codes_pid" 2>/dev/null; }
at_exit codes_stop
wait_for 30 test -s "$TMP/codes.port" || done_testing
issuer=http://127.0.0.1:$(cat "$TMP/codes.port")
marketd_start --oidc-issuer "$issuer" --oidc-client-id nanopod || done_testing
python3 "$SRC/tests/daemon/waitingcodes.py" "$NANOPOD_URL" "$issuer" >"$TMP/out" 2>"$TMP/err" || diag "$(cat "$TMP/err")"
is "$(sed -n 's/^third: //p' "$TMP/out")" 401 "while two addresses send codes that hang, a third one's comes to the issuer"
is "$(sed -n 's/^at once: //p' "$TMP/out")" 24 "four of each address wait, the others are refused at once"
is "$(sed -n 's/^failures: //p' "$TMP/out")" refused "from an address that fails too often no code comes to the issuer"
is "$(sed -n 's/^another: //p' "$TMP/out")" 401 "while another's does"
done_testing
