# SPDX-License-Identifier: Apache-2.0
# Writes the names of all members into /etc/hosts, the same block on all nodes.

want() {
	np_rows | awk -F '\t' '$3 { print $3, $2 ($1 != $2 && $1 ~ /^[A-Za-z0-9.-]+$/ ? " " $1 : "") }' | np_block /etc/hosts "$NP_CLUSTER"
}

verify() {
	for host in $(np_all); do
		address=$(getent ahosts "$host" | awk '{ print $1 }')
		case "
$address
" in
		*"
$(np_address "$host")
"*) ;;
		*) np_bad "'$host' is ${address:-unknown} here, not $(np_address "$host")" ;;
		esac
	done
	np_has_failed || np_ok "all names resolve"
}
