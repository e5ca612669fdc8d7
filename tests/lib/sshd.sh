# SPDX-License-Identifier: Apache-2.0
# Real, throw-away sshd for tests (POSIX sh; read tap.sh first). Own keys, own configuration, own
# addresses in 127/8; nothing of the system's sshd or of ~/.ssh is used.
#
#     sshd_up 3            hosts n1 n2 n3 answer; sets what follows
#     "$NANOPOD" run --ssh-config "$SSHD_CONFIG" -w 'n[1-3]' -- uptime
#     sshd_down            also at the end by itself
#
# $SSHD_DIR (id, id.pub, known_hosts, ssh_config, sshd_config, sshd.log) $SSHD_CONFIG $SSHD_KEY
# $SSHD_KNOWN $SSHD_PORT $SSHD_NET (127.a.b) $SSHD_USER. $SSHD_EXTRA, set before, is added to the
# top of sshd_config, $SSHD_LIMIT changes MaxStartups.

SSHD=${SSHD:-$(PATH=$PATH:/usr/sbin:/usr/local/sbin:/sbin command -v sshd || :)}

sshd_available() { [ -n "$SSHD" ] && command -v ssh-keygen >/dev/null 2>&1; }

# Keys and configuration only: enough for `$SSHD_PROXY`, an sshd on standard input without a port.
sshd_setup() {
	sshd_available || skip_all "sshd is not installed (Debian: openssh-server)"
	SSHD_DIR=$TMP/sshd${1-} SSHD_USER=$(id -un)
	SSHD_CONFIG=$SSHD_DIR/ssh_config SSHD_KEY=$SSHD_DIR/id SSHD_KNOWN=$SSHD_DIR/known_hosts
	mkdir -m 700 "$SSHD_DIR" || return
	ssh-keygen -q -t ed25519 -N '' -C test -f "$SSHD_DIR/host" &&
		ssh-keygen -q -t ed25519 -N '' -C test -f "$SSHD_KEY" || return
	cp "$SSHD_KEY.pub" "$SSHD_DIR/authorized_keys"
	# As root sshd wants its chroot; elsewhere the system's start script makes it.
	[ "$(id -u)" -ne 0 ] || [ -d /run/sshd ] || mkdir -m 755 /run/sshd
	sshd_pam=no
	# Without PAM a '!' in front of the password means a locked account, which may not log in by key.
	case $(id -u):$(getent shadow "$SSHD_USER" 2>/dev/null) in 0:*:!*) sshd_pam=yes ;; esac
	# SHLVL: bash reads ~/.bashrc for sshd's commands only below 2, and the tests are not about that.
	cat >"$SSHD_DIR/sshd_config" <<-END
		${SSHD_EXTRA-}
		HostKey $SSHD_DIR/host
		AuthorizedKeysFile $SSHD_DIR/authorized_keys
		PidFile none
		UsePAM $sshd_pam
		StrictModes no
		UseDNS no
		PermitRootLogin yes
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitUserRC no
		PrintMotd no
		PrintLastLog no
		AcceptEnv *
		SetEnv SHLVL=3
		MaxStartups ${SSHD_LIMIT:-1000}
		MaxSessions 200
		Subsystem sftp internal-sftp
	END
	# Since OpenSSH 9.8 an address that failed to sign in is refused for a while, and here there is but one.
	if "$SSHD" -t -f "$SSHD_DIR/sshd_config" -o PerSourcePenalties=no 2>/dev/null; then
		echo 'PerSourcePenalties no' >>"$SSHD_DIR/sshd_config"
	fi
	SSHD_PROXY="$SSHD -i -f $SSHD_DIR/sshd_config"
	cat >"$SSHD_CONFIG" <<-END
		Host *
		  User $SSHD_USER
		  IdentityFile $SSHD_KEY
		  IdentitiesOnly yes
		  IdentityAgent none
		  UserKnownHostsFile $SSHD_KNOWN
		  GlobalKnownHostsFile none
		  StrictHostKeyChecking yes
	END
	: >"$SSHD_KNOWN"
}

