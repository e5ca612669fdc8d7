# SPDX-License-Identifier: Apache-2.0
# A node of a tree copy: receives the part file, serves it, and tells how far it is. POSIX sh, coreutils, ssh.
# Lines on standard input say what to do; the end of it, or of this process, removes everything temporary.
# Its arguments: ID TARGET BASE SIZE MODE MTIME KEEP; its first line of input: INDEX MARK
export LC_ALL=C
unset TZ
id=$1 to=$2 base=$3 size=$4 mode=$5 mtime=$6 keep=$7
mask=$(umask) dir='' part='' puller='' ticker='' stop='' over=''
keyfile=$HOME/.ssh/authorized_keys
lock=$keyfile.nanopod-lock who=node turn=0

say() { printf '%s\n' "$*"; }
die() { say "fail $*"; exit 1; }
size_of() { stat -L -c %s -- "$1" 2>/dev/null; }

# One at a time changes the file of keys, on all nodes that share this home directory. A signal waits until it is done.
keys_lock() {
	[ "$over" ] || trap 'stop=1' TERM INT HUP
	keys_locked || { keys_heed; return 1; }
}

keys_heed() {
	[ -z "$over" ] || return 0
	trap 'exit 143' TERM INT HUP
	[ -z "$stop" ] || exit 143
}

# The lock is a directory with its owner's name in it, and no owner has the same name twice. A rename takes over a lock
# that one owner held for ten seconds: it works for one node only, and only while that owner still has the lock.
keys_locked() {
	[ -d "$HOME/.ssh" ] || { mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh" && : >"$dir/made-ssh"; } || return 1
	turn=$((turn + 1)) tries=0 held=''
	owner=$who-$id-$index-$turn
	{ mkdir "$lock.$owner" && : >"$lock.$owner/$owner"; } 2>/dev/null || { rm -rf -- "$lock.$owner"; return 1; }
	until mv -T -- "$lock.$owner" "$lock" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -le 600 ] || { rm -rf -- "$lock.$owner"; return 1; }
		holder=$(ls -- "$lock" 2>/dev/null)
		[ "$holder" = "$held" ] || { held=$holder since=$tries; }
		if [ "$held" ] && [ $((tries - since)) -ge 100 ] && mv -- "$lock/$held" "$lock/$owner" 2>/dev/null; then
			rm -rf -- "$lock.$owner"
			return 0
		fi
		sleep 0.1
	done
}

keys_unlock() {
	rm -f -- "$lock/$owner"
	rmdir -- "$lock" 2>/dev/null
	keys_heed
}

# keys_new MARK LINE: makes $new: the file of keys without the lines that match, and with LINE as its first.
keys_new() {
	rm -f -- "$new" || return 1
	if [ "$seen" ]; then
		cp -p -- "$real" "$new" && [ "$(stat -c '%u %g %a' -- "$new")" = "$(stat -c '%u %g %a' -- "$real")" ] || return 1
		{ [ -z "$2" ] || printf '%s\n' "$2"; } >"$new" && sed -e "/$1/d" -- "$real" >>"$new" || return 1
	else
		(umask 077 && printf '%s\n' "$2" >"$new") || return 1
	fi
	[ -z "$2" ] || grep -q -x -F -e "$2" -- "$new" || return 1
	sync -- "$new"
}

# keys_change MARK [LINE]: a new file takes the place of the old one, so a full disk or a kill harms nothing. Begins
# again where somebody else wrote meanwhile.
keys_change() {
	real=$(readlink -f -- "$keyfile") || return 1
	new=$real.nanopod-$id-$index
	while :; do
		seen=$(stat -c '%i %s %y' -- "$real" 2>/dev/null)
		[ "$seen$2" ] || return 0
		keys_new "$1" "${2-}" 2>/dev/null && [ -e "$lock/$owner" ] || break
		[ "$(stat -c '%i %s %y' -- "$real" 2>/dev/null)" = "$seen" ] || continue
		[ "$seen" ] || : >"$dir/made-keys"
		if [ ! -s "$new" ] && [ -e "$dir/made-keys" ]; then
			rm -f -- "$real" "$new" "$dir/made-keys"
		else
			mv -f -- "$new" "$real" 2>/dev/null || break
		fi
		return 0
	done
	rm -f -- "$new"
	return 1
}

# keys_drop MARK: MARK is a regular expression.
keys_drop() {
	[ -d "$HOME/.ssh" ] && grep -q -e "$1" -- "$keyfile" 2>/dev/null || return 0
	keys_lock || return 1
	keys_change "$1" ''
	keys_unlock
}

