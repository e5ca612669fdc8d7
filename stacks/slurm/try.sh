# SPDX-License-Identifier: Apache-2.0
# Remembers the key of the last test, and tests again when the key changes.

tried=$NP_STATE/slurm-key

check() { { [ -s $tried ] && [ "$(cat $tried)" = "$(np_hash /etc/munge/munge.key)" ]; } || np_differs "read a credential of the controller"; }

apply() {
	said=$(unmunge <"$NP_TAKEN" 2>&1)
	case $said in
	*STATUS:*Success*) ;;
	*[Rr]ewound*|*xpired*)
		ahead=behind
		case $said in *xpired*) ahead=ahead ;; esac
		np_fail "the clock of this node is minutes $ahead of the controller's: munge refuses its credentials"
		np_hint "nanopod run -w $NP_NODE date"
		return 1 ;;
	*[Ii]nvalid*|*[Dd]ecode*) np_fail "the munge key of this node is not the controller's"; return 1 ;;
	*) np_fail "munge cannot read the controller's credential: $said"; return 1 ;;
	esac
	np_hash /etc/munge/munge.key | np_file $tried 0600 root:root
	np_did "read a credential of the controller"
}

verify() {
	said=$(timeout 20 scontrol ping 2>&1) && case $said in *UP*) np_ok "slurmctld answers"; return ;; esac
	np_bad "slurmctld does not answer: $(printf '%s\n' "$said" | head -n 1)"
}
