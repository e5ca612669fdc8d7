#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signing in, as whom, and what becomes of a token that is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 1
unset NANOPOD_TOKEN
kept=$HOME/.config/nanopod/token
printf '%s\n' "$ACME" >"$TMP/acme"
printf '%s\n' "$FOUNDRY" >"$TMP/foundry"
printf 'npk_%043d\n' 7 >"$TMP/wrong"
chmod 600 "$TMP/acme" "$TMP/foundry" "$TMP/wrong"

run_is 4 "without a token" "$NANOPOD" whoami
like "$err" "sign in with 'nanopod login'" "says what to type"
NANOPOD_URL='' run_is 2 "without a market" "$NANOPOD" login
like "$err" "cannot sign in: no market is set; 'nanopod local start'.*config set url" "says how to try one, or name one"
NANOPOD_URL='' run_is 2 "what needs one" "$NANOPOD" ls
like "$err" "no market is set; 'nanopod local start'.*config set url" "says the same"
mkdir -p -m 700 "$HOME/.local/share/nanopod/local" && : >"$HOME/.local/share/nanopod/local/state"
NANOPOD_URL='' run_is 2 "after 'local stop'" "$NANOPOD" ls
like "$err" "the local market is stopped, and no market is set; start it with 'nanopod local start'" "says how to go on"
rm -r "$HOME/.local"

run_stdin "$TMP/acme" "$NANOPOD" login
is "$status" 0 "a token by standard input"
is "$out" "" "nothing on standard output"
like "$err" "signed in to '$NANOPOD_URL' as 'acme'" "says as whom"
is "$(cat "$kept")" "$ACME" "it is kept"
is "$(stat -c %a "$kept")" 600 "for this person alone"
unlike "$err" "$ACME" "and not shown"
run_is 0 "whoami" "$NANOPOD" whoami -o json
is "$(printf '%s' "$out" | jq -r '.[0].account + " " + .[0].scopes + " " + .[0].source')" "acme read,trade,nodes,tokens $kept" "tells whose, what for and from where"
unlike "$out$err" "$ACME" "never the token itself"
run_is 0 "the name alone" "$NANOPOD" whoami -q
is "$out" acme "with -q"

run_stdin "$TMP/wrong" "$NANOPOD" login
is "$status" 4 "a token that the market does not know is refused"
is "$(cat "$kept")" "$ACME" "and the one that was there stays"
like "$err" 'rejected the token' "says what happened"

# A 401 in the middle of a life: the file that holds the token is as it was.
cp "$kept" "$TMP/before"
cat "$TMP/wrong" >"$kept"
ls -l --time-style=full-iso "$kept" >"$TMP/ls"
run_is 4 "defect 7, a 401 deletes the token: not here" "$NANOPOD" balance
is "$(cat "$kept")" "$(cat "$TMP/wrong")" "defect 7: the token is still there"
is "$(ls -l --time-style=full-iso "$kept")" "$(cat "$TMP/ls")" "defect 7: the file was not touched"
like "$err" "rejected the token from '$kept'.*nanopod login.*stored token is unchanged" "defect 7: says which token was refused, and what to type"
NANOPOD_TOKEN=$(cat "$TMP/wrong") run_is 4 "one from the environment" "$NANOPOD" balance
like "$err" 'rejected the token from NANOPOD_TOKEN.*unset it' "is named as such"
cat "$TMP/before" >"$kept"
NANOPOD_TOKEN=$FOUNDRY run "$NANOPOD" whoami -q
is "$out" foundry "the environment counts before the file"
run "$NANOPOD" whoami -q
is "$out" acme "the file where there is none"

# Files that others can read, and what is no token.
chmod 644 "$kept"
run_is 4 "a file that others may read is not believed" "$NANOPOD" balance
like "$err" "chmod 600" "says what mends it"
chmod 600 "$kept"
chmod 640 "$TMP/foundry"
run_is 2 "nor one that is given" "$NANOPOD" login --token-file "$TMP/foundry"
chmod 600 "$TMP/foundry"
run_is 0 "a token from a file" "$NANOPOD" login --token-file "$TMP/foundry"
is "$(cat "$kept")" "$FOUNDRY" "replaces the other"
printf 'two words\n' >"$TMP/words"
run_stdin "$TMP/words" "$NANOPOD" login
is "$status" 2 "what is no token is seen before it is sent"
run_stdin /dev/null "$NANOPOD" login
is "$status" 2 "so is nothing"
is "$(cat "$kept")" "$FOUNDRY" "neither replaces anything"
run_is 2 "a token is no option" "$NANOPOD" login --token "$ACME"

