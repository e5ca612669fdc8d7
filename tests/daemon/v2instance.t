#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# /v2/instances, and the rest of v2: images, me, workspaces, users, flags, what is not served.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"

v2_start
S=$((NOW + 3600)) E=$((NOW + 7200))
HOST=$(v2_host a1 "$SKU")
v2_offer "$HOST" 12.000000 >/dev/null
v2_offer "$(v2_host a2 "$SKU")" 12.000000 >/dev/null

# ---- Making -------------------------------------------------------------------------------------------
# body NAME [MORE]
body() { printf '{"name":"%s","pool":"train","image":"debian-12","instance_sku":"%s"%s}' "$1" "$SKU" "${2-}"; }
make() { as "$ACME" POST /v2/instances "$1"; }
got=$(make "$(body w1 ',"cloud_init_user_data":"IyEvYmluL3NoCg==","tags":{"role":"worker"},"priority_level":"preferred"')")
is "$(http_status)" 201 "an instance is made before there is anything to run it on"
shape InstanceResponse "$got" "with its shape"
W1=$(json .id <<<"$got")
is "$(json '[.status,.name,.owner,.workspace,.pool.name,.capacity.name,.instance_sku.alias,.image.name,.priority_level,.resource_path] | join(" ")' <<<"$got")" \
	"awaiting_allocation w1 acme default train train richmond debian-12 preferred sfc:instance:acme:default:w1" "what it is"
is "$(json '[.cloud_init_user_data_used, has("cloud_init_user_data"), .tags.role, .expected_shutdown_at, .managed_by, .np_host] | map(tostring) | join(" ")' <<<"$got")" \
	"true false worker null null null" "what it has"
is "$(make '{"pool":"train","image":"sfc:image:sfcompute:public:debian-12","instance_sku":"'"$SKU"'"}' | json '.name | startswith("inst-")')" true "a name is found for one without"
refused 400 name_taken name "a name that is taken" "$(make "$(body w1)")"
refused 422 not_found image "an image that there is not" "$(make "$(body x | jq -c '.image = "windows"')")"
refused 404 not_found pool "a pool that there is not" "$(make "$(body x | jq -c '.pool = "nowhere"')")"
refused 404 not_found pool "a stranger's pool" "$(as "$STRANGER" POST /v2/instances "$(body x | jq -c ".pool = \"$POOL\"")")"
refused 422 not_found instance_sku "a SKU that there is not" "$(make "$(body x | jq -c '.instance_sku = "isku_0000000000001"')")"
for data in '***' 'QQ=' 'QQ' 'Q===' 'QUJD\n' 'QQ==QQ=='; do
	refused 422 invalid cloud_init_user_data "user data that is no base64: $data" "$(make "$(body x ",\"cloud_init_user_data\":\"$data\"")")"
done
head -c 65536 /dev/zero | base64 -w0 >"$TMP/fits"
head -c 65537 /dev/zero | base64 -w0 >"$TMP/big"
printf '%s' "$(body big ",\"cloud_init_user_data\":\"$(cat "$TMP/fits")\"")" >"$TMP/body"
is "$(as "$ACME" POST /v2/instances @"$TMP/body" | json .name)" big "64 KiB of user data fit"
printf '%s' "$(body big2 ",\"cloud_init_user_data\":\"$(cat "$TMP/big")\"")" >"$TMP/body"
refused 422 invalid cloud_init_user_data "one byte more does not" "$(as "$ACME" POST /v2/instances @"$TMP/body")"
is "$(as "$ACME" GET "/v2/instances?include=cloud_init_user_data&limit=1" | json '.data[0].cloud_init_user_data' | base64 -d | wc -c)" 65536 "and comes back whole where it is asked for"
refused 422 invalid enable_public_ipv4 "what cannot be had is refused, not dropped" "$(make "$(body x ',"enable_public_ipv4":true')")"
refused 422 invalid priority_level "a priority that there is not" "$(make "$(body x ',"priority_level":"urgent"')")"
refused 422 unknown_field zone "a field that instances do not have" "$(make "$(body x ',"zone":"a"')")"
refused 403 forbidden "" "a token that may only read" "$(as "$(marketd_token acme read)" POST /v2/instances "$(body x)")"
one=$(as "$ACME" POST /v2/instances "$(body k)" -H 'Idempotency-Key: i-1')
is "$(as "$ACME" POST /v2/instances "$(body k)" -H 'Idempotency-Key: i-1')" "$one" "the same key again: the same instance"

