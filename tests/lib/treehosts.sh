# SPDX-License-Identifier: Apache-2.0
# Hosts that share nothing (POSIX sh, as root; read tap.sh and sshd.sh first): each sshd has a home directory and a
# disk of its own, by a mount namespace, on its own loopback address.
#
#     treehosts_up 8       hosts n1 … n8; $TREE/n1/home and $TREE/n1/data are what n1 sees as ~ and $DATA
#     treehosts_break 3 ssh         n3 has no working ssh, until treehosts_mend 3 ssh
#     treehosts_stuck 1000 3 4      n3 and n4 take no more than 1,000 bytes of a file for now
#     treehosts_kill 3     n3's sshd and all its sessions

treehosts_up() {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip_all "needs root and mount namespaces"
	sshd_setup tree
	at_exit treehosts_down
	TREE=$TMP/hosts DATA=$TMP/data treehosts_home=$(getent passwd "$(id -un)" | cut -d: -f6)
	mkdir -p "$TREE" "$DATA" "$TMP/tmp"
	sed -i "s|SetEnv SHLVL=3|SetEnv SHLVL=3 TMPDIR=$TMP/tmp|" "$SSHD_DIR/sshd_config"
	sed -i 's/^AuthorizedKeysFile.*/AuthorizedKeysFile .ssh\/authorized_keys/' "$SSHD_DIR/sshd_config"
	treehosts_i=0
	while [ $treehosts_i -lt "$1" ]; do
		treehosts_i=$((treehosts_i + 1))
		mkdir -p "$TREE/n$treehosts_i/home/.ssh" "$TREE/n$treehosts_i/data"
		chmod 700 "$TREE/n$treehosts_i/home" "$TREE/n$treehosts_i/home/.ssh"
		cp "$SSHD_KEY.pub" "$TREE/n$treehosts_i/home/.ssh/authorized_keys"
		chmod 600 "$TREE/n$treehosts_i/home/.ssh/authorized_keys"
	done
	for treehosts_try in 1 2 3 4 5 6 7 8; do
		sshd_random
		treehosts_listen "$1" && { sshd_names "$1" n; return; }
	done
	return 1
}

treehosts_listen() {
	TREEHOSTS_PIDS=
	: >"$SSHD_DIR/sshd.log"
	treehosts_i=0
	while [ $treehosts_i -lt "$1" ]; do
		treehosts_i=$((treehosts_i + 1))
		# shellcheck disable=SC2016
		setsid unshare -m sh -c 'mount --bind "$1/home" "$2" && mount --bind "$1/data" "$3" && shift 3 && exec "$@"' sh \
			"$TREE/n$treehosts_i" "$treehosts_home" "$DATA" "$SSHD" -f "$SSHD_DIR/sshd_config" -D -e \
			-o "ListenAddress=$(sshd_address $treehosts_i):$SSHD_PORT" </dev/null >>"$SSHD_DIR/sshd.log" 2>&1 &
		eval "treehosts_pid_$treehosts_i=$!"
		TREEHOSTS_PIDS="$TREEHOSTS_PIDS $!"
	done
	wait_for 30 sshd_settled "$1" && ! grep -q 'Bind to port' "$SSHD_DIR/sshd.log" && return
	treehosts_down
	return 1
}

# A process and all below it.
treehosts_end() {
	for treehosts_child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		(treehosts_end "$treehosts_child")
	done
	kill -KILL "$1" 2>/dev/null
}

# treehosts_break 3 ssh: on n3 that program fails, until treehosts_mend 3 ssh
treehosts_break() {
	eval "nsenter -t \$treehosts_pid_$1 -m mount --bind /bin/false '$(readlink -f "$(command -v "$2")")'"
}

treehosts_mend() { eval "nsenter -t \$treehosts_pid_$1 -m umount '$(readlink -f "$(command -v "$2")")'"; }

# treehosts_stuck BYTES 3…: these hosts take no more than that of a file by cat, until $TMP/go is there or their connection
# ends: a fast machine has no moment between begun and whole.
treehosts_stuck() {
	cp "$(command -v cat)" "$TMP/cat"
	cat >"$TMP/stuck" <<-END
		#!/bin/sh
		[ -f /dev/stdout ] && [ ! -e "$TMP/go" ] || exec "$TMP/cat" "\$@"
		head -c \$(($1 - \$(stat -L -c %s /dev/stdout)))
		[ \$(stat -L -c %s /dev/stdout) -ge $1 ] || exit 0
		while [ ! -e "$TMP/go" ] && kill -0 \$PPID 2>/dev/null; do sleep 0.1; done
		exec "$TMP/cat"
	END
	chmod 755 "$TMP/stuck"
	shift
	for treehosts_i; do
		eval "nsenter -t \$treehosts_pid_$treehosts_i -m mount --bind '$TMP/stuck' '$(readlink -f "$(command -v cat)")'"
	done
}

treehosts_kill() { eval "treehosts_end \$treehosts_pid_$1"; }

treehosts_down() {
	for treehosts_pid in ${TREEHOSTS_PIDS-}; do
		treehosts_end "$treehosts_pid"
		wait "$treehosts_pid" 2>/dev/null
	done
	TREEHOSTS_PIDS=
}