# keys_add CHILD ADDRESS TYPE KEY: for ten minutes; a connection that is open by then stays.
keys_add() {
	until=$(date -d "@$(($(date +%s) + 600))" +%Y%m%d%H%M%S) || return 1
	from=
	[ "$2" = - ] || from=",from=\"$2\""
	line="restrict,command=\"sh $dir/serve\",expiry-time=\"$until\"$from $3 $4 nanopod-tree-$id-$index-$1."
	keys_lock || return 1
	keys_change "nanopod-tree-$id-$index-$1[.]" "$line"
	set -- $?
	keys_unlock
	return "$1"
}

clean() {
	over=1
	trap '' TERM INT HUP PIPE
	for job in $puller $ticker; do kill "$job" 2>/dev/null; done
	# The part file first: where it filled the disk, the keys cannot be written anew.
	[ "$keep" = 1 ] || [ -z "$part" ] || rm -f -- "$part"
	[ -z "$dir" ] || keys_drop "nanopod-tree-$id-$index-"
	rm -rf -- "$lock".*-"$id-$index"-*
	[ ! -e "$dir/made-ssh" ] || rmdir "$HOME/.ssh" 2>/dev/null
	[ -z "$dir" ] || rm -rf -- "$dir"
}

# Finds where the file lands: a directory, or a target that ends in '/', gets it under its own name.
place() {
	case $to in '~/'*) to=${to#??} ;; '') to=. ;; esac
	case $to in
	*/) [ -d "$to" ] || mkdir -p -- "$to" 2>/dev/null || die "cannot make the directory '$to'" ;;
	esac
	[ ! -d "$to" ] || to=${to%/}/$base
	# A link stays, and what it leads to is replaced or made.
	if [ -L "$to" ]; then
		end=$(readlink -f -- "$to") || die "'$to' on the host is a link that leads nowhere"
		to=$end
	fi
	name=${to##*/}
	case $to in */*) up=${to%/*}/ ;; *) up=./ ;; esac
	cd -P -- "$up" 2>/dev/null || die "cannot write '$to' on the host: there is no such directory"
	[ ! -d "$name" ] || die "'$to' on the host is a directory"
	[ ! -e "$name" ] || [ -f "$name" ] || die "'$to' on the host is not a plain file"
	part=./.$(printf '%.200s' "$name").$mark.pssh-part
	if [ "$keep" != 1 ] || [ -L "$part" ] || [ ! -f "$part" ]; then
		rm -f -- "$part"
		(umask 077 && set -C && : >"$part") 2>/dev/null ||
			die "cannot write '$to' on the host: permission denied or read-only"
	fi
	at=$(size_of "$part")
	[ "$at" -le "$size" ] || { : >"$part"; at=0; }
	room=$(stat -f -c '%a %S' . 2>/dev/null) && [ $((${room% *} * ${room#* })) -lt $((size - at)) ] &&
		die "cannot write '$to' on the host: no space left on the disk ($((${room% *} * ${room#* })) bytes free)"
	name=./$name
}

# What the key of a child may run: the part file from an offset, followed to its end.
serve_script() {
	cat >"$dir/serve" <<-'SERVE'
		cd "${0%/*}" && read -r size <size || exit 1
		set -- $SSH_ORIGINAL_COMMAND
		case $1-$2 in from-*[!0-9]* | from-) exit 1 ;; from-*) ;; *) exit 1 ;; esac
		# While the file gets its name, the link leads nowhere.
		until { command exec <data; } 2>/dev/null; do [ -e size ] && sleep 0.05 || exit 1; done
		until [ "$(stat -L -c %s /dev/stdin)" -ge "$2" ]; do [ -e size ] && sleep 0.05 || exit 1; done
		tail -c +$(($2 + 1)) || exit 1
		while [ -e size ]; do
			have=$(stat -L -c %s /dev/stdin)
			cat || exit 1
			[ "$have" -lt "$size" ] || exit 0
			sleep 0.05
		done
		exit 1
	SERVE
	echo "$size" >"$dir/size"
	ln -s "$(pwd)/${part#./}" "$dir/data"
}

tick() {
	trap '' PIPE
	last=$at
	while sleep 0.3; do
		# The process that cleans up was killed: do it for it.
		kill -0 $$ 2>/dev/null || { who=ticker; clean; exit; }
		now=$(size_of "$part") || continue
		[ "$now" = "$last" ] || say "at $now"
		last=$now
	done
}

# pull_from ALIAS ADDRESS PORT USER TYPE KEY
pull_from() {
	printf 'nanopod-tree-%s %s %s\n' "$1" "$5" "$6" >"$dir/known"
	bind=
	[ "$me" = - ] || bind="-b $me"
	start=$(size_of "$part")
	say "from $1 $start"
	rm -f "$dir/pulling"
	(
		pull='' told=''
		trap 'told=1; [ -z "$pull" ] || kill $pull 2>/dev/null' TERM
		: >"$dir/pulling"
		# The parent is not trusted: it fills the file that it may send, and not the disk.
		ulimit -f $((size / 512 + 9)) 2>/dev/null
		# shellcheck disable=SC2086
		ssh -F none -T -i "$dir/key" $bind -p "$3" -l "$4" -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \
			-o StrictHostKeyChecking=yes -o UserKnownHostsFile="$dir/known" -o GlobalKnownHostsFile=/dev/null \
			-o HostKeyAlias="nanopod-tree-$1" -o UpdateHostKeys=no -o ConnectTimeout=15 -o ServerAliveInterval=5 \
			-o ServerAliveCountMax=3 -o LogLevel=ERROR -o ControlPath=none -o PermitLocalCommand=no \
			-c aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr,aes256-ctr \
			-- "$2" "from $start" </dev/null >>"$part" 2>"$dir/err" &
		pull=$!
		[ -z "$told" ] || kill $pull 2>/dev/null
		wait $pull
		status=$?
		trap '' TERM
		# A signal between fork and exec is lost; this one is not.
		kill -KILL $pull 2>/dev/null
		wait $pull 2>/dev/null
		[ "$(size_of "$part")" -le "$size" ] || : >"$part"
		say "at $(size_of "$part")"
		say "ended $1 $status $(tail -n 1 "$dir/err" | tr -d '\r' | cut -c 1-200)"
	) &
	puller=$!
	# Before its trap is set, pull_stop() could not end it.
	tries=0
	until [ -e "$dir/pulling" ] || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.01 2>/dev/null; done
}

pull_stop() {
	[ -z "$puller" ] || { kill "$puller" 2>/dev/null; wait "$puller" 2>/dev/null; }
	puller=
}

sum_of() {
	sum=$(sha256sum <"$1") || sum=unreadable
	say "sum $2 ${sum%% *}"
}

# The rights of the file that it replaces; else those of the source, less the umask.
land() {
	rights=$(stat -L -c %a -- "$name" 2>/dev/null) || rights=$(printf %o $((0$mode & ~0$mask)))
	[ -z "$mtime" ] || rights=$mode
	{ chmod "$rights" "$part" && { [ -z "$mtime" ] || touch -d "@$mtime" "$part"; }; } 2>"$dir/err" ||
		die "cannot set mode or times of '$to' on the host: $(tail -n 1 "$dir/err")"
	sync "$part" 2>/dev/null
	mv -f -- "$part" "$name" 2>"$dir/err" || die "cannot give '$to' on the host its name: $(tail -n 1 "$dir/err")"
	there
	say landed
}

# The file is there under its name: children that come later are served from it.
there() {
	ln -s "$(pwd)/${name#./}" "$dir/data.new" && mv -f "$dir/data.new" "$dir/data"
	rm -f -- "$part"
}

read -r index mark || exit 1
trap clean EXIT
trap 'exit 143' TERM INT HUP
cd || exit 1
place
dir=$(mktemp -d "${TMPDIR:-/tmp}/nanopod-tree.XXXXXXXXXX") || die "cannot make a temporary directory on the host"
serve_script
key='- -'
if command -v ssh >/dev/null 2>&1 && ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/key" 2>/dev/null >&2; then
	key=$(cut -d ' ' -f 1,2 "$dir/key.pub")
fi
me=- same=0
[ -z "${SSH_CONNECTION-}" ] || { me=${SSH_CONNECTION% *} me=${me##* }; }
case $me in *[!0-9a-fA-F.:]*) me=- ;; esac
[ "$(size_of "$name")" = "$size" ] && same=1
tick &
ticker=$!
say "hello $at $same $key $me $dir"
while read -r verb a b c d e f; do
	case $verb in
	allow) if keys_add "$a" "$b" "$c" "$d"; then say "allowed $a"; else say "refused $a"; fi ;;
	deny) keys_drop "nanopod-tree-$id-$index-$a." ;;
	pull) pull_stop; pull_from "$a" "$b" "$c" "$d" "$e" "$f" ;;
	stop) pull_stop; say "stopped $(size_of "$part")" ;;
	sum) if [ "$a" = old ]; then sum_of "$name" old & else sum_of "$part" new & fi ;;
	land) land ;;
	there) there ;;
	reset) pull_stop; : >"$part"; say "stopped 0" ;;
	end) exit 0 ;;
	esac
done
exit 1