# ---- Getting a host --------------------------------------------------------------------------------------
as "$ACME" POST /v2/orders "$(order buy train 1 $S $E 15.0)" >/dev/null
is "$(as "$ACME" GET /v2/instances/w1 | json '[.status, .np_host] | tojson')" '["awaiting_allocation",null]' "bought, but not yet begun"
v2_clock $S
got=$(as "$ACME" GET /v2/instances/w1)
is "$(json '[.status, .np_host, .expected_shutdown_at] | tojson' <<<"$got")" "[\"awaiting_allocation\",\"$HOST\",$E]" \
	"it has a host then; it runs when its agent says so"
is "$(as "$ACME" GET /v2/instances/big | json .np_host)" null "of a higher priority comes first"
refused 404 not_found "" "no way to it yet" "$(as "$ACME" GET "/v2/instances/$W1/ssh")"
got=$(as "$ACME" GET "/v2/instances/$W1/logs")
shape InstanceLogsResponse "$got" "logs have their shape"
is "$(json '.data | length' <<<"$got")" 0 "and are empty"
refused 422 invalid limit "at most 2500 lines" "$(as "$ACME" GET "/v2/instances/$W1/logs?limit=2501")"
refused 422 invalid sort_by "only by seqnum" "$(as "$ACME" GET "/v2/instances/$W1/logs?sort_by=time")"
got=$(as "$FOUNDRY" POST "/np/v1/instances/$W1/report" '{"status":"running","detail":"booted","hostname":"10.1.2.3","port":2222,
	"host_keys":[{"key_type":"ssh-ed25519","key":"AAAAC3NzaC1lZDI1NTE5AAAAIA=="}]}')
is "$(as "$ACME" GET /v2/instances/w1 | json '.status + " " + .np_detail')" "running booted" "its agent says that it runs"
got=$(as "$ACME" GET "/v2/instances/$W1/ssh")
shape InstanceSshInfo "$got" "the way to it has its shape"
is "$(json '[.hostname, .port, .host_keys[0].key_type] | map(tostring) | join(" ")' <<<"$got")" "10.1.2.3 2222 ssh-ed25519" "as the agent said"

# ---- Finding and changing ---------------------------------------------------------------------------------
for name in "$W1" "vm_${W1#inst_}" w1 sfc:instance:acme:default:w1; do
	is "$(as "$ACME" GET "/v2/instances/$name" | json .id)" "$W1" "found as ${name%%_*}"
	for what in "GET /v2/instances/$name" "GET /v2/instances/$name/ssh" "GET /v2/instances/$name/logs" \
		"POST /v2/instances/$name/terminate" "DELETE /v2/instances/$name"; do
		refused 404 not_found id "a stranger: $what" "$(as "$STRANGER" ${what% *} ${what#* })"
	done
