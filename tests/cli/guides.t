#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the guides of doc/ tell people to type works when it is typed, line by line: doc/renting.md, market.md, selling.md
# and README's picture here; fleets.md in guidefleets.t, clusters.md in tests/provision/guide.t.
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/marketd.sh"
. "$SRC/tests/lib/agentd.sh"
. "$SRC/tests/lib/guide.sh"
need jq ssh-keygen curl
command -v sshd >/dev/null || skip_all "sshd is not installed (Debian: openssh-server)"

# ---- Renting: the local market, with nodes of the driver 'process', which work everywhere --------------------------------
mkdir -m 700 "$HOME/.ssh" "$GUIDE/data"
echo content >"$GUIDE/data/file"
at_exit 'nanopod local reset -y >/dev/null 2>&1'
guide_sed='s/nanopod local start/& --driver process --nodes 2/'
guide_run doc/renting.md
is "$(ls "$GUIDE/received" 2>/dev/null | wc -l)" 2 "(each node's file has come)"
nanopod local reset -y >"$TMP/.reset" 2>&1

# ---- README's picture ------------------------------------------------------------------------------------------------------
rm -rf "$HOME/.config" "$HOME/.local"
cp "$SRC/README.md" "$GUIDE"
guide_sed=''
guide_run doc/terminal.session
is "$(nanopod run -r first -- 'cat README.md' | sed 's/^first-[01]: //' | sort -u | cmp - <(sort -u "$SRC/README.md") 2>&1)" "" \
	"(each of its nodes got the file)"
nanopod local reset -y >"$TMP/.reset" 2>&1

# ---- A market --------------------------------------------------------------------------------------------------------------
rm -rf "$HOME/.config" "$HOME/.local"
mkdir "$TMP/market"
guide_sed="s,/var/lib/nanopod,$TMP/market/data,; s,/run/nanopod.sock,$TMP/market/socket,; s/127.0.0.1:8080/127.0.0.1:0/"
guide_run doc/market.md
MARKET=$(sed -n 's/.*ready \(http:[^ ]*\).*/\1/p' "$TMP/guide-daemon.1")

# ---- A machine that sells on it ---------------------------------------------------------------------------------------------
NANOPOD_TOKEN=$(nanopod admin token foundry owner --scope read,trade,nodes,tokens,host -o json | jq -r '.[0].token')
NANOPOD_URL=$MARKET
export NANOPOD_TOKEN NANOPOD_URL
# The market's address is its own here; so are the agent's folder and, without a terminal, the token.
cat >"$TMP/selling.sed" <<END
s,^nanopod-agentd\$,& --data $TMP/agent --driver process,
s,^nanopod host token.*,& -o json >token,
s,^nanopod host join [^ ]*,NANOPOD_JOIN_TOKEN=\$(jq -r '.[0].token' token) nanopod host join $MARKET --name rack1,
s,nanopod host \(join\|verify\|status\|drivers\|inventory\|power show\),& --data $TMP/agent,
END
guide_sed=$(cat "$TMP/selling.sed")
guide_run doc/selling.md
done_testing
