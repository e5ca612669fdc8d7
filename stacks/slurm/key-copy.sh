# SPDX-License-Identifier: Apache-2.0

check() {
	hash=$(np_taken_hash)
	if [ ! -s $munge_key ]; then
		np_differs "write $munge_key"
		np_note_change
	elif [ -n "$NP_TAKEN" ] && ! cmp -s "$NP_TAKEN" $munge_key || { [ -n "$hash" ] && [ "$(np_hash $munge_key)" != "$hash" ]; } || [ "$(np_about $munge_key)" != "400 munge:munge" ]; then
		np_differs "change $munge_key"
		np_note_change
	fi
	munge_runs
}

apply() {
	np_file $munge_key 0400 munge:munge secret <"$NP_TAKEN"
	munge_runs
}

verify() { munge_verify; }
