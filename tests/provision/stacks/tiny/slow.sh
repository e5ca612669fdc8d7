# SPDX-License-Identifier: Apache-2.0
check() { [ -e /etc/tiny.slow ] || np_differs "take its time"; }
apply() {
	[ "$S_hang" != "$NP_NODE" ] || sleep 86397
	# Until the node restarts, once.
	[ "$S_restart" != "$NP_NODE" ] || [ -e /var/tmp/tiny.waits ] || { : >/var/tmp/tiny.waits; sleep 86396; }
	echo slept | np_file /etc/tiny.slow 0644 root:root
}
