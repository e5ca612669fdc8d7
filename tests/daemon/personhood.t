#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Personhood: an address that its owner's wallet proves, its score, and what the policy makes of that. The wallet and a
# second reader of the text are npm's ethers and siwe, which are fetched for the test and no part of this program; the
# server of scores is a stand-in, made from the contract that Human Passport publishes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
. "$(dirname "$0")/../lib/scores.sh"
need jq prlimit python3

scores_start
chmod 644 "$TMP/key"
run "$MARKETD" --data "$TMP/none" --passport-key-file "$TMP/key" --passport-scorer 4711
is "$status" 2 "scores without --public-url are refused: a text for 127.0.0.1 would be one of any market"
run "$MARKETD" --data "$TMP/none" --passport-key-file "$TMP/key" --passport-scorer 4711 --public-url https://market.example.org
like "$status $err" "^1 .*other users can read '$TMP/key'" "a key that others can read is refused"
chmod 600 "$TMP/key"
run "$MARKETD" --data "$TMP/none" --passport-key-file "$TMP/key"
is "$status" 2 "a key without a scorer is refused"
run "$MARKETD" --data "$TMP/none" --passport-key-file "$TMP/key" --passport-scorer 'a/b'
is "$status" 2 "and a scorer that is no word"
run "$MARKETD" --data "$TMP/none" --passport-url http://passport.example.org
is "$status" 2 "and scores that others could change on their way"
for bad in "https://m$(printf '\303\266').org" "https://m$(printf '\033').org" "https://m$(printf '\177').org" "https://m .org" "https://a@b" https:///x ftp://b; do
	run "$MARKETD" --data "$TMP/none" --public-url "$bad"
	is "$status" 2 "nor is a public URL $(printf %q "$bad")"
done
cat >"$TMP/policy.yaml" <<'END'
rules:
  - name: person
    when: {account.personhood_score: {above: 20}}
    allow: true
default: {deny: buyers are people}
END
START=(--policy "$TMP/policy.yaml" --passport-key-file "$TMP/key" --passport-scorer 4711 --passport-url "$SCORES_URL"
	--public-url https://market.example.org)
v2_start "${START[@]}"
v2_offer "$(v2_host h1 "$SKU")" 12.000000 >"$TMP/.offer"

# challenge TOKEN WALLET: a text for that wallet, in $TMP/text
challenge() {
	as "$1" POST /np/v1/personhood/challenge "{\"address\":\"$(person address "$2")\"}" >"$TMP/given"
	jq -rj .message "$TMP/given" >"$TMP/text"
}
# prove TOKEN SIGNATURE: sends $TMP/text with it; the answer is in $TMP/said
prove() {
	jq -n --rawfile m "$TMP/text" --arg s "$2" '{message: $m, signature: $s}' >"$TMP/proof"
	as "$1" POST /np/v1/personhood "$(cat "$TMP/proof")" >"$TMP/said"
}
code() { printf '%s %s' "$(http_status)" "$(jq -r '.error.code // .state' "$TMP/said")"; }
shown() { as "${1:-$ACME}" GET "/np/v1/personhood${2-?wait=true}" | jq -r '[.state, .score, .passing, .address] | map(tostring) | join(" ")'; }
mode() { printf '%s\n' "$1" >"$TMP/mode.new" && mv "$TMP/mode.new" "$TMP/mode"; } # the server may read it at any time
asked() { grep -c '^GET' "$TMP/server.log"; }
events() { operator GET /metrics | sed -n 's/^nanopod_journal_seq //p'; }
buys() { as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 $((NOW + $1 * HOUR)) $((NOW + ($1 + 1) * HOUR)) 20.000000)" >"$TMP/order"; http_status; }

# ---- The text ----
WALLET=$(person address one)
is "$(shown)" "none null null null" "who has proven nothing has nothing"
is "$(buys 1)" 403 "and does not buy"
challenge "$ACME" one
is "$(http_status)" 201 "a text is made"
is "$(person read <"$TMP/text")" "market.example.org $WALLET https://market.example.org 1 1 $(sed -n 's/^Nonce: //p' "$TMP/text") 2027-01-15T08:00:00Z 2027-01-15T08:10:00Z" \
	"another reader of EIP-4361 reads it the same"
like "$(cat "$TMP/text")" "This address is of account $(operator GET /np/v1/accounts/acme | json .id) of the market $(operator GET /np/v1 | json .id), and" "it says whose the address will be"
for bad in '"0x12"' '"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed"' '""' 7; do
	as "$ACME" POST /np/v1/personhood/challenge "{\"address\":$bad}" >/dev/null
	is "$(http_status)" 422 "no text for $bad"
done

# ---- What is no proof ----
challenge "$ACME" one
SIGNED=$(person sign one <"$TMP/text")
prove "$ACME" "$(person sign two <"$TMP/text")"
is "$(code)" "422 invalid" "another wallet's signature"
prove "$ACME" "$(person upper "$SIGNED")"
is "$(code)" "422 invalid" "the other signature that holds"
prove "$ACME" "${SIGNED%??}1d"
is "$(code)" "422 invalid" "a v that is none"
prove "$ACME" "${SIGNED%?}"
is "$(code)" "422 invalid" "a signature that is cut short"
prove "$STRANGER" "$SIGNED"
is "$(code)" "409 wrong_state" "the text of another account"
cp "$TMP/text" "$TMP/kept"
sed 's/^market.example.org/evil.example.org/' "$TMP/kept" >"$TMP/text"
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code)" "422 invalid" "what was signed for another domain"
like "$(jq -r .error.message "$TMP/said")" "signed for 'evil.example.org', not for this market" "and says so"
sed 's/^Chain ID: 1/Chain ID: 5/' "$TMP/kept" >"$TMP/text"
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code)" "422 invalid" "another chain's"
cp "$TMP/kept" "$TMP/text"
v2_clock $((NOW + 601))
prove "$ACME" "$SIGNED"
is "$(code)" "409 wrong_state" "a text that is over"
is "$(shown) $(asked)" "none null null null 0" "nothing of that was a proof, and no score was asked for"

