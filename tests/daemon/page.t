#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page that marketd serves, and GET /np/v1/public, which is all that it shows: how they are served, that nothing of
# anybody's is in them, and that what they say of prices is what a buyer pays. No browser is needed.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
FILES=$SRC/daemon/marketd/web/files
need python3 cmp
trade_start 3

# stranger PATH [CURL OPTION…]: without a token. The body is in $TMP/.body.
stranger() {
	stranger_path=$1
	shift
	rm -f "$TMP/.body"
	http_call "$NANOPOD_URL" GET "$stranger_path" '' "$@" >/dev/null
}
# shown FILTER: of what a stranger sees; soon FILTER WANT TEXT: the same once it is so, as an answer is kept for two seconds.
shown() { stranger /np/v1/public; jq -c "$1" "$TMP/.body"; }
becomes() { [ "$(shown "$1")" = "$2" ]; }
soon() { wait_for 30 becomes "$1" "$2"; is "$(shown "$1")" "$2" "$3"; }

# ---- How the page is served ----------------------------------------------------------------------------
CSP="default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
stranger / -H 'Accept: text/html,application/xhtml+xml,*/*;q=0.8'
cp "$TMP/.body" "$TMP/index.html"
is "$(http_status)" 200 "GET / is the page"
guarded() {
	is "$(http_header Content-Security-Policy)" "$CSP" "$1: nothing but the page's own files may run or load"
	is "$(http_header X-Content-Type-Options) $(http_header Referrer-Policy) $(http_header Cross-Origin-Opener-Policy) $(http_header Cross-Origin-Resource-Policy)" \
		"nosniff no-referrer same-origin same-origin" "$1: the other guards"
	is "$(http_header Set-Cookie)$(http_header Access-Control-Allow-Origin)" "" "$1: no cookie, and open to no other origin"
}
guarded /
is "$(http_header Content-Type)" "text/html; charset=utf-8" "it is HTML"
is "$(http_header Cache-Control)" no-cache "a browser asks again whether it changed"
is "$(http_header Vary)" "Accept, Accept-Encoding" "and a cache knows what it depends on"
like "$(http_header ETag)" '^"[0-9a-f]{8}"$' "it has a tag"
tag=$(http_header ETag)
stranger / -H "If-None-Match: \"other\", W/$tag"
is "$(http_status) $(http_header ETag) $(cat "$TMP/.body" 2>/dev/null)" "304 $tag " "who has it gets it no second time"
guarded "a 304"
stranger / -H 'If-None-Match: "00000000"'
is "$(http_status)" 200 "who has another one does"
http_call "$NANOPOD_URL" HEAD / >/dev/null
is "$(http_status) $(http_header Content-Length)" "200 $(wc -c <"$TMP/index.html" | tr -d ' ')" "HEAD has its length"
http_call "$NANOPOD_URL" POST / '{}' >/dev/null
is "$(http_status) $(http_header Allow)" "405 GET, HEAD" "nothing can be sent to it"
stranger '/?utm=x'
is "$(http_status)" 200 "a query does not matter"
for accept in '*/*' 'text/*' 'text/html' ''; do
	stranger / -H "Accept:$accept"
	is "$(http_status)" 200 "Accept '$accept' gets the page"
done
stranger / -H 'Accept: application/json'
is "$(http_status) $(http_header Content-Type) $(jq -r .error.code "$TMP/.body")" "404 application/json not_found" \
	"a program that takes JSON alone gets a sentence in JSON, as of every path that the API does not have"

# What it loads.
assets=$(grep -o '"/assets/[^"]*"' "$TMP/index.html" | tr -d '"' | sort)
is "$(printf '%s\n' $assets | sed 's/-[0-9a-f]*\././' | sort | tr '\n' ' ')" \
	"/assets/alerts.js /assets/frame.js /assets/icon.svg /assets/machines.js /assets/market.js /assets/money.js /assets/nodes.js /assets/page.css /assets/page.js /assets/personhood.js /assets/signin.js " \
	"it names eleven files"
