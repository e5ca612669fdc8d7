#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What Open Policy Agent comes for: the operator's rules as a bundle, and to say what it decided, each decision once. curl
# stands for the agent here, by its published contract; tests/daemon/opa.t has the real one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq gzip tar

printf 'sesame-of-the-agent\n' >"$TMP/token" && chmod 600 "$TMP/token"
mkdir "$TMP/rules"
cp "$SRC/examples/policy.rego" "$TMP/rules/"
printf 'package nanopod_test\n' >"$TMP/rules/policy_test.rego"
printf 'not for anybody' >"$TMP/rules/notes.txt"
marketd_start --opa-bundle "$TMP/rules" --opa-token-file "$TMP/token" --opa "unix:$TMP/none.sock" || done_testing
marketd_account acme 10.00
customer=$(marketd_token acme read trade nodes tokens host)
operators=$(marketd_token acme read admin)
BUNDLE=/opa/bundles/nanopod.tar.gz
# agent METHOD PATH [CURL OPTION…]: prints the status; the body is in $TMP/.body.
agent() {
	agent_method=$1 agent_path=$2
	shift 2
	: >"$TMP/.body"
	as sesame-of-the-agent "$agent_method" "$agent_path" '' "$@" >/dev/null
	http_status
}

# ---- The bundle -----------------------------------------------------------------------------------------
is "$(agent GET $BUNDLE)" 200 "the agent fetches the bundle"
is "$(http_header content-type)" application/gzip "as gzip"
etag=$(http_header etag)
cp "$TMP/.body" "$TMP/bundle.tar.gz"
is "$(tar -tzf "$TMP/bundle.tar.gz" | tr '\n' ' ')" "policy.rego .manifest " "it has the rules and a manifest, no tests and nothing else"
mkdir "$TMP/out"
tar -xzf "$TMP/bundle.tar.gz" -C "$TMP/out"
ok "the rules are the operator's" cmp "$TMP/out/policy.rego" "$SRC/examples/policy.rego"
is "\"$(jq -r .revision "$TMP/out/.manifest")\"" "$etag" "the ETag is the manifest's revision"
is "$(agent GET $BUNDLE -H "If-None-Match: $etag") $(wc -c <"$TMP/.body")" "304 0" "who has it hears so"
is "$(agent GET $BUNDLE -H 'If-None-Match: "other"')" 200 "who has another one gets it"
kill -HUP "$MARKETD_PID"
marketd_account other
is "$(agent GET $BUNDLE -H "If-None-Match: $etag")" 304 "the same files are the same bundle"
printf '{"roots":["nanopod"],"revision":"mine"}' >"$TMP/rules/.manifest"
printf '{"nanopod":{"night":22}}' >"$TMP/rules/data.json"
kill -HUP "$MARKETD_PID"
newer() { [ "$(agent GET $BUNDLE -H "If-None-Match: $etag")" = 200 ]; }
ok "SIGHUP packs new files" wait_for 20 newer
tar -xzf "$TMP/.body" -C "$TMP/out"
is "$(jq -c '[.roots, (.revision | length)]' "$TMP/out/.manifest") $(jq -c . "$TMP/out/data.json")" \
	'[["nanopod"],64] {"nanopod":{"night":22}}' "with the folder's roots and data, and a revision of its own"
etag=$(http_header etag)
printf 'no json' >"$TMP/rules/.manifest"
kill -HUP "$MARKETD_PID"
said() { grep -q "$1" "$MARKETD_LOG"; }
ok "a manifest that is none is told" wait_for 20 said "keeping the old rules for the policy server: '$TMP/rules/.manifest' is not a JSON object"
is "$(agent GET $BUNDLE -H "If-None-Match: $etag")" 304 "and the old rules stay"
rm "$TMP/rules/.manifest"

# ---- Who may -----------------------------------------------------------------------------------------------
codes=
for path in "GET $BUNDLE" "POST /opa/logs"; do
	set -- $path
	for who in '' sesame sesame-of-the-agentx "$customer"; do
		as "$who" "$1" "$2" >"$TMP/answer"
		codes="$codes$(http_status) "
		case $(cat "$TMP/answer") in *package*|*rego*) fail "a stranger reads something" ;; esac
	done
done
is "$codes" "401 401 401 403 401 401 401 403 " "strangers and customers get nothing"
as "$operators" GET $BUNDLE >/dev/null
is "$(http_status)" 200 "a token of the operator's may"
operator GET $BUNDLE >/dev/null
is "$(http_status)" 200 "and the socket"
is "$(agent GET /np/v1/whoami) $(agent GET /metrics)" "401 401" "the agent's token opens nothing else"

