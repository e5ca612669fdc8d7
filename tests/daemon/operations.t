#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What this market does with each operation of SF Compute's API: the page daemon/marketd/api/operations.md is what
# the routes say (/openapi.json comes from them), and nothing that is public is simply not found.
#     OPERATIONS=write make check TESTS=tests/daemon/operations.t        writes the page anew
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq
API=$SRC/daemon/marketd/api

marketd_start || exit 1
marketd_account acme
ACME=$(marketd_token acme)
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"

# METHOD, path, state and reason of each, tab-separated; names of {parts} do not count.
grep -v '^#' "$API/public.list" | jq -rR --slurpfile doc "$TMP/openapi.json" '
	def plain: gsub("\\{[^}]*\\}"; "{}");
	($doc[0].paths | with_entries(.key |= plain)) as $paths
	| split(" ") as [$method, $path] | $paths[$path | plain][$method | ascii_downcase] as $op
	| ($op.responses // {} | keys | map(select(. != "default"))[0]) as $ok
	| [$method, $path, (if $op == null then "missing" elif $ok == "501" then "not served"
	  elif $ok >= "400" then "refused" else "served" end), (if ($ok // "0") >= "400" then $op.summary else "" end)]
	| join("\t")' >"$TMP/states"

page() {
	printf '%s\n' '# SF Compute'"'"'s API, operation by operation' '' \
		'What this market does with each operation that SF Compute'"'"'s public schemas and clients have had. Paths under `/v2` also' \
		'exist under `/preview/v2`. *Refused*: it exists, and the answer is always no. *Not served*: it answers 501 with the' \
		'sentence given here. Made from the routes by `tests/daemon/operations.t`.' '' \
		"$(awk -F'\t' '{n[$3]++} END {printf "%d operations: %d served, %d refused, %d not served.", NR, n["served"], n["refused"], n["not served"]}' "$TMP/states")"
	awk -F'\t' '
		{ split($2, part, "/") }
		part[2] != was { was = part[2]; printf "\n## /%s\n\n| operation | | why, and what to use instead |\n|---|---|---|\n", was }
		{ printf "| `%s %s` | %s | %s |\n", $1, $2, $3, $4 }' "$TMP/states"
}
page >"$TMP/operations.md"
[ "${OPERATIONS-}" != write ] || cp "$TMP/operations.md" "$API/operations.md"

is "$(awk -F'\t' '$3 == "missing" {print $1, $2}' "$TMP/states")" "" "every public operation has a route"
ok "most are served" test "$(grep -c "	served	" "$TMP/states")" -gt 70
ok "the page says what the routes say (else: OPERATIONS=write make check TESTS=tests/daemon/operations.t)" \
	cmp "$TMP/operations.md" "$API/operations.md"
is "$(awk -F'\t' '$3 == "not served" && length($4) < 30' "$TMP/states")" "" "what is not served says what to use instead"

# Whatever is asked with: a query, a body, a token of any scope.
while IFS=$(printf '\t') read -r method path state reason; do
	[ "$state" = "not served" ] || continue
	path=$(sed 's/{[^}]*}/some/g' <<<"$path")
	case $method in
	GET | DELETE) got=$(as "$ACME" "$method" "$path?any=thing") ;;
	*) got=$(as "$ACME" "$method" "$path" '{"any":["thing"]}') ;;
	esac
	[ "$(http_status) $(json .error.message <<<"$got")" = "501 $reason" ] || printf '%s %s: %s\n' "$method" "$path" "$got"
done <"$TMP/states" >"$TMP/wrong"
is "$(cat "$TMP/wrong")" "" "each of those answers 501 and that sentence"
as npk_x GET /v0/clusters >/dev/null
is "$(http_status)" 401 "not without a token"
is "$(as "$ACME" GET /preview/v2/roles >/dev/null; http_status)" 501 "under /preview/v2 too"
done_testing
