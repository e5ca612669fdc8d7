# SPDX-License-Identifier: Apache-2.0
# A machine that joins a market, played by curl and openssl, after marketd.sh, in a market with $FOUNDRY:
need openssl

# key NAME: makes one. public NAME: its 32 bytes, base64.
key() { openssl genpkey -algorithm ed25519 -out "$TMP/$1.pem" 2>/dev/null; }
public() { openssl pkey -in "$TMP/$1.pem" -pubout -outform DER 2>/dev/null | tail -c 32 | base64 -w0; }
# join_token: of foundry.
join_token() { as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join"]}' | json .token; }
# join TOKEN NAME KEY MACHINE
join() { as "$1" POST /np/v1/agents/join "{\"name\":\"$2\",\"public_key\":\"$(public "$3")\",\"machine\":\"$4\"}"; }
# session ID KEY GENERATION MACHINE [AT]: prints the answer.
session() {
	session_at=${5:-$(curl -sS "$NANOPOD_URL/np/v1" | json .now)}
	printf 'nanopod-agent-session\n%s\n%s\n%s\n%s\n' "$1" "$3" "$session_at" "$4" >"$TMP/signed"
	session_sig=$(openssl pkeyutl -sign -inkey "$TMP/$2.pem" -rawin -in "$TMP/signed" | base64 -w0)
	http_call "$NANOPOD_URL" POST "/np/v1/agents/$1/session" \
		"{\"generation\":$3,\"at\":$session_at,\"machine\":\"$4\",\"signature\":\"$session_sig\"}"
}