done
refused 404 not_found id "nor may he change it" "$(as "$STRANGER" PATCH "/v2/instances/$W1" '{"name":"mine"}')"
refused 404 not_found id "nor replace it" "$(as "$STRANGER" POST "/v2/instances/$W1/replace" '{"image":"debian-12"}')"
got=$(as "$ACME" PATCH /v2/instances/w1 '{"name":"w1b","tags":{"role":"boss"},"priority_level":"critical"}')
is "$(json '[.id, .name, .tags.role, .priority_level] | join(" ")' <<<"$got")" "$W1 w1b boss critical" "name, tags, priority"
is "$(as "$ACME" PATCH /v2/instances/w1b '{}' | json '[.name, .tags.role, .priority_level] | join(" ")')" "w1b boss critical" "nothing given: nothing changed"
refused 400 name_taken name "another's name" "$(as "$ACME" PATCH /v2/instances/w1b '{"name":"big"}')"
BIG=$(as "$ACME" GET /v2/instances/big | json .id)
got=$(as "$ACME" PATCH /v2/instances "{\"data\":[{\"id\":\"$W1\",\"priority_level\":\"yield\"},{\"id\":\"$BIG\",\"priority_level\":\"critical\"},{\"id\":\"$W1\",\"priority_level\":\"normal\"}]}")
shape BatchPatchInstancesResponse "$got" "many at once: its shape"
is "$(json '[.data[] | .name + ":" + .priority_level] | join(" ")' <<<"$got")" "w1b:normal big:critical" "each once, the last word of each counts"
refused 422 not_found data "one that is not there" "$(as "$ACME" PATCH /v2/instances "{\"data\":[{\"id\":\"$W1\",\"priority_level\":\"yield\"},{\"id\":\"inst_0000000000001\",\"priority_level\":\"yield\"}]}")"
is "$(as "$ACME" GET /v2/instances/w1b | json .priority_level)" normal "and then none is changed"
refused 422 not_found data "nor may a stranger" "$(as "$STRANGER" PATCH /v2/instances "{\"data\":[{\"id\":\"$W1\",\"priority_level\":\"yield\"}]}")"
many=$(jq -nc --arg id "$W1" '{data: [range(101) | {id: $id, priority_level: "yield"}]}')
refused 422 limit_reached data "at most a hundred" "$(as "$ACME" PATCH /v2/instances "$many")"

# ---- Ending ---------------------------------------------------------------------------------------------------
got=$(as "$ACME" POST "/v2/instances/$W1/replace" '{"image":"debian-12","cloud_init_user_data":"QQ=="}')
is "$(http_status) $(json '[.name, .priority_level, .tags.role, .pool.name, .cloud_init_user_data_used] | map(tostring) | join(" ")' <<<"$got")" \
	"201 w1b normal boss train true" "a replacement has what the old one had"
W2=$(json .id <<<"$got")
isnt "$W2" "$W1" "but is another"
is "$(as "$ACME" GET "/v2/instances/$W1" | json .status)" terminated "the old one has ended"
refused 404 wrong_state id "which cannot be replaced again" "$(as "$ACME" POST "/v2/instances/$W1/replace" '{"image":"debian-12"}')"
one=$(as "$ACME" POST "/v2/instances/$W2/replace" '{"image":"debian-12"}' -H 'Idempotency-Key: r-1')
is "$(as "$ACME" POST "/v2/instances/$W2/replace" '{"image":"debian-12"}' -H 'Idempotency-Key: r-1')" "$one" \
	"the same key again: the same replacement, not another"
W2=$(json .id <<<"$one")
refused 422 not_found image "by no image" "$(as "$ACME" POST "/v2/instances/$W2/replace" '{"image":"none"}')"
is "$(as "$ACME" GET "/v2/instances/$W2" | json .status)" awaiting_allocation "and then the old one goes on"
refused 400 name_taken name "nor by a name that is taken" "$(as "$ACME" POST "/v2/instances/$W2/replace" '{"image":"debian-12","name":"big"}')"
refused 409 wrong_state id "one that lives cannot be deleted" "$(as "$ACME" DELETE "/v2/instances/$W2")"
is "$(as "$ACME" POST "/v2/instances/$W2/terminate" | json '[.id, .status, .np_host, .np_ended_at == .updated_at] | tojson')" "[\"$W2\",\"terminated\",null,true]" "terminated"
refused 404 wrong_state id "once" "$(as "$ACME" POST "/v2/instances/$W2/terminate")"
is "$(as "$ACME" GET /v2/instances/w1b | json .id)" "$W2" "its name finds the last that had it"
is "$(as "$ACME" DELETE "/v2/instances/$W2")$(http_status)" 204 "then it can be deleted"
refused 404 not_found id "and is gone" "$(as "$ACME" GET "/v2/instances/$W2")"