# ---- A proof ----
challenge "$ACME" one
cp "$TMP/text" "$TMP/first"
SIGNED=$(person sign one <"$TMP/text")
prove "$ACME" "$SIGNED"
is "$(http_status) $(jq -r .address "$TMP/said")" "200 $WALLET" "the owner's signature is one"
is "$(shown)" "scored 33.53800 true $WALLET" "and the score comes"
like "$(sed -n 2p "$TMP/server.log")" "GET /v2/stamps/4711/score/$WALLET key-of-the-market score 33.53800" "asked for as Human Passport wants"
is "$(buys 1)" 201 "who is a person buys"
is "$(as "$ACME" GET /np/v1/facts | jq -r '.facts.personhood_score.value')" 33.53800 "the policy's fact is that text"
prove "$ACME" "$SIGNED"
is "$(code)" "409 wrong_state" "a text counts once"
challenge "$STRANGER" one
prove "$STRANGER" "$(person sign one <"$TMP/text")"
is "$(code)" "409 wrong_state" "one address serves one account"
like "$(jq -r .error.message "$TMP/said")" "^this address serves another account, or did until lately$" "and whose it is nobody hears"
is "$(shown "$STRANGER")" "none null null null" "the other account has nothing"
challenge "$ACME" two
prove "$ACME" "$(person sign two <"$TMP/text")"
is "$(code)" "409 wrong_state" "an account has one address"
operator PATCH /np/v1/accounts/stranger/facts "{\"facts\":{\"personhood_address\":{\"value\":\"$WALLET\"}}}" >/dev/null
is "$(http_status)" 422 "not even the operator writes one down"
operator PATCH /np/v1/accounts/acme/facts '{"facts":{"personhood_address":null}}' >"$TMP/said"
is "$(http_status) $(shown)" "422 scored 33.53800 true $WALLET" "or takes it away from its score"
like "$(jq -r .error.message "$TMP/said")" "'nanopod personhood release --account acct_" "but is told what to type"

# ---- One account takes no other's turn ----
AT=$((NOW + 601))
later() { AT=$((AT + $1)); v2_clock "$AT"; }
challenge "$ACME" one
before=$(events)
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code) $(($(events) - before))" "200 scored 0" "who proves the own address again has it, and nothing is written"
as "$ACME" DELETE /np/v1/personhood >/dev/null
challenge "$ACME" one
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code) $(shown)" "200 asking asking null null $WALLET" "who lets it go and proves it again waits"
challenge "$STRANGER" four
prove "$STRANGER" "$(person sign four <"$TMP/text")"
is "$(shown "$STRANGER" | cut -d' ' -f1) $(asked)" "scored 2" "another account is asked for at once, that one not again"
as "$STRANGER" DELETE /np/v1/personhood >/dev/null
later 599
is "$(shown) $(asked)" "asking null null $WALLET 2" "for 10 minutes"
later 1
is "$(shown) $(asked)" "scored 33.53800 true $WALLET 3" "then it is"