# sshd_up N [NAME-PREFIX]: a call for each set of hosts; the last one's variables stay.
sshd_up() {
	sshd_sets=$((${sshd_sets:-0} + 1))
	sshd_setup "$sshd_sets" || return
	[ -n "${SSHD_PIDS-}" ] || at_exit sshd_down
	for sshd_try in 1 2 3 4 5 6 7 8; do
		sshd_random
		sshd_listen "$1" && { sshd_names "$1" "${2:-n}"; return; }
	done
	diag "sshd does not start:"; sed 's/^/#   /' "$SSHD_DIR/sshd.log"
	return 1
}

# Below the ports that outgoing connections take, on addresses that no other test is likely to have.
sshd_random() {
	set -- $(od -An -N4 -tu1 /dev/urandom)
	SSHD_NET=127.$(($1 % 250 + 2)).$(($2 % 200 + 1)) SSHD_PORT=$((20000 + ($3 * 256 + $4) % 12000))
}

sshd_address() { printf '%s.%d.%d' "${SSHD_NET%.*}" $((${SSHD_NET##*.} + ($1 - 1) / 250)) $((($1 - 1) % 250 + 1)); }

# One process has at most 16 listening sockets.
sshd_listen() {
	sshd_i=1 sshd_new=
	: >"$SSHD_DIR/sshd.log"
	while [ $sshd_i -le "$1" ]; do
		set -- "$1" -f "$SSHD_DIR/sshd_config" -D -e
		sshd_n=0
		while [ $sshd_n -lt 16 ] && [ $sshd_i -le "$1" ]; do
			set -- "$@" -o "ListenAddress=$(sshd_address $sshd_i):$SSHD_PORT"
			sshd_i=$((sshd_i + 1)) sshd_n=$((sshd_n + 1))
		done
		sshd_all=$1; shift
		"$SSHD" "$@" </dev/null >>"$SSHD_DIR/sshd.log" 2>&1 &
		sshd_new="$sshd_new $!"
		set -- "$sshd_all"
	done
	SSHD_PIDS="${SSHD_PIDS-}$sshd_new"
	wait_for 20 sshd_settled "$1" "$sshd_new" && ! grep -q 'Bind to port' "$SSHD_DIR/sshd.log" && return
	kill $sshd_new 2>/dev/null
	return 1
}

# Every address is listened on, or one cannot be.
sshd_settled() {
	grep -Eq 'Bind to port|fatal|error' "$SSHD_DIR/sshd.log" ||
		[ "$(grep -c '^Server listening on' "$SSHD_DIR/sshd.log")" -ge "$1" ]
}

sshd_names() {
	sshd_key=$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub") sshd_i=1
	while [ $sshd_i -le "$1" ]; do
		sshd_at=$(sshd_address $sshd_i)
		printf '[%s]:%s %s\n' "$sshd_at" "$SSHD_PORT" "$sshd_key" >>"$SSHD_KNOWN"
		printf 'Host %s%d\n  HostName %s\n  Port %s\n' "$2" $sshd_i "$sshd_at" "$SSHD_PORT"
		sshd_i=$((sshd_i + 1))
	done >"$SSHD_DIR/hosts"
	cat "$SSHD_CONFIG" >>"$SSHD_DIR/hosts" && mv "$SSHD_DIR/hosts" "$SSHD_CONFIG"
}

# The listeners, and the sessions that they still hold.
sshd_down() {
	for sshd_pid in ${SSHD_PIDS-}; do
		for sshd_child in $(cat /proc/"$sshd_pid"/task/*/children 2>/dev/null); do
			kill "$sshd_child" 2>/dev/null
		done
		kill "$sshd_pid" 2>/dev/null
		wait "$sshd_pid" 2>/dev/null
	done
	SSHD_PIDS=
}
