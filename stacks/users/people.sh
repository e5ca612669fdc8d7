# SPDX-License-Identifier: Apache-2.0
# People, with the same names and ids everywhere. Their keys are in a folder of root's, because root must not write into a
# folder whose owner may lay links there. Who left the cluster file loses his user; his files stay.

keys=/etc/ssh/nanopod-keys
accept=/etc/ssh/sshd_config.d/nanopod-users.conf
sudoers=/etc/sudoers.d/nanopod-users

# of NAME WORD: sets $value.
of() {
	case $1 in *-*) np_word=$(printf '%s' "$1" | tr - _) ;; *) np_word=$1 ;; esac
	eval "value=\${S_people_${np_word}_$2-}"
}
homes() {
	case ${S_home:-auto} in
	auto) if mountpoint -q /shared && shared_by_all; then echo /shared/home; else echo /home; fi ;;
	*) printf '%s\n' "${S_home%/}" ;;
	esac
}
# A file system of the network, or one disk of one machine below all members: the machine's own id of it says which.
shared_by_all() {
	case $(stat -f -c %T /shared) in
	ext* | xfs | btrfs) np_rows | ID=$(stat -f -c %i /shared) awk -F '\t' '
		{ same = 0; for (i = 5; i <= NF; i++) same += $i == "shared=" ENVIRON["ID"]; if (!same) other = 1 }
		END { exit other || !NR }' ;;
	esac
}
# Those whom this step made here.
made() { sed -n "s/^$NP_STEP${np_tab}person$np_tab\\([^$np_tab]*\\).*/\\1/p" "$(np_book)" 2>/dev/null; }

want() {
	base=$(homes)
	for name in ${S_groups-}; do
		case $name in *-*) np_word=$(printf '%s' "$name" | tr - _) ;; *) np_word=$name ;; esac
		eval "gid=\$S_groups_$np_word"
		np_group "$name" "$gid" people || return
	done
	if [ -n "$S_people" ] && [ ! -d "$base" ]; then np_dir "$base" 0755 root:root data; fi
	for name in $S_people; do
		np_uses "$name"
		person "$name" || return
	done
	for name in $(made); do
		case " $S_people " in *" $name "*) continue ;; esac
		if np_changing; then leave "$name" || return; else np_differs "remove user $name"; np_note_change; fi
	done
	access
}

