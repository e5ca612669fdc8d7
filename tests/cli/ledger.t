#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod ledger: verify compares the statement with itself, and with what was verified before.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need python3
trade_start 2
ledger() { "$NANOPOD" ledger "$@"; }

run_is 0 "ledger" ledger
like "$out" 'available +\$100,000\.00 +\$100,000\.00' "the first posting"
as "$ACME" POST /v2/pools '{"name":"p","workspace":"default"}' >/dev/null
as "$ACME" POST /v2/orders "{\"pool\":\"sfc:pool:acme:default:p\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 3660)),\"node_count\":2}],\"limit_price_dollars_per_node_hour\":\"14.400000\"}" >"$TMP/order"
is "$(jq -r .status <"$TMP/order")" filled "(two nodes for an hour are bought)"
run_is 0 "ledger list" ledger list -o json
is "$(printf '%s' "$out" | jq -r '[.[] | select(.book == "escrow")] | map(.amount_units) | add')" 28800000 "what was paid is in escrow"
printf '%s' "$out" | jq -e 'group_by(.asset + " " + .book + " " + .owner) | all(.[]; (map(.amount_units) | add) == .[-1].balance_units)' >/dev/null
is $? 0 "and every balance is the sum of its amounts"

run_is 0 "ledger verify" ledger verify -o json
rows=$(printf '%s' "$out" | jq '.[0].rows')
ok "has gone over all rows" test "$rows" -ge 3
is "$(printf '%s' "$out" | jq -r '.[0].since_last_time')" first "for the first time"
run_is 0 "again, after more has happened" ledger verify -o json
is "$(printf '%s' "$out" | jq -r '.[0].since_last_time')" unchanged "what was there is as it was"
head=$(find "$HOME/.local/state/nanopod/ledger" -type f)
is "$(stat -c %a "$head")" 600 "the head is kept for this person alone"

# A market that lies: a stand-in at the same URL serves its answer with one change.
as "$ACME" GET '/np/v1/ledger?limit=1000' >"$TMP/true"
as "$ACME" GET /np/v1/whoami >"$TMP/whoami"
as "$ACME" GET /np/v1 >"$TMP/about"
cat >"$TMP/liar.py" <<'PY'
import http.server, sys
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = "told" if self.path.startswith("/np/v1/ledger") else "whoami" if self.path.endswith("whoami") else "about"
        body = open(sys.argv[1] + "/" + name, "rb").read()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a):
        pass
s = http.server.HTTPServer(("127.0.0.1", 0), Liar)
open(sys.argv[1] + "/liar.port", "w").write(str(s.server_address[1]))
s.serve_forever()
PY
python3 "$TMP/liar.py" "$TMP" & liar=$!
at_exit "kill $liar 2>/dev/null"
wait_for 20 test -s "$TMP/liar.port"
NANOPOD_URL=http://127.0.0.1:$(cat "$TMP/liar.port")
tell() { jq -c "$1" "$TMP/true" >"$TMP/told"; }
tell .
run_is 0 "(the truth holds)" ledger verify
tell '.data[1].amount = "1" '
run_is 11 "an amount that was changed" ledger verify
second=$(jq -r '.data[1] | "\(.seq)-\(.n)"' "$TMP/true")
like "$err" "row $second does not match the chain" "is found where it is"
tell 'del(.data[1])'
run_is 11 "a row that was taken out" ledger verify
tell '.data |= [.[0], .[0]] + .[1:]'
run_is 11 "a row that is there twice" ledger verify
tell '.data |= reverse'
run_is 11 "another order" ledger verify
tell '.data[0].subject = "77"'
run_is 11 "a posting made to be for something else" ledger verify -o json
is "$(printf '%s' "$err" | jq -r .error.code)" check_failed "with its code"
# Cut short: every hash is right, but a verified row is gone.
tell 'del(.data[-1])'
run_is 11 "a statement that was cut short" ledger verify
like "$err" 'was verified before, is gone' "is not what it was"
# Rewritten from one row on, with right hashes: only what the last run kept can tell.
cat >"$TMP/forge.py" <<'PY'
import hashlib, json, sys
d = json.load(open(sys.argv[1])); chain = bytes(32); balances = {}
d["data"][0]["amount"] = type(d["data"][0]["amount"])(int(d["data"][0]["amount"]) - 5)
for r in d["data"]:
    key = (r["owner"], r["book"], r["asset"])
    balances[key] = balances.get(key, 0) + int(r["amount"])
    r["balance"] = type(r["balance"])(balances[key])
    text = " ".join(str(r[k]) for k in ("seq", "n", "at", "transfer", "owner", "book", "asset", "amount", "balance", "subject")) + "\n"
    chain = hashlib.sha256(chain + text.encode()).digest()
    r["chain"] = chain.hex()
json.dump(d, open(sys.argv[2], "w"))
PY
python3 "$TMP/forge.py" "$TMP/true" "$TMP/told"
run_is 11 "a ledger that was written anew" ledger verify
like "$err" 'differs from the last verification' "is not the one of the last time"
rm "$(find "$HOME/.local/state/nanopod/ledger" -type f -name '*127.0.0.1*'"$(cat "$TMP/liar.port")"'*')"
run_is 0 "(by itself it holds: it takes the memory to see it)" ledger verify
printf '{"data":[{"seq":"1"}]}' >"$TMP/told"
run_is 1 "an answer that is no ledger" ledger verify
like "$err" "'n' is missing" "is named"
printf '{"data":[],"has_more":true,"cursor":"1-1"}' >"$TMP/told"
run_is 1 "pages that go round in circles" ledger list
like "$err" 'repeats itself' "end"
done_testing
