#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What people see on terminals of 40, 80, 120 and 200 columns, compared as text with tests/fixtures/screens.
# SCREENS=write writes those anew: read them before you commit them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
SCREENS_DIR=$SRC/tests/fixtures/screens
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
trade_start 3
cd "$TMP" || exit 99

# screen COLUMNS COMMAND…: what it shows on a terminal of so many columns, with ids and hashes made alike, in ./screen;
# without lines that it erased again: a busy machine sees how far it is, and for what it waits.
screen() {
	printf 'size %s 24\nsend go\\n\n' "$1" >script
	shift
	"$PTY" script sh -c 'stty -echo; read go; exec "$@"' sh "$@" >raw 2>pty.err
	erased <raw | sed -e 's/\(ordr\|pool\|inst\|tok\|acct\|hsku\|sku\)_[0-9a-z]*/\1_xxxxxxxxxxxxx/g' \
		-e '/^true /{:a;s/\([0-9]-[0-9]* x*\)[0-9a-f]/\1x/;ta;}' | sed '1{/^go$/d;}' >screen
}
# shows NAME COLUMNS COMMAND…: compares it with the text of that name.
shows() {
	name=$1 columns=$2
	shift 2
	screen "$columns" "$@"
	[ "${SCREENS-}" != write ] || cp screen "$SCREENS_DIR/$name-$columns"
	ok "$name at $columns columns" diff "$SCREENS_DIR/$name-$columns" screen
}
# fits NAME COMMAND…: no line is wider than the screen, and each word is one of a wide screen, or without a terminal.
# For texts that change often, or that hold paths.
fits() {
	name=$1
	shift
	screen 200 "$@"
	"$@" 2>&1 | cat - screen | tr -s ' ' '\n' | sort -u >words
	for columns in 40 80 120 200; do
		screen $columns "$@"
		is "$(wider screen $columns)" "" "$name at $columns columns: no line is wider"
		sed '/^nanopod: no room/,$d' screen | tr -s ' ' '\n' | grep -v -e '[.][.][.]$' -e "^$columns\$" -e '^mend:$' | sort -u | comm -23 - words >broken
		is "$(tr '\n' ' ' <broken)" "" "$name at $columns columns: no word is broken"
	done
}
# wider FILE COLUMNS: its name, where a line takes more cells of a terminal.
wider() {
	widest=$(LC_ALL=C.UTF-8 wc -L <"$1")
	[ "$widest" -le "$2" ] || echo "${1##*/}: $widest"
}
# at_all NAME COMMAND…: at all four widths.
at_all() {
	at_name=$1
	shift
	for wide in 40 80 120 200; do
		shows "$at_name" $wide "$@"
	done
}
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
np buy -t richmond -n 2 -d 24h -p 2.10 -y --name day >bought 2>&1 || diag "$(cat bought)"
np buy -t richmond -d 1h -s +48h -p 2.10 -y --name far --no-instances >bought 2>&1 || diag "$(cat bought)"
np sell day -n 1 --last 2h -p 3.00 -y >sold 2>&1 || diag "$(cat sold)"
clock $((NOW + 120))