# Profiles.
printf 'profiles:\n  other:\n    fanout: 3\n' >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
run_stdin "$TMP/acme" "$NANOPOD" login --profile other
is "$(cat "$HOME/.config/nanopod/token-other")" "$ACME" "a profile has a token of its own"
is "$(cat "$kept")" "$FOUNDRY" "beside the other one"
run "$NANOPOD" whoami -q --profile other
is "$out" acme "and uses it"
mkdir -p "$TMP/dir" && cd "$TMP/dir" || exit 99
printf 'url: http://127.0.0.1:1\ntoken-file: %s\n' "$TMP/acme" >.nanopod.yaml
run "$NANOPOD" whoami -q
is "$out" foundry "a directory's file cannot send the token elsewhere"
like "$err" "'url' in .* is ignored" "and is told so"
cd "$TMP" || exit 99

is "$(NANOPOD_URL=HTTP://LocalHost:1/ "$NANOPOD" config get url) $(NANOPOD_URL=https://a.example/Path// "$NANOPOD" config get url)" \
	"http://localhost:1 https://a.example/Path" "a URL has one spelling, by which what is kept for a market is found"

# A terminal: asked, and not shown.
pty=$BUILD/tests/lib/pty
if [ -x "$pty" ]; then
	printf 'expect not shown\necho off\nsend %s\\n\nexpect signed in\n' "$ACME" >"$TMP/script"
	run_is 0 "on a terminal it is asked for" "$pty" "$TMP/script" "$NANOPOD" login
	unlike "$out" "$ACME" "and not shown"
	is "$(cat "$kept")" "$ACME" "and kept"
	printf '%s\n' 'expect Token for' 'echo off' 'send \x03' 'echo on' >"$TMP/script"
	run "$pty" "$TMP/script" "$NANOPOD" login
	is "$status" 130 "Ctrl-C ends it, and what is typed is shown again" || diag "$out$err"
	like "$out" "^nanopod: interrupted; nothing was changed" "it says so"
else
	skip "tests/lib/pty is not built"
fi
run_is 2 "no token goes to another machine in the clear" "$NANOPOD" whoami --url http://192.0.2.1
like "$err" 'others on the way could read it' "which is said"
run "$NANOPOD" login --invite npi_x --url http://192.0.2.1
is "$status" 2 "no invitation, and no issuer's word"
like "$err" "others on the way could read it" "which says why"
run "$NANOPOD" login --invite - </dev/null
is "$status" 2 "an invitation that standard input does not have"
like "$err" "give the invitation's code as one line" "which says what to give"
if [ -x "$pty" ]; then
	: >"$TMP/script"
	run_is 2 "nor on a terminal" "$pty" "$TMP/script" "$NANOPOD" login --url http://192.0.2.1
fi

# ---- A market whose certificate nobody signed ----
if have openssl; then
	openssl req -x509 -newkey ed25519 -nodes -keyout "$TMP/tls.key" -out "$TMP/tls.crt" -subj /CN=localhost -days 30 \
		-addext subjectAltName=DNS:elsewhere 2>/dev/null
	marketd_stop
	curl() { command curl --insecure "$@"; }
	marketd_start --test-clock --tls-cert "$TMP/tls.crt" --tls-key "$TMP/tls.key"
	key=$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_public_key)
	url=$NANOPOD_URL
	unset NANOPOD_URL
	run_is 4 "its certificate proves nothing" "$NANOPOD" whoami --url "$url"
	like "$err" 'market-ca' "which is said"
	run_stdin "$TMP/acme" "$NANOPOD" login --url "$url#$key"
	is "$status" 0 "the URL that agents use signs in: it has the key" || diag "$err"
	ok "and says how to keep it" grep -qF "config set url '$url#$key'" "$TMP/.err"
	run_is 0 "for good" "$NANOPOD" config set url "$url#$key"
	run_is 0 "from then on" "$NANOPOD" whoami -q
	is "$out" acme "the market is known"
	run_is 0 "the URL" "$NANOPOD" config get url
	is "$out" "$url" "is the URL alone"
	run_is 0 "its key" "$NANOPOD" config get market-key
	is "$out" "$key" "is a setting of its own"
	run_is 4 "a URL without a key, by an option" "$NANOPOD" whoami --url "$url"
	like "$err" 'market-ca' "is not that market's"
	other=sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
	run_is 4 "another key" "$NANOPOD" whoami --url "$url#$other"
	like "$err" "not the pinned one; nothing was sent.*config set market-key" "gets nothing"
	run_is 2 "half a key" "$NANOPOD" whoami --url "$url#sha256//short"
	like "$err" "is not the pin of a key" "is refused"
	run_is 2 "a key without TLS" "$NANOPOD" whoami --url "http://127.0.0.1:1#$key"
	like "$err" "needs a URL that starts with https" "is refused"
else
	skip "openssl is not installed"
fi
done_testing
