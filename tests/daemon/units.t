#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The units of both daemons, as `make install` puts them: systemd reads them, the market's is a narrow place, the agent's
# lets nodes live. tests/daemon/package.t starts them.
. "$(dirname "$0")/../lib/tap.sh"
need systemd-analyze make
units=$TMP/lib/systemd/system
ok "they are installed below the prefix" make -s -C "$BUILD" prefix="$TMP" exec_prefix="$TMP" install-systemdunitDATA \
	install-dist_systemdunitDATA install-dist_sysusersDATA install-dist_tmpfilesDATA
is "$(find "$TMP/lib" -type f -exec basename {} \; | sort | tr '\n' ' ')" \
	"nanopod-agentd.conf nanopod-agentd.conf nanopod-agentd.service nanopod-marketd-backup.service nanopod-marketd-backup.timer nanopod-marketd.conf nanopod-marketd.conf nanopod-marketd.service " \
	"three services, a timer, two users, folders"
# verify wants the programs and the manuals to be there.
mkdir -p "$TMP/sbin"
for daemon in marketd agentd; do ln -s "$BUILD/nanopod-$daemon" "$TMP/sbin/"; done
sbin=$(sed -n 's,^ExecStart=\(/.*\)/nanopod-agentd .*,\1,p' "$units/nanopod-agentd.service")
sed -i "s,$sbin/nanopod-,$TMP/sbin/nanopod-," "$units"/*.service
verify() { systemd-analyze verify --man=no "$1" 2>&1 | grep -v -e '^/lib/' -e '^/usr/lib/' -e '^/etc/' -e 'Failed to' || true; }
for unit in "$units"/*; do is "$(verify "$unit")" "" "systemd has no complaint about ${unit##*/}"; done
cp "$units/nanopod-marketd.service" "$TMP/wrong.service"
sed -i 's/^PrivateTmp=.*/PrivateTmpp=yes/' "$TMP/wrong.service"
like "$(verify "$TMP/wrong.service")" "PrivateTmpp" "(it complains about a wrong one)"
ok "the users are well written" systemd-sysusers --dry-run "$TMP/lib/sysusers.d/nanopod-marketd.conf" \
	"$TMP/lib/sysusers.d/nanopod-agentd.conf"

# exposure UNIT: 0.0 to 10.0, as ten times as much.
exposure() { systemd-analyze security --offline=yes "$units/$1" 2>/dev/null |
	sed -n 's/.*Overall exposure level.*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p'; }
market=$(exposure nanopod-marketd.service) backup=$(exposure nanopod-marketd-backup.service)
ok "systemd-analyze security of the market: ${market:-none} of 100, no more than 15" test "${market:-100}" -le 15
ok "of its backup: ${backup:-none}, no more than 15" test "${backup:-100}" -le 15

# What the agent starts must outlive it and inherit nothing.
for line in KillMode=process Delegate=yes "RestartPreventExitStatus=2 3 5"; do
	ok "the agent's unit has $line" grep -qx "$line" "$units/nanopod-agentd.service"
done
not_ok "and nothing that nodes would inherit, nor a mount namespace of its own" \
	grep -E '^(NoNewPrivileges|SystemCall|Protect|Private|RestrictA|RestrictN|RestrictR|RestrictS|LockPersonality|MemoryDeny|Limit|ReadWrite|ReadOnly)' \
	"$units/nanopod-agentd.service"
done_testing