# ---- Listing ------------------------------------------------------------------------------------------------------
for n in 1 2 3 4 5; do make "$(body "n$n" ",\"tags\":{\"n\":\"$n\"}")" >/dev/null; done
list() { as "$ACME" GET "/v2/instances?limit=200&$1" | json '[.data[].name] | join(" ")'; }
shape ListInstancesResponse "$(as "$ACME" GET /v2/instances)" "the list has its shape"
is "$(list tag_key=n)|$(list tag=n%3D2)" "n5 n4 n3 n2 n1|n2" "by tag, newest first"
is "$(list status=terminated)|$(list status=running)" "w1b w1b|" "by status"
is "$(list "id=$BIG&id=$W1")|$(list "instance_sku=$SKU&tag_key=n" | wc -w)" "big w1b|5" "by id and SKU"
is "$(list 'pool=train' | wc -w)" "$(list '' | wc -w)" "by pool"
is "$(list "created_after=$S" )" "n5 n4 n3 n2 n1 w1b" "by time"
refused 404 not_found pool "a stranger's pool" "$(as "$STRANGER" GET "/v2/instances?pool=$POOL")"
refused 422 invalid status "a status that there is not" "$(as "$ACME" GET '/v2/instances?status=lost')"
refused 422 invalid include "only user data can be included" "$(as "$ACME" GET '/v2/instances?include=all')"
is "$(as "$STRANGER" GET "/v2/instances?id=$W1" | json '.data | length')" 0 "nobody else's"
pages "$ACME" '/v2/instances?tag_key=n' 2
is "$(tr '\n' ' ' <<<"$out")$pages_count" "n5 n4 n3 n2 n1 3" "in pages"
pages_back "$ACME" '/v2/instances?tag_key=n' 2 "$pages_last"
is "$(tr '\n' ' ' <<<"$out")" "n5 n4 n3 n2 " "and back: all before the last page"

# ---- Images -----------------------------------------------------------------------------------------------------------
got=$(as "$ACME" GET '/v2/images?workspace=sfc:workspace:sfcompute:public')
shape ListImagesResponse "$got" "the list of images has its shape"
shape ImageListEntry "$(jq '.data[0]' <<<"$got")" "so has one"
is "$(json '[.data[] | .name, .is_public, .upload_status] | map(tostring) | join(" ")' <<<"$got")" "debian-12 true completed" "the one that there is"
IMAGE=$(json '.data[0].id' <<<"$got")
is "$(as "$ACME" GET "/v2/images?workspace=sfc:workspace:sfcompute:public&starting_after=$(json .cursor <<<"$got")" | json '.data | length')" 0 "after it there is none"
is "$(as "$ACME" GET /v2/images | json '.data | length')$(as "$ACME" GET '/v2/images?workspace=default' | json '.data | length')" 11 "it is in every list: everybody has it"
refused 404 not_found workspace "another's workspace" "$(as "$ACME" GET '/v2/images?workspace=sfc:workspace:stranger:default')"
for name in "$IMAGE" "vmi_${IMAGE#image_}" debian-12 sfc:image:sfcompute:public:debian-12; do
	is "$(as "$ACME" GET "/v2/images/$name" | json .id)" "$IMAGE" "found as ${name%%_*}"
done
refused 404 not_found id "another there is not" "$(as "$ACME" GET /v2/images/image_0000000000001)"
refused 403 forbidden id "nobody deletes it" "$(as "$ACME" DELETE "/v2/images/$IMAGE")"
refused 403 forbidden id "nor revokes it" "$(as "$ACME" POST "/v2/images/$IMAGE/revoke")"
refused 404 not_found id "nor one that is not there" "$(as "$ACME" DELETE /v2/images/none)"
refused 403 forbidden id "nor reinstates it" "$(as "$ACME" POST "/v2/images/$IMAGE/reinstate")"
refused 403 forbidden id "nor ends its upload" "$(as "$ACME" POST "/v2/images/$IMAGE/complete" '{"sha256":"x"}')"
refused 403 forbidden id "nor sends parts of it" "$(as "$ACME" POST "/v2/images/$IMAGE/parts" '{"part_id":1}')"