all=0 first=0
for path in / $assets; do
	stranger "$path"
	cp "$TMP/.body" "$TMP/plain"
	is "$(http_status) $(http_header Content-Encoding)" "200 " "$path is there"
	name=${path##*/}
	case $path in
	/) ;;
	*)
		guarded "$name"
		is "$(http_header Cache-Control)" "public, max-age=31536000, immutable" "$name may be kept for ever"
		ok "$name is as it was written" cmp "$TMP/plain" "$FILES/${name%-*}.${name##*.}"
		;;
	esac
	tag=$(http_header ETag)
	stranger "$path" -H 'Accept-Encoding: br;q=1, gzip;q=0.5'
	is "$(http_header Content-Encoding) $(http_header Content-Type)" "gzip $(case $path in *.css) echo 'text/css; charset=utf-8' ;; *.js) echo 'text/javascript; charset=utf-8' ;; *.svg) echo image/svg+xml ;; *) echo 'text/html; charset=utf-8' ;; esac)" "$path: gzip for who takes it"
	isnt "$(http_header ETag)" "$tag" "with a tag of its own"
	gzip -dc <"$TMP/.body" >"$TMP/unpacked"
	ok "and the same within" cmp "$TMP/plain" "$TMP/unpacked"
	all=$((all + $(wc -c <"$TMP/.body")))
	case $name in alerts*|nodes*|money*|machines*|market*|signin*) ;; *) first=$((first + $(wc -c <"$TMP/.body"))) ;; esac
	stranger "$path" -H 'Accept-Encoding: gzip;q=0, *;q=0'
	is "$(http_header Content-Encoding)" "" "and not for who refuses it"
done
ok "the first view weighs at most 40 kB ($first bytes)" test "$first" -le 40000
ok "all of it at most 120 kB ($all bytes)" test "$all" -le 120000
stranger /assets/page-00000000.js
is "$(http_status)" 404 "another version's file is not there"
stranger /assets/../index.html --path-as-is
is "$(http_status)" 404 "and no other file"

# What stands in it.
cat >"$TMP/look.py" <<'END'
import html.parser, sys
bad = []
class Look(html.parser.HTMLParser):
    def handle_starttag(self, tag, given):
        a = dict(given)
        if tag == 'script' and not a.get('src'): bad.append('a script within')
        if tag in ('style', 'iframe', 'object', 'embed', 'form', 'base'): bad.append('<%s>' % tag)
        for name, value in given:
            if name == 'style' or name.startswith('on'): bad.append('%s=' % name)
            if name in ('src', 'href', 'action', 'srcset') and not (value.startswith('/') and not value.startswith('//')):
                bad.append('%s=%s' % (name, value))
Look().feed(open(sys.argv[1]).read())
print(' '.join(bad), end='')
END
is "$(python3 "$TMP/look.py" "$TMP/index.html")" "" "no script, style or handler within, and nothing from elsewhere"
echo '<p onclick=x style=y><script>1</script><img src="//evil.example/x">' >"$TMP/bad.html"
isnt "$(python3 "$TMP/look.py" "$TMP/bad.html")" "" "(the check finds what is bad)"
is "$(grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|localStorage|sessionStorage|document\.cookie' "$FILES"/*.js |
	grep -v -e 'signin.js:.*sessionStorage[.][a-z]*Item(SIGN_IN' -e 'frame.js:.*localStorage[.][a-z]*Item(ALERTS_KEPT')" "" \
	"the scripts make text of what they get, run no text, and keep nothing but what a sign-in went with and when alerts tell"
