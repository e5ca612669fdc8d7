# SPDX-License-Identifier: Apache-2.0
# The key is generated here and leaves this node only through nanopod's memory.

want() {
	if [ ! -s $munge_key ] || ! { munge_key_ours && [ -d /etc/munge ]; }; then
		np_changing || np_differs "make the munge key"
		! np_changing || head -c 1024 /dev/urandom | np_file $munge_key 0400 munge:munge secret
	fi
	munge_runs
	! np_has_failed || return 1
	if np_changing; then np_give munge-key <$munge_key
	elif [ -s $munge_key ]; then np_give_hash munge-key "$(np_hash $munge_key)"
	fi
}

verify() { munge_verify; }