# ---- Who one is --------------------------------------------------------------------------------------------------------
got=$(as "$ACME" GET /v2/me)
shape MeResponse "$got" "me has its shape"
is "$(json '[.account_id, .created_at, .user, .entity_type] | tojson' <<<"$got")" "[\"acme\",$NOW,null,null]" "the account; a token is no user"
got=$(as "$ACME" GET /v2/workspaces)
shape ListWorkspacesResponse "$got" "workspaces have their shape"
shape WorkspaceResponse "$(jq '.data[0]' <<<"$got")" "so has the one"
is "$(json '[.data[] | .name, .owner, .resource_path] | join(" ")' <<<"$got")" "default acme sfc:workspace:acme:default" "which is the account's"
WKSP=$(json '.data[0].id' <<<"$got")
is "$(as "$ACME" GET "/v2/workspaces/$WKSP" | json .id)$(as "$ACME" GET /v2/workspaces/default | json .id)" "$WKSP$WKSP" "by id and by name"
refused 404 not_found workspace "a stranger does not see it" "$(as "$STRANGER" GET "/v2/workspaces/$WKSP")"
is "$(as "$STRANGER" GET "/v2/workspaces?id=$WKSP" | json '.data | length')" 0 "nor in a list"
shape ListUsersResponse "$(as "$ACME" GET /v2/users)" "users have their shape"
is "$(as "$ACME" GET /v2/users | json '.data | length')" 0 "there are none"
refused 404 not_found id "not one" "$(as "$ACME" GET /v2/users/alice)"
shape ListUserFeatureFlagsResponse "$(as "$ACME" GET /v2/feature_flags)" "feature flags have their shape"
refused 404 not_found feature_flag "there are none" "$(as "$ACME" POST /v2/feature_flags/zones '{"enrolled":true}')"

# ---- What is not served, and says so --------------------------------------------------------------------------------------
for what in "POST /v2/deployments" "GET /v2/deployments" "GET /v2/deployments/depl_x" "PATCH /v2/deployments/depl_x" \
	"DELETE /v2/deployments/depl_x" "POST /v2/pool_transfers" "GET /v2/pool_transfers" "GET /v2/pool_transfers/pxfr_x" \
	"POST /v2/instance_templates" "GET /v2/instance_templates" "GET /v2/instance_templates/itmpl_x" \
	"DELETE /v2/instance_templates/itmpl_x" "POST /v2/images" "POST /v2/workspaces" "PATCH /v2/workspaces/default" \
	"DELETE /v2/workspaces/default" "GET /v2/images/debian-12/download" "GET /preview/v2/deployments"; do
	case $what in P*) text=$(as "$ACME" ${what% *} ${what#* } '{"whatever":[1]}') ;; *) text=$(as "$ACME" ${what% *} ${what#* }) ;; esac
	is "$(http_status) $(json '.error.type + " " + .error.code' <<<"$text")" "501 not_implemented not_implemented" "not served: $what"
	like "$(json .error.message <<<"$text")" '^[a-z].{20,}' "and a sentence says so"
done
refused 401 unauthenticated "" "not even that without a token" "$(as npk_x GET /v2/deployments)"

# ---- At the quota ------------------------------------------------------------------------------------------------------------
make "$(body keep)" >/dev/null
KEEP=$(as "$ACME" GET /v2/instances/keep | json .id)
has=$(as "$ACME" GET '/v2/instances?limit=200' | json '.data | length')
marketd_stop
marketd_start --test-clock --quota "acme:instances=$has"
out=$(as "$ACME" POST "/v2/instances/$KEEP/replace" '{"image":"debian-12"}')
refused 403 quota_exceeded "" "at the quota it is not replaced" "$out"
is "$(as "$ACME" GET "/v2/instances/$KEEP" | json .status)" awaiting_allocation "and is not stopped"
out=$(as "$ACME" POST /v0/vms/replace "{\"vm_id\":\"vm_${KEEP#inst_}\"}")
refused 403 quota_exceeded vm_id "nor in the words of /v0" "$out"
is "$(as "$ACME" GET "/v2/instances/$KEEP" | json .status)" awaiting_allocation "which does not stop it either"

marketd_stop
is "$marketd_status" 0 "and the market ends well" || diag "$(tail -n 30 "$MARKETD_LOG")"
done_testing
