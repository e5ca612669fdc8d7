# SPDX-License-Identifier: Apache-2.0
# Where must a secret not be? Command lines and environments of all processes that this machine sees, the nodes' too, five
# times a second; and on the nodes every command line that there ever is, written down by what is loaded into each program.
# After cluster_nodes (bash): look_begin; look_end gathers all of it in $TMP/processes; forms and bytes are what to look for.

look_at_processes() {
	while [ -e "$TMP/looking" ]; do
		cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null
		sleep 0.2
	done | tr '\0' '\n' | awk 'length > 8 && !seen[$0]++' >"$TMP/processes"
}
listen() {
	[ -s "$TMP/argv.so" ] || return 0
	in_node_stdin "$1" ': >/run/argv.log; chmod 666 /run/argv.log; cat >/usr/local/lib/argv.so && echo /usr/local/lib/argv.so >/etc/ld.so.preload' <"$TMP/argv.so"
}
look_begin() {
	: >"$TMP/looking"
	at_exit 'rm -f "$TMP/looking"'
	look_at_processes &
	LOOKING=$!
	"${CC:-cc}" -shared -fPIC -O1 -o "$TMP/argv.so" "$SRC/tests/provision/argv.c" >"$TMP/cc.log" 2>&1 || diag "no compiler: only those command lines are looked at that live long enough"
	for node in $CLUSTER_NODES; do listen "$node"; done
}
look_end() {
	rm "$TMP/looking"
	wait "$LOOKING"
	for node in $CLUSTER_NODES; do in_node "$node" 'cat /run/argv.log; rm -f /run/argv.log' >>"$TMP/processes"; done
}

# forms FILE: what of a key would betray it: bytes, base64 at each of three beginnings, hex.
forms() {
	for skip in 0 1 2; do tail -c +$((skip + 1)) "$1" | head -c 48 | base64 -w0 | cut -c 3-62; done
	head -c 24 "$1" | od -An -tx1 | tr -d ' \n'; echo
	head -c 24 "$1" | od -An -tx1 | tr -d ' \n' | tr a-f A-F; echo
}
bytes() { head -c 16 "$1" | od -An -tx1 | tr -d '\n' | sed 's/ /\\x/g'; }
