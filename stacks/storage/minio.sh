# SPDX-License-Identifier: Apache-2.0
# MinIO's community edition is no longer maintained and has no binaries, so the user provides one. Nanopod formats disks as XFS and mounts them.
MINIO_BIN=/usr/local/bin/minio
MINIO_ENV=/etc/default/minio
MINIO_MARK=/etc/nanopod-minio.key.sum

minio_disks() { disks_of "$1" | awk '{ print NR }'; }
minio_folder() { printf '/srv/minio%s' "$1"; }

# Names every disk of every node, because host names need not be numbered.
minio_volumes() {
	if [ "$(np_members nodes | wc -l)" = 1 ]; then
		for minio_n in $(minio_disks "$NP_HOST"); do printf '%s ' "$(minio_folder "$minio_n")/data"; done
		[ -n "$(disks_of "$NP_HOST")" ] || printf '%s' "$(minio_folder 1)/data"
		return 0
	fi
	for minio_host in $(np_members nodes); do
		for minio_n in $(minio_disks "$minio_host"); do
			printf 'http://%s:9000%s/data ' "$(storage_host "$(np_address "$minio_host")")" "$(minio_folder "$minio_n")"
		done
	done
}
minio_env() {
	read -r minio_user minio_secret <"$NP_TAKEN" || return 1
	cat <<-END
		# Written by nanopod (storage).
		MINIO_ROOT_USER=$minio_user
		MINIO_ROOT_PASSWORD=$minio_secret
		MINIO_VOLUMES="$(minio_volumes | sed 's/ *$//')"
		MINIO_OPTS="--address $(storage_host "$NP_ADDRESS"):9000 --console-address $(storage_host "$NP_ADDRESS"):9001"
	END
}
minio_unit() {
	cat <<-END
		# Written by nanopod (storage).
		[Unit]
		Description=MinIO
		Wants=network-online.target
		After=network-online.target
		[Service]
		User=minio-user
		Group=minio-user
		EnvironmentFile=$MINIO_ENV
		ExecStart=$MINIO_BIN server \$MINIO_OPTS \$MINIO_VOLUMES
		Restart=always
		RestartSec=5
		LimitNOFILE=65536
		[Install]
		WantedBy=multi-user.target
	END
}

minio_fits() {
	[ -n "${S_minio-}" ] || { np_hint "--set storage.minio=FILE"; np_fail "MinIO's binary is missing: its community edition has none any more"; return 1; }
	[ "$(np_members nodes | wc -l)" = 1 ] && return 0
	minio_all=0
	for minio_host in $(np_members nodes); do minio_all=$((minio_all + $(disks_of "$minio_host" | grep -c .))); done
	[ "$minio_all" -ge 4 ] || { np_fail "MinIO on several nodes needs at least 4 disks, but you named $minio_all"; return 1; }
}

minio_program() {
	if [ "$NP_MODE" = check ]; then
		[ -x "$MINIO_BIN" ] || np_differs "write $MINIO_BIN"
	else
		minio_from=$(find "$NP_UPLOAD" -type f 2>/dev/null | head -n 1)
		[ -n "$minio_from" ] || [ -x "$MINIO_BIN" ] || { np_fail "there is no file in '$S_minio'"; return 1; }
		[ -z "$minio_from" ] || np_file "$MINIO_BIN" 0755 root:root secret <"$minio_from" || return 1
	fi
	[ -z "${NP_UPLOAD_ID-}" ] || addon_put "echo $NP_UPLOAD_ID" "$NP_STATE/brought/minio" 0644 root:root
}

