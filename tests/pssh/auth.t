#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
need ssh-agent ssh-add

# keyboard-interactive needs PAM, whose configuration for sshd is laid over the system's for this
# server alone.
pam_up() {
	[ "$(id -u)" -eq 0 ] && have unshare && [ -d /etc/pam.d ] && unshare -m true 2>/dev/null || return
	cp -r /etc/pam.d "$TMP/pam"
	cat >"$TMP/ask" <<-'END'
		#!/bin/sh
		[ "$(tr -d '\0')" = 'from pam' ]
	END
	chmod 755 "$TMP" "$TMP/ask"
	cat >"$TMP/pam/sshd" <<-END
		auth required pam_exec.so expose_authtok quiet $TMP/ask
		auth required pam_permit.so
		account required pam_permit.so
		session required pam_permit.so
	END
	pam_sshd=$SSHD
	cat >"$TMP/sshd-pam" <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind "\$0" /etc/pam.d && exec "\$@"' '$TMP/pam' '$pam_sshd' "\$@"
	END
	chmod 755 "$TMP/sshd-pam"
	SSHD=$TMP/sshd-pam
	SSHD_EXTRA='UsePAM yes
		KbdInteractiveAuthentication yes
		PubkeyAuthentication no'
	sshd_up 1 p
	SSHD=$pam_sshd SSHD_EXTRA=
	PAM_CONFIG=$SSHD_CONFIG
	export PAM_CONFIG
}

pam_up
ssh-keygen -q -t ed25519 -N '' -f "$TMP/ca"
SSHD_EXTRA="TrustedUserCAKeys $TMP/ca.pub"
sshd_up 5
AUTH_CA=$TMP/ca AUTH_CONFIG=$TMP/auth_config
export AUTH_CA AUTH_CONFIG
# No identity but what the test adds, and an agent where it names one.
grep -Ev 'IdentityFile|IdentitiesOnly|IdentityAgent' "$SSHD_CONFIG" >"$AUTH_CONFIG"
drive auth
