#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The market in Backstage's catalogue: its own npm package, which is fetched for the test and no part of this program, checks
# what it would read.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq

marketd_start --name 'Große Märkte & "Co": 1' || done_testing
for sku in h100-sxm h100_pcie.2; do
	operator POST /np/v1/skus "{\"alias\":\"$sku\",\"gpus\":8,\"properties\":{\"accelerator\":\"h100\"}}" >"$TMP/sku"
done
http_call "$NANOPOD_URL" GET /catalog-info.yaml >"$TMP/catalog"
is "$(http_status) $(http_header content-type)" "200 application/yaml" "anybody reads the catalogue"
if have python3 && python3 -c 'import yaml; yaml.CSafeLoader' 2>/dev/null; then
	is "$(python3 -c 'import sys, yaml
for d in yaml.load_all(sys.stdin, yaml.CSafeLoader): print(d["kind"], d["metadata"]["name"], d["metadata"]["title"])' <"$TMP/catalog")" \
		'API Gro-e-M-rkte-Co-1 Große Märkte & "Co": 1
Component Gro-e-M-rkte-Co-1 Große Märkte & "Co": 1
Resource h100-sxm h100-sxm
Resource h100_pcie.2 h100_pcie.2' "libyaml reads it, whatever the market is called"
else
	skip "no python3-yaml with libyaml"
fi

PACKAGES=(@backstage/catalog-model@1.10.3 yaml@2.9.1)
export CATALOG_ROOT=$TMP/npm HOME=$TMP/home
mkdir -p "$CATALOG_ROOT" "$HOME" && printf '{"private":true}\n' >"$CATALOG_ROOT/package.json"
if have node && have npm && (cd "$CATALOG_ROOT" &&
	timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts "${PACKAGES[@]}" >"$TMP/npm.log" 2>&1); then
	is "$(node "$SRC/tests/daemon/catalog.mjs" "$NANOPOD_URL/catalog-info.yaml" 2>"$TMP/node.err")" \
		"api:default/gro-e-m-rkte-co-1 openapi 3.1.0 Gro-e-M-rkte-Co-1
component:default/gro-e-m-rkte-co-1 service - Gro-e-M-rkte-Co-1 Gro-e-M-rkte-Co-1
resource:default/h100-sxm compute - Gro-e-M-rkte-Co-1 component:Gro-e-M-rkte-Co-1
resource:default/h100_pcie.2 compute - Gro-e-M-rkte-Co-1 component:Gro-e-M-rkte-Co-1" "Backstage takes each entity" || diag "$(cat "$TMP/node.err")"
else
	skip "Backstage's package cannot be fetched: $(grep -i error "$TMP/npm.log" 2>/dev/null | head -n 1 | tr -d '#')"
fi
marketd_stop
marketd_start --private
is "$(http_call "$NANOPOD_URL" GET /catalog-info.yaml | grep -c '"kind": "Resource"')" 0 "a private market names no type to strangers"
marketd_account acme
is "$(as "$(marketd_token acme)" GET /catalog-info.yaml | grep -c '"kind": "Resource"')" 2 "and does to customers"
marketd_stop
done_testing