is "$(grep -nE '(https?:)?//[a-z]' "$FILES"/*.js "$FILES/page.css" "$FILES/index.html" | grep -vE "^[^:]*:[0-9]+:(// |.*'http://www.w3.org/2000/svg')")" "" "no file names another machine"

# What its scripts ask for is in the API.
cat >"$TMP/asks.py" <<'END'
import json, re, sys
paths = json.load(open(sys.argv[1]))['paths']
known = {(m.upper(), re.sub(r'{[^}]*}', '{}', p)) for p, of in paths.items() for m in of}
asked = set()
for name in sys.argv[2:]:
    for m, quote, path, then in re.findall(r"(?:ask\(\s*'([A-Z]+)',|pages\()\s*(['`])(.*?)\2(\s*\+)?", open(name).read(), re.S):
        path = re.sub(r'\$\{[^}]*\}', '{}', path.split('?')[0])
        asked.add((m or 'GET', path + '{}' if then and path.endswith('/') else path))
print(len(asked), ' '.join(sorted(m + ' ' + p for m, p in asked - known)))
END
curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
asks=$(python3 "$TMP/asks.py" "$TMP/openapi.json" "$FILES"/*.js)
is "${asks#* }" "" "its scripts ask for nothing that the API does not have"
ok "and more than twenty of its operations were found in them (${asks%% *})" test "${asks%% *}" -ge 20

# On the unix socket and with TLS, too.
operator GET / >/dev/null
is "$(http_status) $(http_header Content-Security-Policy)" "200 $CSP" "the operator's socket has the page, too"

# ---- What a stranger sees ------------------------------------------------------------------------------
shown . >"$TMP/seen"
is "$(http_status)" 200 "the public book needs no token"
is "$(http_header Cache-Control) $(http_header Content-Type)" "no-store application/json" "and is an answer as any other"
curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
fits() { fit_why=$("$BUILD/tests/daemon/fits" "$TMP/openapi.json" np.Public <"$TMP/seen" 2>&1); is "$fit_why" "" "$1"; }
fits "all of it is in the document"
is "$(jq -c '.paths["/np/v1/public"].get.security, ([.paths | keys[] | select(. == "/" or startswith("/assets"))] | length)' "$TMP/openapi.json" | tr '\n' ' ')" '[] 0 ' \
	"where it is open to all, and the page is no operation"
is "$(jq -c '[.types[0] | .type, .gpus, .hosts_up, .on_sale, .on_sale_together]' "$TMP/seen")" '["richmond",8,4,4,0]' "four nodes are for sale"
is "$(jq -c '[.types[0].windows[] | [.seconds, .nodes, .limit, (.asks | map([.dollars_per_node_hour, .nodes]))]]' "$TMP/seen")" \
	'[[3600,4,"1.80",[["14.400000",3],["24.000000",1]]],[86400,4,"1.80",[["14.400000",3],["24.000000",1]]],[604800,4,"1.80",[["14.400000",3],["24.000000",1]]]]' \
	"for an hour, a day and a week, the cheapest first"
is "$(jq -c '[.types[0] | .last_trade, .week]' "$TMP/seen")" '[null,[]]' "nothing was traded"
operator GET /np/v1/public >/dev/null
is "$(cat "$TMP/.body")" "$(cat "$TMP/seen")" "the operator sees the same"
stranger '/np/v1/public?account=acme'
is "$(http_status)" 403 "it can be asked nothing about anybody"
http_call "$NANOPOD_URL" POST /np/v1/public '{}' >/dev/null
is "$(http_status)" 405 "and be told nothing"

# A host whose price changes, one that is for sale for two hours, one that is down.
changing=$(host marker-changing "$SKU") short=$(host marker-short "$SKU") lost=$(host marker-lost "$SKU")
offer_of() { as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" "{\"price_dollars_per_node_hour\":\"$2\",\"start_at\":$3,\"end_at\":$4}" >/dev/null; }
offer_of "$changing" 6.000000 $((NOW + 60)) $((NOW + 60 + 12 * HOUR))
offer_of "$changing" 12.000000 $((NOW + 60 + 12 * HOUR)) $((NOW + 60 + 24 * HOUR))
offer_of "$short" 3.000000 $((NOW + 60)) $((NOW + 60 + 2 * HOUR))
offer_of "$lost" 1.000000 $((NOW + 60)) $((NOW + 60 + 2 * HOUR))
as "$FOUNDRY" PATCH "/np/v1/hosts/$lost" '{"down":true,"reason":"marker-reason"}' >/dev/null
soon '[.types[0] | .hosts_up, .on_sale]' '[6,6]' "a host that is down is not counted"
is "$(shown '[.types[0].windows[] | [.nodes, .limit, .asks[0].dollars_per_node_hour]]')" \
	'[[6,"0.375","3.000000"],[5,"1.50","9.000000"],[4,"1.80","14.400000"]]' \
	"each window has the hosts that have all of it: a mean price, and the limit that buys it"

# The limit is what the page writes into its command: it buys, and a smaller one does not.
run_is 0 "the command on the page buys" "$NANOPOD" buy -t richmond -n 1 -d 24h -s @$((NOW + 60)) -p 1.50 -y --name marker-pool --no-instances
run "$NANOPOD" buy -t richmond -n 1 -d 168h -s @$((NOW + 60)) -p 1.79 -y --no-instances --no-wait
isnt "$status" 0 "with a smaller limit it would not"
# What is sold only whole is no node that one can have.
run_is 0 "who bought it offers it, all or nothing" "$NANOPOD" sell marker-pool -s @$((NOW + 60)) -p 2.00 --whole --no-wait -y
soon '[.types[0] | .on_sale, .on_sale_together, .windows[1].nodes]' '[5,1,4]' "what was bought is no longer for sale, and its offer is counted apart"
is "$(shown '[.types[0].last_trade.dollars_per_node_hour, (.types[0].week | length), .types[0].week[-1]]')" '["12.000000",28,"9.000000"]' \
	"a trade is in the week's curve by its mean"
shown . >"$TMP/seen"
fits "and the document knows all of it"
is "$(jq -r '[.week_from + 28 * .week_step > .now, .week_from + 27 * .week_step <= .now] | all' "$TMP/seen")" true "the last step of the curve is the one that runs"

marketd_account marker-customer 1000.00
marker=$(marketd_token marker-customer)
as "$marker" POST /v2/pools '{"name":"marker-own","workspace":"default"}' >/dev/null

# A crowd costs what one costs: the answer, which has the time in it, is made once in two seconds. A machine that is
# slow may need more than that from one question to the next, but not each time.
at=$NOW kept=no n=0
while [ $kept = no ] && [ $n -lt 20 ]; do
	n=$((n + 1)) at=$((at + 60)) before=$(shown .now)
	clock $at
	[ "$(shown .now)" != "$before" ] || kept=yes
done
is $kept yes "the answer is kept for the next who asks"
soon .now $at "and a new one comes in time"

# Isolation: nothing of accounts, hosts, pools, orders, tokens, agents, whatever their names.
shown . >"$TMP/seen"
ids=$(as "$ACME" GET /np/v1/whoami | json .account_id)
for word in marker acme foundry cheap- dear "$ids" acct_ host_ pool_ ordr_ tok_ agt_ lease_ inst_; do
	not_ok "no '$word' in what a stranger sees" grep -qF -e "$word" "$TMP/seen"
done
is "$(jq -r '[paths(type != "object" and type != "array") | map(select(type == "string")) | join(".")] | unique | join(" ")' "$TMP/seen")" \
	"name now object types.gpus types.hosts_up types.instance_sku types.last_trade.dollars_per_node_hour types.last_trade.filled_at types.on_sale types.on_sale_together types.proof types.properties.accelerator types.properties.form_factor types.properties.num_accelerators types.properties.region types.type types.week types.windows.asks.dollars_per_node_hour types.windows.asks.nodes types.windows.limit types.windows.nodes types.windows.seconds types_total week_from week_step" \
	"and no field that nobody thought of"

# Hostile words of an operator are text, in JSON as it has to be.
operator POST /np/v1/skus "$(printf '{"alias":"evil","gpus":0,"properties":{"region":"</script><img src=x onerror=alert(1)>\\u202e\\u001b[31m"}}')" >/dev/null
is "$(http_status)" 201 "a type with a hostile region"
for n in $(seq 69); do printf '{"alias":"type-%s","gpus":1,"properties":{}}' "$n" >"$TMP/type-$n"; done
curl -sS --max-time 60 --unix-socket "$MARKETD_SOCKET" -H 'Content-Type: application/json' --data-binary '{"alias":"type-0","gpus":1,"properties":{}}' \
	http://localhost/np/v1/skus $(for n in $(seq 69); do echo "--next --unix-socket $MARKETD_SOCKET -H Content-Type:application/json --data-binary @$TMP/type-$n http://localhost/np/v1/skus"; done) >/dev/null
soon '[.types[] | select(.type == "evil") | .properties.region]' '["</script><img src=x onerror=alert(1)>'"$(printf '\342\200\256')"'\u001b[31m"]' "is the text that it was given"
is "$(http_header Content-Type) $(http_header X-Content-Type-Options)" "application/json nosniff" "no browser takes it for a page"
is "$(shown '[.types[:2][].type]')" '["richmond","evil"]' "types with something for sale come first"

is "$(shown '[(.types | length), .types_total]')" '[64,72]' "of 72 types 64 are shown, and how many there are"
stranger /np/v1/public
ok "that is less than 100 kB" test "$(wc -c <"$TMP/.body")" -le 100000

# ---- Texts of the page ---------------------------------------------------------------------------------
if have node; then
	for script in "$FILES"/*.js; do ok "${script##*/} is JavaScript" node --check "$script"; done
	node "$SRC/tests/daemon/pagetext.mjs" "$FILES" >"$TMP/said" 2>"$TMP/err" || fail "its functions run: $(head -n 3 "$TMP/err")"
	while read -r line; do
		case $line in
		ok\ *) pass "${line#ok }" ;;
		*) fail "${line#not ok }" ;;
		esac
	done <"$TMP/said"
	ok "all of them" test "$(wc -l <"$TMP/said")" -ge 60
