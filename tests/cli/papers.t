#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --pdf of nanopod invoice and statement: read back with pdftotext, both are what the JSON says, to the micro-dollar.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
need python3 pdftotext
cd "$TMP" || exit 99
trade_start 2
operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":5000}' >/dev/null
SOCKET=unix:$MARKETD_SOCKET
LONG=$(printf 'Größe 測試 Łódź Ωμέγα Пример %s' 'a reason that is so long that no line of the page has room for all of its words, and goes on below')
run_is 0 "(two nodes for twenty hours)" "$NANOPOD" buy -t richmond -n 2 -d 20h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
clock $((NOW + 10 * HOUR))
as "$ACME" POST /np/v1/pools/train/release '{}' >/dev/null
clock $((NOW + 24 * HOUR))
run_is 0 "(refunds, a line each)" sh -c 'i=0; while [ $i -lt 60 ]; do
	NANOPOD_URL='"$SOCKET"' "$0" admin refund acme train 1.00$((i + 100))7 --reason "ticket $((i + 100))" >/dev/null || exit; i=$((i + 1)); done' "$NANOPOD"
NANOPOD_URL=$SOCKET run_is 0 "(one with a long reason)" "$NANOPOD" admin refund acme train 5.5 --reason "$LONG"
clock $((NOW + 20 * 24 * HOUR))

cat >compare.py <<'END'
import json, re, subprocess, sys
what, pdf, doc = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
pages = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True).stdout.decode().split("\f")[:-1]
money = r"-?\$[\d,]+\.\d+"
def micros(text):
    whole, part = text.replace("$", "").replace(",", "").lstrip("-").split(".")
    return (-1 if text.startswith("-") else 1) * (int(whole) * 10**6 + int(part.ljust(6, "0")))
rows, texts, carried, running, tables, bad = [], [], None, 0, 0, []
for n, page in enumerate(pages):
    if f"Page {n + 1} of {len(pages)}" not in page:
        bad.append(f"page {n + 1} has no number")
    if doc["number"] not in page:
        bad.append(f"page {n + 1} does not say of what it is")
    body = False
    for line in page.splitlines():
        if re.match(r" *(Item +Hours|Date +Entry) +Amount", line):
            body = True
            continue
        found = re.match(r" *(.*?) +(" + money + ")$", line)
        if found and found[1].strip() in ("Carried forward", "Brought forward"):
            if micros(found[2]) != (running if what == "invoice" else rows[-1][2]):
                bad.append(f"page {n + 1}: {found[1]} {found[2]} is not the sum")
            carried = carried + 1 if carried else 1
            continue
        if not body:
            continue
        if what == "invoice" and found:
            rows.append(micros(found[2]))
            running += rows[-1]
            texts.append(found[1])
        elif what == "statement":
            found = re.match(r" *(\d{4}-\d\d-\d\d) +(.*?) +(?:(" + money + ") +)?(" + money + ")$", line)
            if found:
                rows.append((found[2], micros(found[3]) if found[3] else None, micros(found[4])))
                texts.append(found[2])
        if not found and texts and line.strip() and "Page" not in line:
            texts[-1] += " " + line.strip()
    tables += body
    if not body and re.search(r"^ *\d{4}-\d\d-\d\d .*\$|^ *Refund: ", page, re.M):
        bad.append(f"page {n + 1} has no heads of columns")
if what == "invoice":
    total = rows.pop()
    wants = [x["amount_micros"] for x in doc["lines"]]
    if total != doc["total_micros"] or sum(rows) != total:
        bad.append(f"total {total}, JSON says {doc['total_micros']}, lines add up to {sum(rows)}")
    if rows != wants:
        bad.append(f"{len(rows)} lines, the JSON has {len(wants)}, or other amounts")
    reasons = [x["reason"] for x in doc["lines"] if x["reason"]]
else:
    wants = [doc["opening_micros"]] + [x["balance_micros"] for x in doc["entries"]] + [doc["closing_micros"]]
    if [x[2] for x in rows] != wants or [x[1] for x in rows][1:-1] != [x["amount_micros"] for x in doc["entries"]]:
        bad.append("the entries are not those of the JSON")
    reasons = [x["reason"] for x in doc["entries"] if x["reason"]]