# ---- At every width ----
at_all orders "$NANOPOD" orders -a
at_all reservations "$NANOPOD" ls
at_all nodes "$NANOPOD" nodes
at_all stacks "$NANOPOD" provision stacks
at_all show "$NANOPOD" show day
at_all plan "$NANOPOD" extend day -d 24h -p 2 --dry-run
at_all error "$NANOPOD" -w n1 uptime
at_all help "$NANOPOD" help
at_all types "$NANOPOD" types
at_all price "$NANOPOD" price
at_all price-day "$NANOPOD" price -t richmond -n 2 -d 24h
at_all buy "$NANOPOD" buy -t richmond -d 24h -p 2.10 --name more --dry-run
at_all buy-dear "$NANOPOD" buy -t richmond -n 2 -d 24h -p 2.10 --name more --dry-run
at_all sell "$NANOPOD" sell day -n 1 --last 2h -p 3.00 --dry-run
at_all release "$NANOPOD" release day -n 1 --dry-run
at_all balance "$NANOPOD" balance
at_all burn "$NANOPOD" burn
at_all ledger "$NANOPOD" ledger
np ledger verify >verified 2>&1 || diag "$(cat verified)"
at_all ledger-verify "$NANOPOD" ledger verify
at_all token "$NANOPOD" token list
capped=$("$NANOPOD" token create ci --cap 20/month -q)
shows overcap 80 env NANOPOD_TOKEN="$capped" "$NANOPOD" buy -t richmond -d 2h -p 2.10 -y --no-wait --no-instances --name over
at_all events "$NANOPOD" events
at_all overview env -u NANOPOD_TOKEN "NANOPOD_URL=unix:$MARKETD_SOCKET" "$NANOPOD" admin overview
at_all failures "$NANOPOD" run -w '127.0.0.[1-3],127.0.1.[1-3,7],127.0.2.[5-9]' --port 1 -- true
fits "help run" "$NANOPOD" help run
fits doctor "$NANOPOD" doctor
for columns in 40 60 80 120; do
	screen $columns "$NANOPOD" doctor
	like "$(cat screen)" ' ssh-keygen -t ed25519$' "doctor at $columns columns: each command that mends is there"
	unlike "$(cat screen)" 'no room for.*MEND' "and is not said to have no room"
done
screen 40 "$NANOPOD" doctor
like "$(cat screen)" '^  mend: ssh-keygen -t ed25519$' "where the column has no room, on a line of its own"

wide=$(for at in "$SCREENS_DIR"/*; do wider "$at" "${at##*-}"; done)
is "$wide" "" "no line is wider than its terminal"

# ---- What a narrow terminal leaves out ----
printf 'size 80 24\nsend go\\n\n' >script
narrow() { "$PTY" script sh -c 'stty -echo; read go; exec "$@"' sh "$@" 2>/dev/null | erased | sed '1{/^go$/d;}'; }
full=$(np orders -a -o wide | head -n 1 | tr -s ' ')
is "$(narrow "$NANOPOD" orders -a -o wide | head -n 1 | tr -s ' ')" "$full" "-o wide shows every column"
is "$(narrow "$NANOPOD" orders -a --fields order,start,end,limit,paid,total | head -n 1 | tr -s ' ')" \
	"ORDER START END LIMIT PAID TOTAL" "--fields shows the columns that it names"
is "$(np orders -a 2>/dev/null | head -n 1 | tr -s ' ')" \
	"ORDER SIDE STATUS RESERVATION TYPE NODES FILLED START END LIMIT PAID" "where no terminal reads it, none is left out"

# ---- Colours ----
export TERM=xterm
like "$(narrow "$NANOPOD" ls | tr '\033' '^')" '\^\[32mrunning\^\[0m' "a state has its colour"
like "$(narrow "$NANOPOD" ls | tr '\033' '^')" '\^\[33mpending\^\[0m' "each its own"
like "$(narrow "$NANOPOD" extend day -d 24h -p 2 --dry-run | tr '\033' '^')" '\^\[1m  total .*\^\[0m' "a plan's total is bold"
unlike "$(NO_COLOR=1 narrow "$NANOPOD" ls | tr '\033' '^')" '\^\[' "NO_COLOR: none"
unlike "$(narrow "$NANOPOD" ls --no-color | tr '\033' '^')" '\^\[' "--no-color: none"
unlike "$(TERM=dumb narrow "$NANOPOD" ls | tr '\033' '^')" '\^\[' "a dumb terminal: none"
unlike "$(narrow sh -c '"$1" ls | cat' sh "$NANOPOD" | tr '\033' '^')" '\^\[' "none where a program reads it"

# Money is what an operator looks for: names may be long, and ids and floors go first.
marketd_account the-research-department-of-the-university-of-examples 99999999.99
screen 80 env NANOPOD_URL="unix:$MARKETD_SOCKET" NANOPOD_TOKEN= "$NANOPOD" admin account list
like "$(cat screen)" ' [$]99,999,999[.]99 ' "accounts at 80 columns: what they have is there"
done_testing
