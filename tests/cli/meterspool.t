#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod admin meter --from-file: what a gateway counted, to Lago (a stand-in: tests/lib/lago.py says what it is) and to a
# file, each event once, while the file grows by halves of lines and turns, the receiver fails and nanopod is killed. FAULTS=1000
# tries more. tests/daemon/gateway.t has a real gateway's file.
. "$(dirname "$0")/../lib/tap.sh"
need python3 jq curl
cd "$TMP" || exit 99
cat >event.py <<'END_PY'
import json, os, random, sys, time


def event(n):
    account, backend = ["acct_a", "acct_b"][n % 2], n % 5
    return json.dumps({"specversion": "1.0", "id": "gw_%06d" % n, "source": "/np/v1/gateway", "type": "batch_tokens",
                       "subject": account, "time": "2027-01-02T00:00:00Z",
                       "data": {"at": 1798848000 + n, "account": account, "account_name": account[5:], "token": "tok_x", "plan": "", "rate": "1",
                                "model": ["llama", "org/small"][n % 3 == 0], "backend": "http://127.0.0.1:1", "endpoint": "chat",
                                "outcome": "done", "counted": "backend" if backend else "estimated", "prompt_tokens": n % 7,
                                "completion_tokens": n % 11, "total_tokens": n % 7 + n % 11}}, separators=(",", ":")) + "\n"


if len(sys.argv) == 3:  # event.py FROM TO
    sys.stdout.writelines(event(n) for n in range(int(sys.argv[1]), int(sys.argv[2])))
else:  # event.py FROM TO PATH TURN: as a gateway does, by halves of lines, and turns PATH after so many
    path, turn, rnd, number = sys.argv[3], int(sys.argv[4]), random.Random(1), 1
    f = open(path, "a")
    for n in range(int(sys.argv[1]), int(sys.argv[2])):
        text = event(n)
        at = rnd.randrange(len(text))
        for part in text[:at], text[at:]:
            f.write(part)
            f.flush()
            time.sleep(0.0005)
        if n % turn == 0:
            g = open(path + ".new", "w")
            while os.path.exists("%s.%d" % (path, number)):
                number += 1
            os.link(path, "%s.%d" % (path, number))
            time.sleep(0.001)
            os.rename(path + ".new", path)
            f = g
END_PY
events() { python3 event.py "$@"; }
meter() { timeout -k 5 100 "$NANOPOD" admin meter --from-file use/spool --state book "$@" </dev/null; }
mkdir use
events 1 8 >use/spool
NANOPOD_URL=http://127.0.0.1:1
export NANOPOD_URL

# ---- A file ------------------------------------------------------------------------------------------------------
run_is 0 "a spool" meter --to file:out
like "$err" "7 events accepted, 7 in all" "is read without a market"
is "$(cat out)" "$(events 1 8)" "as the gateway wrote it"
events 8 10 >more
half=$(($(stat -c %s more) - 9))
head -c $half more >>use/spool
run_is 0 "half a line at its end" meter --to file:out
is "$(cat out)" "$(events 1 9)" "is waited for"
tail -c +$((half + 1)) more >>use/spool
run_is 0 "until it is whole" meter --to file:out
is "$(cat out)" "$(events 1 10)" "and comes once"
cp book kept
events 10 230 >>use/spool
run_is 0 "more than a page" meter --to file:out --batch 100
is "$(cat out)" "$(events 1 230)" "comes page by page"
cp book last
events 230 232 >>use/spool
run_is 0 "killed before it noted what it wrote" meter --to file:out
cp last book
run_is 0 "it looks what is there" meter --to file:out
is "$(cat out)" "$(events 1 232)" "and writes none twice"

# ---- What is not there any more -----------------------------------------------------------------------------------------
cp use/spool whole
head -n 200 whole >use/spool
run_is 2 "a spool that was cut" meter --to file:out
like "$err" "'[^']*/use/spool' was cut or changed before byte [0-9]+, .* new --state FILE" "is refused"
events 232 300 >>use/spool
run_is 2 "and when it has grown again" meter --to file:out
events 300 600 >use/spool
run_is 2 "one that was replaced" meter --to file:out
like "$err" "'[^']*/use/spool' was replaced: .* put it back, or begin again with a new --state FILE" "is refused"
cp kept book
sed '3s/"id"/id/' whole >use/spool
run_is 1 "a line that is no JSON" meter --to file:other --state new
like "$err" "the line at byte [1-9][0-9]+ of '[^']*/use/spool' is no event of a gateway" "is named"
is "$(wc -c <other)" 0 "and nothing of its page is written"
sed '230s/batch_tokens/batch_dreams/' whole >use/spool
run_is 1 "a line that is none of a gateway" meter --to file:other2 --state new2
like "$err" "the line at byte [0-9]+ of '[^']*/use/spool' is no event of a gateway; correct it, or remove it" "is named"
cp whole use/spool
run_is 0 "corrected" meter --to file:other2 --state new2
is "$(cat other2)" "$(cat whole)" "it goes on from there"
cp last book
mv use/spool use/elsewhere
run_is 2 "no file" meter --to file:out
mv use/elsewhere use/spool
is "$(cat out)" "$(events 1 232)" "and nothing was written meanwhile"
run_is 2 "--from" meter --to file:out --from 2027-01-01T00:00Z
run_is 2 "--explain" meter --to file:out --explain
run_is 2 "a check" "$NANOPOD" admin meter check --from-file use/spool --to file:out --state book
like "$err" "compares with the ledger" "is the ledger's"
cp use/spool use/spool2
run_is 1 "another spool, the same book" "$NANOPOD" admin meter --from-file use/spool2 --to file:out --state book