squeezed = ["".join(t.split()) for t in texts]
for reason in reasons:
    if not any("".join(reason.split()) in t for t in squeezed):
        bad.append(f"no line says '{reason}'")
if tables < 2 or carried != 2 * (tables - 1):
    bad.append(f"{tables} pages carry {carried} times")
for b in bad[:10]:
    print("#", b)
sys.exit(bool(bad))
END
run_is 0 "an invoice as pages" "$NANOPOD" invoice 2027-01 --pdf invoice.pdf
is "$out" "" "it goes into the file, and nothing else is said"
"$NANOPOD" invoice 2027-01 -o json >invoice.json
ok "has the lines and the total of the JSON, to the micro-dollar, and carries sums from page to page" python3 compare.py invoice invoice.pdf invoice.json
"$NANOPOD" invoice 2027-01 --pdf >again.pdf
ok "again, and to standard output, its bytes are the same" cmp invoice.pdf again.pdf
clock $((NOW + 40 * 24 * HOUR))
"$NANOPOD" invoice 2027-01 --pdf --account acme --url "$SOCKET" >later.pdf
ok "later, and for the operator, too" cmp invoice.pdf later.pdf
run_is 0 "a statement as pages" "$NANOPOD" statement 2027-01 --pdf statement.pdf
"$NANOPOD" statement 2027-01 -o json >statement.json
ok "has the entries and balances of the JSON" python3 compare.py statement statement.pdf statement.json
run_is 0 "a month without anything" "$NANOPOD" invoice 2026-12 --pdf empty.pdf
like "$(pdftotext -layout empty.pdf -)" 'Total +\$0\.00' "has a page, too"
run_is 2 "not beside another form" "$NANOPOD" invoice 2027-01 -o json --pdf x.pdf
run_is 2 "nor HTML" "$NANOPOD" invoice 2027-01 --html --pdf x.pdf
run_is 1 "a file that cannot be written" "$NANOPOD" invoice 2027-01 --pdf none/x.pdf
like "$err" "cannot write 'none/x.pdf': No such file or directory" "says why"
(umask 027 && "$NANOPOD" invoice 2027-01 --pdf narrow.pdf)
is "$(stat -c %a narrow.pdf)" 640 "the umask limits who may read a new file"
ln -s narrow.pdf link.pdf && : >narrow.pdf
"$NANOPOD" invoice 2027-01 --pdf link.pdf
ok "a link stays, its target is replaced" sh -c '[ -L link.pdf ] && cmp invoice.pdf narrow.pdf'
mkfifo pipe
cat pipe >piped.pdf &
"$NANOPOD" invoice 2027-01 --pdf pipe
if [ -p pipe ]; then wait $!; else kill $!; fi
ok "a pipe is written to" cmp invoice.pdf piped.pdf
"$NANOPOD" invoice 2027-01 --pdf - >dash.pdf
ok "'-' is standard output" cmp invoice.pdf dash.pdf
"$NANOPOD" invoice --pdf 2027-01 >month.pdf
ok "a month after --pdf is the MONTH" cmp invoice.pdf month.pdf
"$NANOPOD" statement --pdf 2027-01 >month.pdf
ok "of a statement, too" cmp statement.pdf month.pdf
"$NANOPOD" invoice 2027-01 --pdf ./2027-01
ok "a file can have such a name" cmp invoice.pdf 2027-01
ok "and nothing else was written" [ ! -e - ]
if [ -x "$PTY" ]; then
	printf 'size 120 24\n' >script
	"$PTY" script "$NANOPOD" invoice 2027-01 --pdf >terminal 2>&1
	like "$(tr -d '\r' <terminal)" "cannot print a PDF to a terminal; 'nanopod invoice 2027-01 --pdf invoice-2027-01.pdf' writes a file" \
		"a terminal gets no PDF, but what to type"
	"$PTY" script "$NANOPOD" invoice --pdf 2027-01 >terminal 2>&1
	like "$(tr -d '\r' <terminal)" "'nanopod invoice 2027-01 --pdf invoice-2027-01.pdf' writes a file" "nor where MONTH is last"
fi
done_testing
