# SPDX-License-Identifier: Apache-2.0
# What jobs use: modules, MPI. Before the daemons, because slurmd looks for PMIx when it starts.

has() { case " $S_software " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# shellcheck disable=SC2086 # words
want() { np_packages $S_software && ! np_has_failed && pmix; }

# Debian's plugin of Slurm loads a file that only libpmix-dev has.
pmix() {
	has openmpi-bin || return 0
	for lib in /usr/lib/*/pmix2/lib/libpmix.so.2; do
		link=${lib%.2}
		[ -e "$lib" ] && [ ! -e "$link" ] || continue
		np_changing || { np_differs "link $link"; continue; }
		np_ledger file "$link" absent && ln -s "${lib##*/}" "$link" && np_did "link $link" || np_fail "cannot write '$link'$(np_disk /usr)"
	done
}

verify() {
	if has lmod; then
		said=$(timeout 60 bash -lc 'module --terse avail' 2>&1) && np_ok "modules work" || np_bad "module avail: $(printf '%s\n' "$said" | head -n 1)"
	fi
	has openmpi-bin || return 0
	for lib in /usr/lib/*/pmix2/lib/libpmix.so; do
		if [ -e "$lib" ]; then np_ok "Slurm finds PMIx, which Open MPI needs"; else np_bad "Slurm does not find PMIx, which Open MPI needs: no '$lib'"; fi
	done
}