# ---- It turns ----------------------------------------------------------------------------------------------------------
mv use/spool use/spool.9
events 232 240 >use/spool.10
: >use/spool
run_is 0 "a spool that turned twice" meter --to file:out
is "$(cat out)" "$(events 1 240)" "is read on"
rm use/spool.9
events 240 241 >use/spool
run_is 0 "what was read may go" meter --to file:out
is "$(cat out)" "$(events 1 241)" "without a gap"
ln use/spool use/spool.11
events 241 242 >>use/spool
run_is 0 "in the middle of turning" meter --to file:out
is "$(cat out)" "$(events 1 242)" "a file with two names is one"

# ---- Lago that fails in every way, a spool that grows and turns, a sender that is killed -------------------------------------
rm -r use && mkdir use
: >use/spool
echo 300 >faults
python3 "$SRC/tests/lib/lago.py" . l4g0 2>lago.err & sink=$!
at_exit "kill $sink"
wait_for 60 test -s port || { diag "$(cat lago.err)"; fail "(a receiver)"; done_testing; exit; }
TO=lago:http://127.0.0.1:$(cat port)
export NANOPOD_METER_KEY=l4g0
lago() { curl -s "http://127.0.0.1:$(cat port)/state"; }
want=${FAULTS:-150} all=0
while [ "$(lago | jq .count.faults)" -lt "$want" ] && [ $all -lt 20000 ]; do
	python3 event.py $((all + 1)) $((all + 501)) use/spool 90 & writer=$!
	all=$((all + 500))
	until grep -q "^events $all$" lago.book 2>/dev/null; do
		"$NANOPOD" admin meter --from-file use/spool --to "$TO" --state lago.book --watch --every 1ms --batch 2 2>>watch.err </dev/null & pid=$!
		echo $pid >pid.new && mv pid.new pid
		finished() { grep -q "^events $all$" lago.book 2>/dev/null || ! kill -0 $pid 2>/dev/null; }
		wait_for 300 finished || { kill $pid; diag "$(tail -n 3 watch.err)"; fail "(it goes on)"; break 2; }
		kill $pid 2>/dev/null
		wait $pid
	done
	wait $writer
done 2>noise
echo 0 >faults
lago >state
diag "$all events, $(jq -c .count state)"
ok "there were faults" [ "$(jq .count.faults state)" -ge "$want" ]
ok "and kills" [ "$(jq .count.kills state)" -ge $((want / 1000)) ]
ok "and it turned" [ -e use/spool.5 ]
run_is 0 "all of it" "$NANOPOD" admin meter --from-file use/spool --to "$TO" --state lago.book
like "$err" "0 events accepted, $all in all" "was accepted"
is "$(jq -r '.events[].transaction_id' state)" "$(events 1 $((all + 1)) | jq -r .id)" "once each, in the gateway's order"
is "$(jq -r '.events[] | "\(.code) \(.timestamp) \(.external_subscription_id) \(.properties.account) \(.properties.model) \(.properties.prompt_tokens) \(.properties.completion_tokens) \(.properties.total_tokens) \(.properties.estimated)"' state)" \
	"$(events 1 $((all + 1)) | jq -r '.data | "batch_tokens \(.at) \(.account):tokens \(.account) \(.model) \(.prompt_tokens) \(.completion_tokens) \(.total_tokens) \(if .counted == "backend" then 0 else 1 end)"')" \
	"with tokens by kind, model, account, and whether they were estimated"
is "$(jq -r '[.metrics[] | "\(.code) \(.aggregation_type) \(.field_name)"] + [.plans[] | "\(.code) \(.charges[].charge_model) \(.charges[].properties.amount)"] + [.subscriptions[].external_id] | sort | join(", ")' state)" \
	"acct_a:tokens, acct_b:tokens, batch_tokens sum_agg total_tokens, nanopod_tokens standard 0" "by a metric and a plan that it made"
done_testing