person() {
	of "$1" uid; uid=$value
	of "$1" shell; shell=${value:-/bin/bash}
	of "$1" groups; groups=$(printf '%s' "$value" | tr ' ' ,)
	home=$base/$1
	if np_line=$(getent passwd "$1"); then
		has=${np_line#*:*:}
		has=${has%%:*}
		if [ "$has" != "$uid" ]; then
			np_hint "'uid: $has' below '$1' in the cluster file takes that user"
			np_fail "user '$1' has the id $has on this node, not $uid: it must be the same on all nodes"
			return 1
		fi
		change "$1" || return
	else
		! np_line=$(getent passwd "$uid") || { np_fail "the id $uid belongs to user '${np_line%%:*}' on this node but is needed for '$1'"; return 1; }
		np_changing || { np_differs "add user $1 ($uid)"; return 0; }
		np_group "$1" "$uid" people && np_ledger person "$1" "$home" &&
			useradd -M -u "$uid" -g "$uid" -d "$home" -s "$shell" ${groups:+-G "$groups"} -p '*' "$1" ||
			{ np_has_failed || np_fail "cannot add user '$1'$(np_disk /etc)"; return 1; }
		np_did "add user $1 ($uid)"
	fi
	# A folder that all nodes share has one maker; root is nobody there on the others.
	[ ! -d "$home" ] || return 0
	np_changing || { np_differs "make $home"; return 0; }
	make_home "$1" || np_wait 60 test -d "$home" || { np_fail "cannot make '$home'$(np_disk "$base")"; return 1; }
}

# One whom we made is as the file says; another's user is as he was.
change() {
	made | grep -qxF "$1" || return 0
	np_now=$(id -nG "$1" | tr ' ' '\n' | grep -vxF "$1" | sort | tr '\n' ,)
	np_then=$(printf '%s\n' "$groups" | tr , '\n' | grep . | sort | tr '\n' ,)
	# One whose removal was cut off is locked.
	np_word=$(getent shadow "$1" | cut -d : -f 2,8)
	[ "$np_line" = "${np_line%:*:*}:$home:$shell" ] && [ "$np_now" = "$np_then" ] && [ "$np_word" = '*:' ] && return
	np_note_change
	np_changing || { np_differs "change user $1"; return 0; }
	usermod -d "$home" -s "$shell" -G "$groups" -p '*' -e '' "$1" || { np_fail "cannot change user '$1'"; return 1; }
	np_did "change user $1"
}

# Complete at once or not at all.
make_home() {
	np_tmp=$(mktemp -d "$home.XXXXXX") || return 1
	if cp -rT /etc/skel "$np_tmp" 2>/dev/null && chown -R "$uid:$uid" "$np_tmp" && chmod 0700 "$np_tmp" && mv -T "$np_tmp" "$home"; then np_did "make $home"; return 0; fi
	rm -rf "$np_tmp"
	return 1
}

# Whoever leaves must be out at once: no key, no process.
leave() {
	rm -f "$keys/$1"
	np_undo_person "$1" && LINE=$1 awk -F '\t' -v step="$NP_STEP" '!($1 == step && ($2 == "person" || $2 == "group") && $3 == ENVIRON["LINE"])' "$(np_book)" >"$(np_book).new" &&
		chmod 600 "$(np_book).new" && mv -f "$(np_book).new" "$(np_book)"
}
np_undo_person() {
	getent passwd "$1" >/dev/null || return 0
	np_home=$(getent passwd "$1" | cut -d : -f 6)
	usermod -L -e 1 "$1"
	pkill -KILL -U "$1"
	np_locks_clear
	np_wait 20 gone "$1" || { np_fail "cannot remove user '$1': $(pgrep -U "$1" | wc -l) processes go on"; return 1; }
	! getent group "$1" >/dev/null || groupdel "$1" 2>/dev/null
	# Untouched since it was made, and not one that other nodes have.
	if [ -d "$np_home" ] && diff -r /etc/skel "$np_home" >/dev/null 2>&1 && [ "${np_home#/shared/}" = "$np_home" ]; then rm -rf "$np_home"; fi
	np_did "remove user $1"
	[ ! -d "$np_home" ] || np_left "$np_home: the files of $1"
}
gone() { pkill -KILL -U "$1"; userdel "$1" 2>/dev/null; ! getent passwd "$1" >/dev/null; }

# ---- How they get in, and what they may --------------------------------------------------------------------------
access() {
	np_dir $keys 0755 root:root
	may=''
	for name in $S_people; do
		of "$name" keys
		if [ -n "$value" ]; then printf '%s\n' "$value" | np_file "$keys/$name" 0644 root:root
		elif [ -e "$keys/$name" ]; then np_absent "$keys/$name"
		fi
		of "$name" sudo
		case $value in yes|true) may="$may$name ALL=(ALL:ALL) NOPASSWD: ALL$np_newline" ;; esac
	done
	# What the node has now stays, and the folder of root's is added.
	now=$(sshd -T 2>/dev/null | sed -n 's/^authorizedkeysfile //p' | tr ' ' '\n' | grep -vxF "$keys/%u" | xargs)
	printf 'AuthorizedKeysFile %s %s/%%u\n' "${now:-.ssh/authorized_keys}" $keys | sshd_set $accept || return
	if np_changing && ! np_has_failed && ! sshd -T 2>/dev/null | grep -qF "$keys/%u"; then
		np_fail "sshd does not read '$accept': its sshd_config includes no sshd_config.d"
		return 1
	fi
	if [ -n "$may" ]; then
		np_packages sudo
		printf '%s' "$may" | np_file $sudoers 0440 root:root
	elif [ -e $sudoers ]; then np_absent $sudoers
	fi
	# What other stacks read of them: account, shares and limits.
	for name in $S_people; do
		of "$name" account; account=$value
		of "$name" shares; shares=$value
		of "$name" limits
		printf '%s\t%s\t%s\t%s\n' "$name" "${account:-users}" "${shares:-1}" "$value"
	done | np_file $NP_STATE/people 0600 root:root
}

verify() {
	n=0
	for name in $S_people; do
		of "$name" uid
		if [ "$(id -u "$name" 2>/dev/null)" = "$value" ]; then n=$((n + 1)); else np_bad "user '$name' is missing"; fi
		home=$(getent passwd "$name" | cut -d : -f 6)
		[ -d "$home" ] || np_bad "'$home' is missing"
	done
	np_has_failed || np_ok "$n users"
}
