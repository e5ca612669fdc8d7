# SPDX-License-Identifier: Apache-2.0
# Whoever is a person on one node is him on the others: their sshd trusts the host keys of the members, which nanopod saw
# over connections with pinned keys. Root is not included: sshd takes root's own keys alone (IgnoreRhosts).

known=/etc/ssh/ssh_known_hosts
equal=/etc/ssh/shosts.equiv
takes=/etc/ssh/sshd_config.d/nanopod-between.conf
asks=/etc/ssh/ssh_config.d/nanopod-between.conf

# HOST ADDRESS KEY of each member whose host key is known.
peers() {
	np_rows | awk -F '\t' '{ for (i = 5; i <= NF; i++) if ($i ~ /^hostkey=/) print $2, $3, substr($i, 9) }'
}

want() {
	peers | awk '{ print $1 "," $2, $3, $4 }' | np_block $known "$NP_CLUSTER"
	peers | awk '{ print $1; if ($2 != "") print $2 }' | np_block $equal "$NP_CLUSTER"
	printf 'EnableSSHKeysign yes\nHostbasedAuthentication yes\n' | np_file $asks 0644 root:root
	printf 'HostbasedAuthentication yes\nHostbasedUsesNameFromPacketOnly yes\n' | sshd_set $takes
}

# As the first person, to the next member.
verify() {
	name=${S_people%% *}
	next=$(np_all | awk -v me="$NP_HOST" 'NR == 1 { first = $0 } take { print; found = 1; exit } $0 == me { take = 1 } END { if (!found) print first }')
	[ -n "$name" ] && [ "$next" != "$NP_HOST" ] || { np_ok "nothing to try"; return; }
	if said=$(runuser -u "$name" -- timeout 30 ssh -n -o BatchMode=yes -o StrictHostKeyChecking=yes "$next" true 2>&1 </dev/null); then
		np_ok "$name gets from here to '$next' by ssh"
	else
		np_bad "$name cannot get to '$next' by ssh: $(printf '%s\n' "$said" | tail -n 1)"
	fi
}