else
	skip "'node' is not installed"
fi

# ---- A market that shows it to its customers alone -----------------------------------------------------
marketd_stop
marketd_start --test-clock --private
stranger /
is "$(http_status) $(http_header Content-Type)" "404 application/json" "--private: no page"
stranger "/assets/$(printf '%s\n' $assets | sed -n 's,.*/\(page.*js\),\1,p')"
is "$(http_status)" 404 "nor a file of it"
stranger /np/v1/public
is "$(http_status) $(jq -r .error.code "$TMP/.body")" "403 forbidden" "and no public book"
like "$(jq -r .error.message "$TMP/.body")" 'customers alone.*token' "which says why"
as npk_wrong GET /np/v1/public >/dev/null
is "$(http_status)" 403 "for a wrong token neither"
as "$ACME" GET /np/v1/public >/dev/null
is "$(http_status)" 200 "customers see it"
is "$(jq -c '[.types[0] | .last_trade.dollars_per_node_hour, .week[-1]]' "$TMP/.body")" '["12.000000","9.000000"]' \
	"a market that starts anew counts its trades again"
operator GET /np/v1/public >/dev/null
is "$(http_status)" 200 "and the operator"
marketd_stop

# ---- TLS ----------------------------------------------------------------------------------------------
if have openssl; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=market \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$TMP/key.pem" -out "$TMP/cert.pem" 2>/dev/null
	marketd_start --test-clock --tls-cert "$TMP/cert.pem" --tls-key "$TMP/key.pem"
	stranger / --cacert "$TMP/cert.pem" --compressed
	is "$(http_status) $(http_header Content-Encoding)" "200 gzip" "with TLS, too"
	ok "the same page" cmp "$TMP/.body" "$TMP/index.html"
	shown_tls=$(curl -sS --max-time 60 --cacert "$TMP/cert.pem" "$NANOPOD_URL/np/v1/public" | jq -r .object)
	is "$shown_tls" public "and the book"
	marketd_stop
else
	skip "openssl is not installed"
fi
done_testing
