# SPDX-License-Identifier: Apache-2.0
check() { [ -e /etc/tiny.slow ] || np_differs "take its time"; }
apply() {
	[ "$S_hang" != "$NP_NODE" ] || sleep 86397
	echo slept | np_file /etc/tiny.slow 0644 root:root
}