minio_mounts() {
	for minio_n in $(minio_disks "$NP_HOST"); do
		printf '%s %s xfs noatime,nofail 0 2\n' "$(disks_of "$NP_HOST" | sed -n "${minio_n}p")" "$(minio_folder "$minio_n")"
	done
}
minio_mount() {
	[ -n "$(disks_of "$NP_HOST")" ] || return 0
	np_packages xfsprogs || return 1
	for minio_n in $(minio_disks "$NP_HOST"); do
		minio_disk=$(disks_of "$NP_HOST" | sed -n "${minio_n}p")
		np_dir "$(minio_folder "$minio_n")" 0755 root:root data
		[ "$(blkid -p -s TYPE -o value "$minio_disk" 2>/dev/null)" != xfs ] || continue
		np_changing || { np_differs "make an XFS on $minio_disk"; continue; }
		mkfs.xfs -q "$minio_disk" || { np_fail "cannot make an XFS on '$minio_disk'"; return 1; }
		np_did "make an XFS on $minio_disk"
	done
	np_rooms && minio_mounts >"$np_room/fstab" && np_block /etc/fstab minio <"$np_room/fstab" || return 1
	for minio_n in $(minio_disks "$NP_HOST"); do
		findmnt -rn --mountpoint "$(minio_folder "$minio_n")" >/dev/null && continue
		np_changing || { np_differs "mount $(minio_folder "$minio_n")"; continue; }
		mount "$(minio_folder "$minio_n")" || { np_fail "'$(minio_folder "$minio_n")' cannot be mounted"; return 1; }
	done
}
minio_folders() {
	for minio_n in $(minio_disks "$NP_HOST") $([ -n "$(disks_of "$NP_HOST")" ] || echo 1); do
		np_dir "$(minio_folder "$minio_n")/data" 0750 minio-user:minio-user data
	done
}

# Never shows the credentials; a stored checksum tells whether they are the current ones.
minio_secrets() {
	if [ -z "${NP_TAKEN-}" ]; then
		[ -s "$MINIO_ENV" ] && [ -n "$(np_taken_hash)" ] && [ "$(cat "$MINIO_MARK" 2>/dev/null)" = "$(np_taken_hash)" ] ||
			np_differs "write $MINIO_ENV"
		return 0
	fi
	addon_put minio_env "$MINIO_ENV" 0600 root:root secret && addon_put minio_sum "$MINIO_MARK" 0600 root:root secret
}
minio_sum() { np_hash "$NP_TAKEN"; }

minio() {
	minio_fits || return 1
	np_group minio-user 64031
	np_user minio-user 64031 /nonexistent
	minio_program && minio_mount && minio_folders && minio_secrets || return 1
	addon_put minio_unit /etc/systemd/system/minio.service 0644 root:root || return 1
	np_restart minio && np_unit minio
}
check() { minio; }
apply() { minio; }

minio_answers() { ss -Hltn "sport = :9000" | awk '{ print $4 }' | grep -qF -e "$(storage_host "$NP_ADDRESS"):9000"; }
# MinIO's own health check: enough disks are there to write.
minio_healthy() {
	# shellcheck disable=SC2016 # bash's own
	timeout 10 bash -c 'exec 3<>"/dev/tcp/$1/9000" && printf "GET /minio/health/cluster HTTP/1.0\r\nHost: minio\r\n\r\n" >&3 && head -n 1 <&3' - "$NP_ADDRESS" 2>/dev/null | grep -q ' 200'
}
verify() {
	np_unit minio
	if np_wait "${S_health_wait:-60}" minio_answers; then np_ok "MinIO listens on $(storage_host "$NP_ADDRESS"):9000"; else
		np_hint "journalctl -u minio -n 50"
		np_bad "MinIO does not listen"
		return 1
	fi
	if np_wait "${S_health_wait:-30}" minio_healthy; then np_ok "MinIO says that its cluster is healthy"; else
		np_hint "journalctl -u minio -n 50, on all nodes; is the clock the same on all of them?"
		np_bad "MinIO does not say that its cluster is healthy"
	fi
}
undo() {
	! np_systemd || systemctl stop minio 2>/dev/null
	for minio_n in $(minio_disks "$NP_HOST"); do umount "$(minio_folder "$minio_n")" 2>/dev/null; done
	for minio_n in 1 $(minio_disks "$NP_HOST"); do
		[ -z "$(ls -A "$(minio_folder "$minio_n")/data" 2>/dev/null)" ] || np_kept "$(minio_folder "$minio_n")" "the objects in it"
	done
}
