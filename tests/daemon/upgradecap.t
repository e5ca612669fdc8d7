#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A market that a marketd ended which knew no caps: fixtures/market/form12.sql is what that program left at $NOW, with a snapshot of
# its form: a lease and a standing buy of acme's, bought with a token called test.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need sqlite3

mkdir -m 700 "$MARKETD_DATA"
sqlite3 "$MARKETD_DATA/market.db" <"$SRC/tests/fixtures/market/form12.sql"
chmod 600 "$MARKETD_DATA/market.db"
run_is 0 "it is migrated" "$MARKETD" migrate --data "$MARKETD_DATA"
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$NOW || exit 1
tokens() { operator GET '/np/v1/tokens?account=acme' | jq -c '[.data[] | [.name, .spent_dollars, .cap_dollars]]'; }
mkdir -p "$HOME/.ssh"
echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me' >"$HOME/.ssh/id_ed25519.pub"
is "$(tokens)" '[["test","0.000000",null]]' "what was bought before counts for nobody"
NANOPOD_TOKEN=$(operator POST /np/v1/accounts/acme/tokens '{"name":"new","scopes":["read","trade","nodes"],"cap_dollars":"20.000000"}' | json .token)
export NANOPOD_TOKEN
run_is 0 "a lease of then is given back" "$NANOPOD" release old -y
run_is 7 "a new token has a cap" "$NANOPOD" buy -t richmond -d 2h -p 2.10 -y --no-wait --no-instances --name two
like "$err" "may spend .20.00 a month, has spent .0.00" "of which nothing is spent"
run_is 0 "and buys up to that" "$NANOPOD" buy -t richmond -d 1h -p 2.10 -y --no-wait --no-instances --name one
clock $((NOW + 3 * HOUR))
want='[["test","0.000000",null],["new","14.400000","20.000000"]]'
is "$(tokens)" "$want" "a standing buy of then ends without counting"
marketd_kill
ok "check finds nothing wrong with what came of it" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + 3 * HOUR)) || exit 1
is "$(tokens)" "$want" "it opens again, from the journal"
marketd_stop
marketd_start --test-clock=$((NOW + 3 * HOUR)) || exit 1
is "$(tokens)" "$want" "and from a snapshot of the present form"
done_testing