# ---- What it decided ----------------------------------------------------------------------------------------
KEPT=$MARKETD_DATA/decisions.jsonl
# decision ID [ALLOW] prints one as the agent tells it.
decision() {
	jq -cn --arg id "$1" --argjson allow "${2-true}" '{labels:{id:"agent-1",version:"1.20.1"}, decision_id:$id,
		bundles:{nanopod:{revision:"r1"}}, path:"nanopod/decision", requested_by:"10.0.0.9:5", timestamp:"2027-01-15T08:00:00.5Z",
		input:{account:{id:"acct_1",name:"acme"}, request:{action:"buy"}, grant:null, time:"2027-01-15T08:00:00Z"},
		result:{allow:$allow, rule:"night", reason:"closed"}, metrics:{timer_server_handler_ns:5}}'
}
# logs [DECISION…]: posts them as the agent does.
logs() {
	printf '%s\n' "$@" | jq -cs . | gzip >"$TMP/piece"
	agent POST /opa/logs -H 'Content-Type: application/json' -H 'Content-Encoding: gzip' --data-binary "@$TMP/piece"
}
is "$(logs "$(decision d-1)" "$(decision d-2 false)")" 204 "the agent says what it decided"
is "$(jq -c '[.decision_id,.allow,.rule,.account,.revision,.path,.time]' "$KEPT")" '["d-1",true,"night","acct_1","r1","nanopod/decision","2027-01-15T08:00:00.5Z"]
["d-2",false,"night","acct_1","r1","nanopod/decision","2027-01-15T08:00:00.5Z"]' "each is kept"
is "$(jq -r .input_sha256 "$KEPT" | sort -u)" \
	"$(decision x | jq -cSj '.input | del(.time)' | sha256sum | cut -d' ' -f1)" "with the hash of its input, without the time"
is "$(grep -c 'audit: policy server decided: {"decision_id":"d-[12]"' "$MARKETD_LOG")" 2 "and is a line of the log"
is "$(logs "$(decision d-1)" "$(decision d-2 false)")" 204 "the same piece again, as after a lost answer"
is "$(logs "$(decision d-2 false)" "$(decision d-3)" "$(decision d-3)")" 204 "and a part of it with a new one, twice"
is "$(jq -r .decision_id "$KEPT" | tr '\n' ' ')" "d-1 d-2 d-3 " "each is kept once"
marketd_kill
printf '{"decision_id":"torn' >>"$KEPT"
marketd_start --opa-bundle "$TMP/rules" --opa-token-file "$TMP/token"
is "$(logs "$(decision d-3)" "$(decision d-4)") $(jq -r .decision_id "$KEPT" | tr '\n' ' ')" "204 d-1 d-2 d-3 d-4 " \
	"also when the market was killed in a line between"
is "$(as sesame-of-the-agent POST /opa/logs "$(decision d-5 | jq -cs .)" && http_status)" 204 "a piece that is not packed will do"
printf '{}' | jq -c '[{decision_id:"d-6"}]' | gzip >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece") $(tail -n 1 "$KEPT" | jq -c '[.input_sha256,.allow]')" "204 [null,null]" \
	"an undefined decision has no result"

# ---- What is odd in it ------------------------------------------------------------------------------------------
# What the market cannot hold comes again for ever unless it is taken: numbers beyond its own, a NUL in a name, depth.
deep=$(head -c 70 /dev/zero | tr '\0' '[')1$(head -c 70 /dev/zero | tr '\0' ']')
cat >"$TMP/odd" <<-END
	[ {"decision_id":"o-1", "path":"p", "input":{"account":{"id":"acct_1"},"n":123456789012345678901234567890}, "result":{"allow":false}},
	{"decision_id":"o-2","path":"a, \"b]","input":{"account":{"id":"acct_2","x":[1]},"request":{"a\u0000b":1}},"result":{"allow":true,"rate":1e400,"rule":"night"}},
	{"decision_id":"o-3","input":$deep,"result":{"allow":true}},{"path":"p"},[],5,{"decision_id":"o-4","nul\u0000":1},{"decision_id":"o-5","b":nothing}
	, {"decision_id":"o-6","input":{"account":{"id":"acct_6"}}} ]
END
gzip <"$TMP/odd" >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece")" 204 "a piece with odd decisions is taken"
is "$(tail -n 6 "$KEPT" | jq -c '[.decision_id,.path,.account,.allow,.rule,.input_sha256 != null]' | tr '\n' ' ')" \
	'["o-1","p","acct_1",false,null,false] ["o-2","a, \"b]","acct_2",true,"night",false] ["o-3",null,null,true,null,false] ["o-4",null,null,null,null,false] ["o-5",null,null,null,null,false] ["o-6",null,"acct_6",null,null,true] ' \
	"with what can be read of each, and the hash of an input that can be read whole"
