# SPDX-License-Identifier: Apache-2.0
want() {
	# Until the node restarts, once.
	! np_changing || [ "$S_restart" != "$NP_NODE" ] || [ -e /var/tmp/tiny.waits ] || { : >/var/tmp/tiny.waits; sleep 86396; }
	echo last | np_file /etc/tiny.last 0644 root:root
}