# ---- The edge, as time goes on; a market that ends in the middle ----
mode "score 20.00000"
later 72000
is "$(shown) $(buys 30)" "scored 20.00000 true $WALLET 403" "20.00000 is not above 20, though Human Passport passes it"
mode "score 20.00001"
later 72000
is "$(shown) $(buys 60)" "scored 20.00001 true $WALLET 201" "20.00001 is"
before=$(asked)
marketd_kill
marketd_start --test-clock "${START[@]}" || exit 1
is "$(shown "$ACME" '') $(buys 62)" "scored 20.00001 true $WALLET 201" "a market that was killed knows that"
is "$(asked)" "$before" "and does not ask again before it is time"
challenge "$STRANGER" two
marketd_kill
marketd_start --test-clock "${START[@]}" || exit 1
prove "$STRANGER" "$(person sign two <"$TMP/text")"
is "$(code)" "409 wrong_state" "a text that the market forgot is signed in vain"
challenge "$STRANGER" two
prove "$STRANGER" "$(person sign two <"$TMP/text")"
is "$(code)" "200 asking" "a new one is not"
marketd_kill
marketd_start --test-clock "${START[@]}" || exit 1
like "$(shown "$STRANGER")" "^scored 20.00001" "killed before the score came, the market asks for it when it starts"

as "$STRANGER" DELETE /np/v1/personhood >/dev/null
is "$(http_status)" 204 "the stranger lets go"

# ---- A service that fails or lies: the old score counts until its end, and no longer ----
tried=0
for bad in "status 500" "status 401" drop text "status 429" cut "score 1e999" "score NaN" "score -5" number large huge other error "until soon"; do
	mode "score 21"
	later 90000
	if [ $((tried % 5)) -eq 0 ]; then # the market asks 25 times at once, then one each 9 s
		marketd_kill
		marketd_start --test-clock "${START[@]}" || exit 1
	fi
	tried=$((tried + 1))
	shown >"$TMP/.shown"
	mode "$bad"
	later 72000
	is "$(cat "$TMP/.shown") $(shown)" "scored 21 true $WALLET scored 21 true $WALLET" "after '$bad' the old score counts"
	later 14400
	is "$(shown)" "failed null null $WALLET" "until its end, after '$bad'"
	why=$(as "$ACME" GET /np/v1/personhood | jq -r .problem)
	like "$why" '^[a-zA-Z0-9 ()]*$' "which says why, and not whom the market asks"
	[ "$bad" != drop ] || is "$why" "it gave no answer" "so does one without an answer"
done
is "$(buys 1000)" 403 "and nobody buys by it"

mode "score 21"
later 90000
marketd_kill
marketd_start --test-clock "${START[@]}" || exit 1
is "$(shown)" "scored 21 true $WALLET" "when the service is back, so is the score"
mode none
later 72000
is "$(shown)" "unscored null null $WALLET" "an address that has no score any more loses it at once"
mode "until $(date -u -d "@$((AT + 90000 + 3600))" +%Y-%m-%dT%H:%M:%S.000000+00:00)"
later 90000
is "$(shown)" "scored 33.53800 true $WALLET" "a score that ends soon"
mode "status 500"
later 3601
is "$(shown | cut -d' ' -f1-2)" "failed null" "ends then"