ok "the log counts those without an id" said "3 of the policy server's decisions have no decision_id of up to 128 plain bytes, and are not kept"
lines=$(wc -l <"$KEPT")
is "$(agent POST /opa/logs --data-binary "@$TMP/piece") $(wc -l <"$KEPT")" "204 $lines" "again: each is kept once"
{ printf '['; seq 12000 | sed 's/.*/{"decision_id":"m-&"},/'; printf '{"decision_id":"m-0"}]'; } | gzip >"$TMP/piece"
many=
while [ "${#many}" -lt 40 ] && case $many in *204*) false ;; esac; do many="$many$(agent POST /opa/logs --data-binary "@$TMP/piece") "; done
is "$many$(grep -c '"m-' "$KEPT")" "503 503 204 12001" "more than a turn takes are taken as they come again"
{ printf '[{"decision_id":"c-1"},{"decision_id":"c-2","input":"'; head -c 9000000 /dev/zero | tr '\0' x; printf '"},{"decision_id":"c-3"}]'; } | gzip >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece") $(tail -n 1 "$KEPT" | jq -r .decision_id)" "204 c-1" "of one that is too large, what comes before its limit"
ok "and the log says that there was more" said "the policy server's decisions are more than 8 MiB; the rest of them is not kept"

# ---- What is none of it ----------------------------------------------------------------------------------------
lines=$(wc -l <"$KEPT")
odd=
for body in '' '{}' 'nothing' '5' '[{"decision_id":"g"}' '[{"decision_id":"g"}]]' '[{"decision_id":"g"}],'; do
	printf '%s' "$body" | gzip >"$TMP/piece"
	odd="$odd$(agent POST /opa/logs --data-binary "@$TMP/piece") "
done
is "$odd" "400 400 400 400 400 400 400 " "what is no such piece is refused whole"
odd=
for body in '[]' '[1]' '[{}]' '[{"decision_id":5}]' '[{"decision_id":"a b"}]' '[{"decision_id":""}]' '[,]'; do
	printf '%s' "$body" | gzip >"$TMP/piece"
	odd="$odd$(agent POST /opa/logs --data-binary "@$TMP/piece") "
done
is "$odd" "204 204 204 204 204 204 204 " "one whose decisions have no id need not come again"
head -c 100 "$TMP/bundle.tar.gz" >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece")" 400 "half a gzip is refused, too"
head -c 60000000 /dev/zero | tr '\0' '[' | gzip >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece")" 413 "and one that would fill the memory ($(wc -c <"$TMP/piece") bytes)"
head -c 70000 /dev/urandom >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece")" 413 "a larger piece than the agent sends, as well"
{ printf '['; yes '{},' | head -c 6000000; printf '{}]'; } | gzip >"$TMP/piece"
is "$(agent POST /opa/logs --data-binary "@$TMP/piece")" 204 "millions of nothings keep nobody waiting"
is "$(wc -l <"$KEPT")" "$lines" "none of it is kept"

# ---- Where it cannot write -----------------------------------------------------------------------------------
marketd_stop
is "$marketd_status" 0 "the market ends well"
mv "$KEPT" "$TMP/kept" && ln -s /dev/full "$KEPT"
marketd_start --opa-bundle "$TMP/rules" --opa-token-file "$TMP/token"
is "$(logs "$(decision d-7)") $(http_header retry-after)" "503 1" "a market that cannot keep decisions says so, and the agent keeps them"
ok "the log says why" said "the policy server's decisions are not kept: cannot keep decisions in '.*': No space left"
marketd_stop
rm "$KEPT" && mv "$TMP/kept" "$KEPT"
marketd_start --opa-bundle "$TMP/rules" --opa-token-file "$TMP/token"
is "$(logs "$(decision d-7)") $(tail -n 1 "$KEPT" | jq -r .decision_id)" "204 d-7" "what it sends again then is kept"
marketd_stop
marketd_start
is "$(agent GET $BUNDLE) $(operator GET $BUNDLE >/dev/null; http_status) $(operator POST /opa/logs >/dev/null; http_status)" "401 404 404" \
	"a market without all that has no such door"
marketd_stop
mkdir "$TMP/empty"
run_is 1 "a folder without rules" "$MARKETD" --data "$TMP/other" --listen 127.0.0.1:0 --opa-bundle "$TMP/empty"
like "$err" "'$TMP/empty' must have 1 to 256 files" "says so"
done_testing
