# SPDX-License-Identifier: Apache-2.0
# For tests/bench/fanout: files to and from one host and many, nanopod cp beside scp, sftp, rsync and clush. Each address
# has a folder of its own, so that copies to many hosts do not meet on this one machine. SFTP is served by sshd itself;
# rsync needs a shell there, which a second port has.

copies_functions='copy_ours copy_back_ours copy_many_ours copy_many_back_ours copy_files_ours copy_scp copy_back_scp copy_sftp copy_many_scp
	copy_many_sftp copy_rsync copy_many_rsync copy_clush each_host'

have rsync || absent rsync "not installed"

copy_ours() { HOME=$tmp/home "$NANOPOD" cp -f 50 -l "$user" -i "$tmp/id" --port "$port" --ssh-config none --known-hosts "$tmp/known_all" "$@"; }
copy_back_ours() { copy_ours "127.$net.0.1:from" "$tmp/back"; }
copy_many_ours() { copy_ours "$2" "$(hosts_range "$1"):to"; }
copy_many_back_ours() { copy_ours "$(hosts_range "$1"):from" "$tmp/backs/{host}"; }
copy_files_ours() { copy_ours -r "$2" "$(hosts_range "$1"):to"; }

# each_host N COMMAND…: {} stands for the host.
each_host() { xargs -a "$(hosts_file "$1")" -P 50 -I{} "${@:2}"; }

copy_scp() { scp -q -r -F "$tmp/ssh_config" "$1" "127.$net.0.1:to"; }
copy_back_scp() { scp -q -F "$tmp/ssh_config" "127.$net.0.1:from" "$tmp/back"; }
copy_sftp() { printf '%s\n' "$1" | sftp -q -b - -F "$tmp/ssh_config" "127.$net.0.1"; }
copy_many_scp() { each_host "$1" scp -q -r -F "$tmp/ssh_config" "$2" "$3"; }

# copy_many_sftp N WORDS…
copy_many_sftp() { each_host "$1" sh -c 'echo "$2" | sftp -q -b - -F "$3" "$1"' sh {} "${*:2}" "$tmp/ssh_config"; }

copy_rsync() { rsync -rt --rsync-path "$(command -v rsync)" -e "ssh -F $tmp/ssh_config -p $shell_port" "$1" "$2"; }
copy_many_rsync() { each_host "$1" rsync -rt --rsync-path "$(command -v rsync)" -e "ssh -F $tmp/ssh_config -p $shell_port" "$2" "$3"; }
copy_clush() { clush -S -f 50 --hostfile="$(hosts_file "$1")" -o "-F $tmp/ssh_config" "${@:2}"; }

# The copies that arrived are the same as what was sent. same FILE COPY...
same() {
	local f=$1 c
	shift
	for c; do
		diff -rq "$f" "$c" >/dev/null 2>&1 || { say "copy differs: $c"; printf '%s\n' "${key:-copy}" >>"$tmp/broken"; }
		rm -rf "$c"
	done
}