# ---- Letting it go ----
facts() { operator PATCH /np/v1/accounts/acme/facts "{\"facts\":$1}" >"$TMP/said"; http_status; }
text() { head -c "$1" /dev/zero | tr '\0' x; }
is "$(facts "$(jq -n '[range(63) | {"f\(.)": {value: 1}}] | add')")" 200 "the operator writes down much"
is "$(facts "{\"big\":{\"value\":\"$(text 1700)\"}}") $(facts '{"more":{"value":1}}')" "200 422" "64 facts"
is "$(facts "{\"big\":{\"value\":\"$(text 2000)\"}}") $(jq -r .error.code "$TMP/said")" "422 limit_reached" "of 3072 bytes"
mode "score 40"
later 90000
is "$(shown)" "scored 40 true $WALLET" "a score again"
as "$ACME" DELETE /np/v1/personhood >/dev/null
is "$(http_status) $(shown)" "204 none null null null" "who lets the address go loses the score, however much else is written down"
is "$(facts "$(jq -n '[range(63) | {"f\(.)": null}] | add + {big: null}')")" 200 "which goes"
is "$(buys 1000)" 403 "and buys no more"
marketd_account other
OTHER=$(marketd_token other)
challenge "$OTHER" one
prove "$OTHER" "$(person sign one <"$TMP/text")"
is "$(code)" "409 wrong_state" "nobody else has it now"
later $((30 * 86400 - 60))
challenge "$OTHER" one
prove "$OTHER" "$(person sign one <"$TMP/text")"
is "$(code)" "409 wrong_state" "nor for 30 days"
later 120
challenge "$OTHER" one
prove "$OTHER" "$(person sign one <"$TMP/text")"
is "$(code)" "200 asking" "then it is free"
NANOPOD_URL=unix:$MARKETD_SOCKET run "$NANOPOD" personhood release --account other
is "$status" 0 "the operator lets it go" || diag "$err"
challenge "$ACME" one
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code)" "409 wrong_state" "which is held, too"
operator PATCH /np/v1/accounts/other/facts '{"facts":{"personhood_held":null}}' >/dev/null
challenge "$ACME" one
printf '\n' >>"$TMP/text"
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code)" "200 asking" "until the operator says otherwise; a file's last line end does no harm"
as "$ACME" DELETE /np/v1/personhood >/dev/null
as "$ACME" DELETE /np/v1/personhood >/dev/null
is "$(http_status)" 404 "what was let go is gone"
later 600

