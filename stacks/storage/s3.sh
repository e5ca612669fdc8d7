# SPDX-License-Identifier: Apache-2.0
# A bucket as a folder of every node, by s3fs as a service that starts again when it ends. The key is root's alone, in a file:
# neither argv nor the plan shows it.
S3_KEY=/etc/nanopod-s3.key
S3_UNIT=/etc/systemd/system/nanopod-s3.service

# The source that findmnt shows: whether what is mounted there is ours.
S3_SOURCE=nanopod-s3

s3_is() { [ "$(storage_source)" = "$S3_SOURCE" ]; }
s3_fits() {
	case ${S_bucket-} in
	'') np_hint "--set storage.bucket=NAME"; np_fail "the setting 'storage.bucket' is missing: which bucket?"; return 1 ;;
	*[!A-Za-z0-9._-]* | -* | .*) np_fail "'$S_bucket' is not the name of a bucket"; return 1 ;;
	esac
	case ${S_endpoint-} in
	'' | http://?* | https://?*) ;;
	*) np_hint "--set storage.endpoint=https://…"; np_fail "'$S_endpoint' is not the URL of an S3 server"; return 1 ;;
	esac
	case "$S_endpoint${S_region-}${S_s3fs-}" in *[!A-Za-z0-9.:/_=,@~+-]*) np_fail "'endpoint', 'region' and 's3fs' take letters, digits and . : / _ = , @ ~ + - only"; return 1 ;; esac
	case ",${S_s3fs-}," in *,passwd_file* | *secret* | *,url=*) np_fail "the setting 's3fs' must not say the key, or the URL"; return 1 ;; esac
	case $S_mount in *[!A-Za-z0-9/._-]*) np_fail "'$S_mount': a mount point of S3 has letters, digits and . _ - only"; return 1 ;; esac
	[ -n "${S_credentials-}" ] && return
	np_hint "--set storage.credentials=FILE, a file with ID:SECRET, or like ~/.aws/credentials"
	np_fail "the setting 'storage.credentials' is missing: a file with the key of the bucket"
	return 1
}
# Prints ID:SECRET of a file in either form; of several profiles that of [default], else the first one.
s3_key() {
	awk '
		{ sub(/\r$/, ""); sub(/^[ \t]+/, ""); sub(/[ \t]+$/, "") }
		/^$/ || /^[#;]/ { next }
		/^\[/ { at = $0 == "[default]" ? "" : "other" NR; if (first == "") first = at; next }
		/^[^:= \t]+:[^: \t]+$/ && plain == "" { plain = $0; next }
		{ n = index($0, "="); name = substr($0, 1, n - 1); value = substr($0, n + 1); gsub(/[ \t]/, "", name); gsub(/[ \t]/, "", value) }
		name == "aws_access_key_id" { id[at] = value }
		name == "aws_secret_access_key" { secret[at] = value }
		END {
			if (!("" in id)) { id[""] = id[first]; secret[""] = secret[first] }
			if (id[""] != "" && secret[""] != "") print id[""] ":" secret[""]
			else if (plain != "") print plain
		}' "$1"
}
s3_secret() {
	if [ "$NP_MODE" = check ]; then
		[ -s "$S3_KEY" ] || np_differs "write $S3_KEY"
	else
		s3_from=$(find "$NP_UPLOAD" -type f 2>/dev/null | head -n 1)
		if [ -n "$s3_from" ]; then
			np_rooms && (umask 077; s3_key "$s3_from" >"$np_room/key") || return 1
			[ -s "$np_room/key" ] || {
				np_hint "a line ID:SECRET, or aws_access_key_id = ID and aws_secret_access_key = SECRET"
				np_fail "the file of the setting 'storage.credentials' has no key"
				return 1
			}
			np_file "$S3_KEY" 0600 root:root secret <"$np_room/key" || return 1
			rm -f "$s3_from"
		fi
		[ -s "$S3_KEY" ] || { np_fail "the key of the bucket did not come"; return 1; }
	fi
	[ -z "${NP_UPLOAD_ID-}" ] || addon_put "echo $NP_UPLOAD_ID" "$NP_STATE/brought/s3" 0644 root:root
}

s3_options() {
	printf 'passwd_file=%s,fsname=%s,subtype=s3fs,allow_other,mp_umask=0022,endpoint=%s,retries=5,connect_timeout=20,readwrite_timeout=60' "$S3_KEY" "$S3_SOURCE" "${S_region:-us-east-1}"
	[ -z "${S_endpoint-}" ] || printf ',url=%s,use_path_request_style' "$S_endpoint"
	[ -z "${S_s3fs-}" ] || printf ',%s' "$S_s3fs"
}
s3_off() { printf '[ "$$(findmnt -rn -o SOURCE --mountpoint %s | tail -n 1)" != %s ] || umount -q -l %s' "$S_mount" "$S3_SOURCE" "$S_mount"; }
s3_unit() {
	cat <<-END
		# Written by nanopod (storage).
		[Unit]
		Description=The bucket $S_bucket of the cluster $NP_CLUSTER
		Wants=network-online.target
		After=network-online.target
		[Service]
		ExecStartPre=/bin/sh -c '$(s3_off); ! findmnt -rn --mountpoint $S_mount'
		ExecStart=/usr/bin/s3fs $S_bucket $S_mount -f -o $(s3_options)
		ExecStartPost=/bin/sh -c 'until findmnt -rn -t fuse.s3fs --mountpoint $S_mount && stat $S_mount/.; do kill -0 \$\$MAINPID && sleep 0.1 || exit 1; done'
		ExecStopPost=-/bin/sh -c '$(s3_off)'
		TimeoutStartSec=120
		Restart=always
		RestartSec=5
		[Install]
		WantedBy=multi-user.target
	END
}

s3() {
	s3_fits && storage_path_fits "$S_mount" && storage_free s3_is || return 1
	np_systemd || { np_fail "a bucket is mounted by systemd, which '$NP_HOST' lacks"; return 1; }
	np_packages s3fs || return 1
	storage_mounted || np_dir "$S_mount" 0755 root:root
	s3_secret && addon_put s3_unit "$S3_UNIT" 0644 root:root || return 1
	np_restart nanopod-s3 && np_unit nanopod-s3 && return
	[ "$NP_MODE" = check ] || np_cause "the bucket '$S_bucket' cannot be mounted: $(s3_said)"
	return 1
}
# What s3fs said last of why.
s3_said() {
	s3_why=$(np_unit_log nanopod-s3 | sed -n '/Exiting FUSE/d; s/^.*\[\(CRT\|ERR\)\][^:]*:[a-z0-9_]*([0-9]*): //p; s/^s3fs: //p' | tail -n 1)
	printf '%s' "${s3_why:-is the endpoint right?}"
}
check() { s3; }
apply() { s3; }

verify() {
	np_hold 2 nanopod-s3
	if ! s3_is; then
		np_hint "nanopod logs $NP_CLUSTER s3"
		np_bad "the bucket '$S_bucket' is not mounted on '$S_mount'"
		return 1
	fi
	storage_writable "nanopod logs $NP_CLUSTER s3"
}
undo() {
	! np_active nanopod-s3 || np_control stop nanopod-s3
	storage_off s3_is || return 1
	np_left "the files in the bucket '$S_bucket'"
}
