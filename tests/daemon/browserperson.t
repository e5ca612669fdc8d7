#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A person proves an address on the market's page in Chromium, with the wallet of the browser: npm's ethers behind the
# interface that wallets give to pages (EIP-1193). The server of scores is a stand-in, as in personhood.t.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/browser.sh"
. "$(dirname "$0")/../lib/scores.sh"

scores_start
mkdir -p "$TMP/shots"
v2_start --rate 0 --passport-key-file "$TMP/key" --passport-scorer 4711 --passport-url "$SCORES_URL" \
	--public-url https://market.example.org
operator POST "/np/v1/accounts/acme/tokens" '{"name":"viewer","scopes":["read"]}' >"$TMP/viewer"
export BUYER=$ACME VIEWER
VIEWER=$(json .token <"$TMP/viewer")
browser_start browserperson.mjs
browser_end
done_testing