# same_many FILE N COPY...: the same, where there have to be so many.
same_many() {
	[ $(($# - 2)) -eq "$2" ] || { say "$(($# - 2)) copies instead of $2"; printf 'copy\n' >>"$tmp/broken"; }
	same "$1" "${@:3}"
}

copies_one() {
	local big=$1 at=127.$net.0.1
	if wanted ours; then
		one copy 1 "$big" nanopod-put copy_many_ours 1 "$tmp/big" && same "$tmp/big" "$tmp/at/1/to"
		one copy 1 "$big" nanopod-get copy_back_ours && same "$tmp/big" "$tmp/back"
	fi
	one copy 1 "$big" scp-put copy_scp "$tmp/big" && same "$tmp/big" "$tmp/at/1/to"
	one copy 1 "$big" scp-get copy_back_scp && same "$tmp/big" "$tmp/back"
	one copy 1 "$big" sftp-put copy_sftp "put $tmp/big to" && same "$tmp/big" "$tmp/at/1/to"
	one copy 1 "$big" sftp-get copy_sftp "get from $tmp/back" && same "$tmp/big" "$tmp/back"
	wanted rsync || return 0
	one copy 1 "$big" rsync-put copy_rsync "$tmp/big" "$at:to" && same "$tmp/big" "$tmp/at/1/to"
	one copy 1 "$big" rsync-get copy_rsync "$at:from" "$tmp/back" && same "$tmp/big" "$tmp/back"
}

# A file to each of many hosts, and one from each.
copies_many() {
	local n=$1 mb=$2 small=$tmp/small
	if wanted ours; then
		one copy "$n" "$mb" nanopod-put copy_many_ours "$n" "$small" && same_many "$small" "$n" "$tmp"/at/*/to
		one copy "$n" "$mb" nanopod-get copy_many_back_ours "$n" && same_many "$small" "$n" "$tmp"/backs/*
	fi
	one copy "$n" "$mb" xargs-scp-put copy_many_scp "$n" "$small" {}:to && same_many "$small" "$n" "$tmp"/at/*/to
	one copy "$n" "$mb" xargs-scp-get copy_many_scp "$n" {}:from "$tmp/backs/{}" && same_many "$small" "$n" "$tmp"/backs/*
	one copy "$n" "$mb" xargs-sftp-put copy_many_sftp "$n" "put $small to" && same_many "$small" "$n" "$tmp"/at/*/to
	one copy "$n" "$mb" xargs-sftp-get copy_many_sftp "$n" "get from $tmp/backs/{}" && same_many "$small" "$n" "$tmp"/backs/*
	if wanted rsync; then
		one copy "$n" "$mb" xargs-rsync-put copy_many_rsync "$n" "$small" {}:to && same_many "$small" "$n" "$tmp"/at/*/to
		one copy "$n" "$mb" xargs-rsync-get copy_many_rsync "$n" {}:from "$tmp/backs/{}" && same_many "$small" "$n" "$tmp"/backs/*
	fi
	wanted clush || return 0
	one copy "$n" "$mb" clush-put copy_clush "$n" --copy "$small" --dest to && same_many "$small" "$n" "$tmp"/at/*/to
	one copy "$n" "$mb" clush-get copy_clush "$n" --rcopy from --dest "$tmp/backs" && same_many "$small" "$n" "$tmp"/backs/*
}

# A folder of small files to one host or many.
copies_files() {
	local n=$1 files=$2 dir=$tmp/files
	if wanted ours; then
		one files "$n" "$files" nanopod copy_files_ours "$n" "$dir" && same_many "$dir" "$n" "$tmp"/at/*/to
	fi
	one files "$n" "$files" xargs-scp-r copy_many_scp "$n" "$dir" {}:to && same_many "$dir" "$n" "$tmp"/at/*/to
	one files "$n" "$files" xargs-sftp-put-r copy_many_sftp "$n" "put -r $dir to" && same_many "$dir" "$n" "$tmp"/at/*/to
	if wanted rsync; then
		one files "$n" "$files" xargs-rsync-r copy_many_rsync "$n" "$dir/" {}:to && same_many "$dir" "$n" "$tmp"/at/*/to
	fi
	wanted clush || return 0
	one files "$n" "$files" clush copy_clush "$n" --copy "$dir" --dest to && same_many "$dir" "$n" "$tmp"/at/*/to
}

section_copy() {
	local i r extra many=50 big=$((${quick:+32} + 0)) small=10 files=200
	[ "$big" -gt 0 ] || big=256
	shell_port=$((port + 20))
	extra="Port $shell_port"
	for ((i = 1; i <= many; i++)); do
		mkdir -p "$tmp/at/$i"
		extra="$extra
Match LocalAddress 127.$net.0.$i LocalPort $shell_port
ForceCommand cd $tmp/at/$i && eval \"\$SSH_ORIGINAL_COMMAND\"
Match LocalAddress 127.$net.0.$i
ForceCommand internal-sftp -d $tmp/at/$i"
	done
	start_sshd "$extra"
	sed "s/\]:$port /]:$shell_port /" "$tmp/known_all" >>"$tmp/known_all.shell" && cat "$tmp/known_all.shell" >>"$tmp/known_all"
	head -c "${big}M" /dev/urandom >"$tmp/big"
	head -c "${small}M" /dev/urandom >"$tmp/small"
	mkdir "$tmp/backs" "$tmp/files"
	for ((i = 0; i < files; i++)); do head -c 4096 /dev/urandom >"$tmp/files/$i"; done
	for ((r = 0; r < runs; r++)); do
		ln -f "$tmp/big" "$tmp/at/1/from"
		copies_one $big
		for ((i = 1; i <= many; i++)); do ln -f "$tmp/small" "$tmp/at/$i/from"; done
		copies_many $many $small
		copies_files 1 $files
		copies_files $many $files
	done
	stop_server
}

head_files='| hosts × files of 4 KB | tool | wall s | files/s | CPU s | peak MiB |
|---|---|--:|--:|--:|--:|'

table_files() {
	awk -v shell="$(shell_cost)" '
	BEGIN { split(shell, s, " ") }
	$1 != "files" { next }
	$10 { printf "| %d × %d | %s | failed | | | |\n", $2, $3, $4; next }
	{ w = $5 - s[1]; printf "| %d × %d | %s | %.2f | %.0f | %.2f | %.0f |\n", $2, $3, $4, w, $2 * $3 / w, $6 - s[2], $7 / 1024 }' "$tmp/medians"
}
