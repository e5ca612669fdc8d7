# SPDX-License-Identifier: Apache-2.0
# Agents that are curl and openssl, after tap.sh, marketd.sh and v2.sh:
#     key NAME                              makes a key; public NAME: its 32 bytes, base64
#     join_token                            of foundry
#     join TOKEN NAME KEY MACHINE           joins a machine, prints the answer
#     session ID KEY GENERATION MACHINE [AT]  opens a session, prints the answer
#     capacity VCPUS MEMORY DISK [GPUS [MORE]]  an inventory that has so much for nodes; GPUS: "COUNT MODEL [MEMORY]"
need openssl

key() { openssl genpkey -algorithm ed25519 -out "$TMP/$1.pem" 2>/dev/null; }
public() { openssl pkey -in "$TMP/$1.pem" -pubout -outform DER 2>/dev/null | tail -c 32 | base64 -w0; }
join_token() { as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join"]}' | json .token; }
join() { as "$1" POST /np/v1/agents/join "{\"name\":\"$2\",\"public_key\":\"$(public "$3")\",\"machine\":\"$4\"}"; }
session() {
	session_at=${5:-$(curl -sS "$NANOPOD_URL/np/v1" | json .now)}
	printf 'nanopod-agent-session\n%s\n%s\n%s\n%s\n' "$1" "$3" "$session_at" "$4" >"$TMP/signed"
	session_sig=$(openssl pkeyutl -sign -inkey "$TMP/$2.pem" -rawin -in "$TMP/signed" | base64 -w0)
	http_call "$NANOPOD_URL" POST "/np/v1/agents/$1/session" \
		"{\"generation\":$3,\"at\":$session_at,\"machine\":\"$4\",\"signature\":\"$session_sig\"}"
}
capacity() {
	capacity_gpus=
	if [ -n "${4-}" ]; then
		set -- "$1" "$2" "$3" $4 # COUNT MODEL [MEMORY]
		capacity_gpus="{\"vendor\":\"nvidia\",\"model\":\"$5\",\"memory_bytes\":${6:-85899345920},\"count\":$4}"
	fi
	printf '{"capacity":{"vcpus":%s,"memory_bytes":%s,"disk_bytes":%s,"gpus":[%s],"driver":"ns","devices":true,"network":true,"node_memory_bytes":0}}' \
		"$1" "$2" "$3" "$capacity_gpus"
}