# ---- The command, at a terminal and in a script ----
cli() { NANOPOD_TOKEN=$ACME "$NANOPOD" personhood "$@"; }
cat >"$TMP/terminal.py" <<'END'
import os, pty, signal, subprocess, sys
signal.alarm(120)
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'personhood', 'prove', sys.argv[2]])
seen, signed = b'', False
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        more = b''
    if not more:
        break
    seen += more
    if not signed and b'then paste the signature:' in seen:
        text = seen.replace(b'\r', b'').decode()
        text = text[text.index('market.example.org wants'):text.index('\n\nnanopod: then paste')]
        made = subprocess.run(sys.argv[3:], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        os.write(fd, made)
        signed = True
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
run cli prove "$WALLET"
is "$status" 2 "without a terminal the command says how"
like "$err" "nanopod personhood message $WALLET > text" "in two steps"
NANOPOD_TOKEN=$ACME run python3 "$TMP/terminal.py" "$NANOPOD" "$WALLET" node "$SRC/tests/daemon/personhood.mjs" sign one
is "$status" 0 "at a terminal it shows the text and takes the signature" || diag "$out"
like "$out" "scored" "and shows the score"
run cli -o json
is "$status $(jq -r '.[0] | .state + " " + .score + " " + .address + " " + .passing' <<<"$out")" "0 scored 40 $WALLET true" "it shows what there is" || diag "$out$err"
told np.Personhood "$(as "$ACME" GET /np/v1/personhood)" "as the market's document says"
run cli release
is "$status" 0 "it lets the address go"
told np.Personhood "$(as "$ACME" GET /np/v1/personhood)" "nothing is as the document says, too"
cli message "$WALLET" >"$TMP/text" </dev/null
person sign one <"$TMP/text" >"$TMP/signature"
run_stdin "$TMP/signature" cli prove --message "$TMP/text"
is "$status" 0 "in a script the signature is a line of standard input" || diag "$err"
run cli prove --message "$TMP/text" --signature 0x12
is "$status" 2 "what is no signature is refused"
cli release </dev/null 2>/dev/null

# ---- A score that the disk did not take; a service that wants a rest ----
figure() { operator GET /metrics | sed -n "s/^nanopod_$1 //p"; }
lost() { [ "$(figure commits_failed_total)" -gt 0 ]; }
ready() { [ "$(figure ready)" = 1 ]; }
later 600
mode wait
challenge "$ACME" one
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(code)" "200 asking" "a score that takes its time"
before=$(asked)
asked_again() { [ "$(asked)" -gt "$before" ]; }
prlimit --pid "$MARKETD_PID" --fsize=1:unlimited
mode "score 30"
wait_for 60 lost || fail "no commit failed"
prlimit --pid "$MARKETD_PID" --fsize=unlimited:unlimited
wait_for 60 ready || fail "the market cannot write again"
later 60
is "$(shown)" "scored 30 true $WALLET" "one that the disk did not take is asked for again"
as "$ACME" DELETE /np/v1/personhood >/dev/null
later 600
mode "status 429 3"
challenge "$ACME" one
prove "$ACME" "$(person sign one <"$TMP/text")"
is "$(shown)" "failed null null $WALLET" "a service that wants a rest"
before=$(asked)
mode "score 30"
challenge "$STRANGER" two
prove "$STRANGER" "$(person sign two <"$TMP/text")"
is "$(code)" "200 asking" "gets one"
wait_for 60 asked_again && pass "and is asked as soon as that is over, though nobody asks the market" || fail "nobody wakes the market"
like "$(shown "$STRANGER")" "^scored 30 " "with success"
as "$ACME" DELETE /np/v1/personhood >/dev/null
later 600

# ---- A market that has something else signed ----
cat >"$TMP/liar.py" <<'END'
import http.server, json, sys
class Liar(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass
    def say(self, status, what):
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.say(200, json.load(open(sys.argv[1])))
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.say(201, {'object': 'personhood_challenge', 'message': open(sys.argv[2], newline='', encoding='utf-8').read()})
server = http.server.HTTPServer(('127.0.0.1', 0), Liar)
print(server.server_port, flush=True)
server.serve_forever()
END
cli message "$WALLET" >"$TMP/good" 2>/dev/null </dev/null
as "$ACME" GET /np/v1 >"$TMP/about"
python3 "$TMP/liar.py" "$TMP/about" "$TMP/lie" >"$TMP/liar.port" 2>"$TMP/liar.log" &
liar_pid=$!
liar_stop() { kill "$liar_pid" 2>/dev/null; wait "$liar_pid" 2>/dev/null; }
at_exit liar_stop
liar_ready() { [ -s "$TMP/liar.port" ]; }
wait_for 60 liar_ready || { diag "$(cat "$TMP/liar.log")"; exit 1; }
WANTS=' wants you to sign in with your Ethereum account:'
# lied FIRST SECOND [END]: the command shows what this market made, its first two lines and its end (%b) being these
lied() {
	printf '%b\n%b\n%s%b' "$1" "$2" "$(tail -n +3 "$TMP/good")" "${3-}" >"$TMP/lie"
	NANOPOD_URL=http://127.0.0.1:$(cat "$TMP/liar.port") run cli message "$WALLET"
}
lied "127.0.0.1:$(cat "$TMP/liar.port")$WANTS" "$WALLET"
is "$status $err" "0 " "a text of the market that was asked" || diag "$out"
lied "market.example.org$WANTS" "$WALLET"
like "$status $err" "^0 .*warning: the text is for 'market.example.org', and your market is '127.0.0.1:" "one for another host is told"
lied "market.example.org$WANTS" "$(person address two)"
is "$status $out" "1 " "one for another address is not shown"
like "$err" "it is about another address" "and says why"
for bad in "\\033[2Jm.org$WANTS" "m\\0303\\0266.org$WANTS" "I owe" "$WANTS" "m.org, or another,$WANTS"; do
	lied "$bad" "$WALLET"
	is "$status $out" "1 " "nor one that begins with $(printf %q "${bad:0:30}")"
done
lied "market.example.org$WANTS" "$WALLET" '\r'
is "$status $out" "1 " "nor one that ends with a carriage return"
liar_stop

# ---- A service that hangs: the market goes on; one without a name of its own ----
mode hang
later 600
challenge "$ACME" three
prove "$ACME" "$(person sign three <"$TMP/text")"
is "$(code)" "200 asking" "a service that hangs"
like "$(as "$STRANGER" GET /np/v1/whoami | jq -r .object)" "whoami" "keeps nobody waiting"
grep -q 'key-of-the-market' "$MARKETD_LOG" && fail "the key is in the log"
marketd_stop
is "$marketd_status" 0 "and does not keep the market from ending"
marketd_start --test-clock
as "$ACME" POST /np/v1/personhood/challenge "{\"address\":\"$WALLET\"}" >"$TMP/said"
is "$(http_status) $(jq -r .error.code "$TMP/said")" "501 not_implemented" "no text where the market would be 127.0.0.1"
marketd_stop
run "$MARKETD" check --data "$MARKETD_DATA"
is "$status" 0 "the market's books are right"
done_testing
