#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs as a service of the machine that package.t boots: lines "good TEXT" and "bad TEXT" for it.
exec </dev/null 3>/root/said >/root/output 2>&1
say() { if [ "$1" -eq 0 ]; then echo "good $2"; else echo "bad $2"; systemctl status "${3:-nanopod-marketd}" --no-pager | sed 's/^/# /'; fi >&3; }
wait_for() { local left=$(($1 * 10)); shift; until "$@" >/dev/null 2>&1; do [ $((left -= 1)) -gt 0 ] || return 1; sleep 0.1; done; }
S=/var/lib/nanopod-marketd/socket URL=http://127.0.0.1:8470
op() { curl -sS --unix-socket $S -X "$1" "http://x$2" ${3:+-d "$3"}; }
as() { local t=$1; shift; curl -sS -H "Authorization: Bearer $t" -X "$1" "$URL$2" ${3:+-H 'Content-Type: application/json' -d "$3"}; }
get() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | sed 's/.*: *"\(.*\)"/\1/'; }

systemctl is-active -q nanopod-marketd; [ $? -ne 0 ]; say $? "the market does not start by itself"
systemctl is-active -q nanopod-agentd; [ $? -ne 0 ]; say $? "nor the agent before the machine has joined" nanopod-agentd
systemctl enable -q --now nanopod-marketd; say $? "the market starts"
curl -fsS $URL/healthz >/dev/null; say $? "and answers"
[ "$(ps -o user:32= -p "$(systemctl show -P MainPID nanopod-marketd)")" = nanopod-marketd ]
say $? "as its own user"
systemctl start nanopod-marketd-backup && ls /var/backups/nanopod-marketd/*.db >/dev/null; say $? "its backup is made" nanopod-marketd-backup
systemctl is-enabled -q nanopod-marketd-backup.timer; say $? "and will be each day"
systemctl reload nanopod-marketd && systemctl is-active -q nanopod-marketd; say $? "a reload is taken"

SKU=$(op POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"accelerator":"none"}}' | get id)
for a in acme foundry; do op POST /np/v1/accounts "{\"name\":\"$a\"}" >/dev/null; done
op POST /np/v1/accounts/acme/credits '{"amount_dollars":"100.000000"}'
ACME=$(op POST /np/v1/accounts/acme/tokens '{"scopes":["read","trade","nodes","tokens"]}' | get token)
FOUNDRY=$(op POST /np/v1/accounts/foundry/tokens '{"scopes":["read","trade","nodes","tokens","host"]}' | get token)
echo 'NANOPOD_AGENTD_OPTIONS="--driver process --look 1"' >/etc/nanopod/agentd.conf
as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join"]}' | get token | nanopod-agentd join $URL --name m1 --type cpu --json >/root/joined
HOST=$(grep -o 'host_[a-z0-9]*' /root/joined | head -n 1)
systemctl start nanopod-agentd; say $? "the agent starts once it has joined" nanopod-agentd
own_user() { [ "$(pgrep -c -x -f -U nanopod-agentd 'nanopod-agentd http')" = 2 ]; }
wait_for 30 own_user; say $? "what talks to the market runs as a user of its own" nanopod-agentd
ssh-keygen -q -t ed25519 -N '' -f /root/buyer
from=$(($(date +%s) / 60 * 60 + 60)) to=$(($(date +%s) / 60 * 60 + 7260))
as "$FOUNDRY" POST /np/v1/hosts/$HOST/offers "{\"price_dollars_per_node_hour\":\"1.500000\",\"start_at\":$from,\"end_at\":$to}"
as "$ACME" POST /v2/pools '{"name":"p","workspace":"default"}'
as "$ACME" POST /v2/orders "{\"pool\":\"p\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$from,\"end_at\":$to,\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}"
DATA=$(printf '#cloud-config\nssh_authorized_keys:\n  - %s\n' "$(cat /root/buyer.pub)" | base64 -w0)
as "$ACME" POST /v2/instances "{\"name\":\"n-1\",\"pool\":\"p\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"$DATA\"}"
runs() { [ "$(as "$ACME" GET /np/v1/nodes/n-1 | get status)" = running ]; }
wait_for 150 runs; say $? "a node that was bought runs" nanopod-agentd
on() { ssh -F none -i /root/buyer -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=20 -p 22000 root@127.0.0.1 "$1"; }
on 'setsid sleep 86399 >/dev/null 2>&1 </dev/null &'
wait_for 20 pgrep -x -f 'sleep 86399'
before=$(pgrep -x -f 'sleep 86399') agent=$(systemctl show -P MainPID nanopod-agentd)
[ -n "$before" ]; say $? "its buyer works on it" nanopod-agentd
systemctl restart nanopod-agentd
[ "$(systemctl show -P MainPID nanopod-agentd)" != "$agent" ] && [ "$(pgrep -x -f 'sleep 86399')" = "$before" ] && on true
say $? "systemctl restart nanopod-agentd replaces the agent; the node and what runs in it go on" nanopod-agentd
nanopod --version | grep -q "^nanopod "; say $? "the command runs"
dpkg --purge nanopod nanopod-agentd nanopod-marketd libpssh-dev libpssh0 >/dev/null; say $? "the packages are purged"
[ -z "$(pgrep -x -f 'sleep 86399')" ] && [ ! -e /var/lib/nanopod-agentd ]; say $? "no node is left, nor what its tenant wrote"
[ -s /var/lib/nanopod-marketd/market.db ] || ls /var/lib/nanopod-marketd/*.db >/dev/null; say $? "the ledger stays"
left=$(find /etc /usr /lib/systemd -xdev \( -name '*nanopod*' -o -name '*pssh*' \) ! -path '/usr/share/doc/*' 2>/dev/null)
[ -z "$left" ] || echo "# left: $left" >&3
[ -z "$left" ]; say $? "and leave no file"
