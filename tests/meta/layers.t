#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arrow table (tests/meta/arrows) against the include lines of the tree.
. "$(dirname "$0")/../lib/tap.sh"
cd "$SRC" || exit 99

arrows=$SRC/tests/meta/arrows
find lib cli daemon examples tests/pssh -name '*.[ch]' 2>/dev/null | LC_ALL=C sort >"$TMP/files"
[ -s "$TMP/files" ] || { fail "there are sources to look at"; done_testing; }

# check FILE-LIST [TREE]: prints each include line that the table does not allow.
check() {
	(cd "${2:-.}" && xargs awk -v arrows="$arrows" '
	BEGIN {
		while ((getline line < arrows) > 0) {
			n = split(line, word, /[ \t]+/)
			if (line ~ /^#/ || n < 3)
				continue
			row[++rows] = word[1]
			for (i = 2; i <= n; i++)
				if (word[i] != "-")
					allowed[rows, word[i]] = 1
		}
	}
	function room_of(path, i) {
		for (i = 1; i <= rows; i++)
			if (path == row[i] || index(path, row[i] "/") == 1)
				return i
		return 0
	}
	# Is the path in a room that is further in than `own`?
	function below(own, path, i, inner) {
		for (i = 1; i <= rows; i++) {
			inner = row[i]
			sub(/^(lib|daemon)\//, "", inner)
			if (index(inner, own "/") == 1 && index(path, inner "/") == 1)
				return 1
		}
		return 0
	}
	function may(r, path, key, part, stem) {
		for (key in allowed) {
			split(key, part, SUBSEP)
			stem = part[2]
			if (part[1] == r && (stem == path || (sub(/\*$/, "", stem) && index(path, stem) == 1)))
				return 1
		}
		return 0
	}
	FNR == 1 {
		room = room_of(FILENAME)
		if (!room)
			print FILENAME ": no room of the table"
	}
	/^[ \t]*#[ \t]*include/ && room {
		path = $0
		sub(/^[^"<]*["<]/, "", path)
		sub(/[">].*/, "", path)
		own = row[room]
		sub(/^(lib|daemon)\//, "", own)
		sub(/\/[^\/]*\.[ch]$/, "", own)
		if (/</) {
			if (path ~ /^(assert|ctype|dirent|dlfcn|endian|errno|fcntl|fnmatch|getopt|glob|grp|inttypes|langinfo|limits|locale|malloc|math|netdb|poll|pthread|pty|pwd|regex|sched|search|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdio_ext|stdlib|stdnoreturn|string|strings|sysexits|syslog|termios|threads|time|unistd|utime|wchar|wctype)\.h$/ ||
				path ~ /^(sys|netinet|arpa|net|linux)\//)
				next
			if (!may(room, path))
				print FILENAME ":" FNR ": <" path ">"
			next
		}
		# Its own room by full name (a room below has a line of its own); within tests also by relative name.
		if ((index(path, own "/") == 1 && !below(own, path)) || (FILENAME ~ /^tests\// && path !~ /^(base|conf|market|marketd|agentd|pssh|cli)\//))
			next
		if (!may(room, path))
			print FILENAME ":" FNR ": \"" path "\""
	}') <"$1"
}

check "$TMP/files" >"$TMP/broken"
is "$(cat "$TMP/broken")" "" "$(wc -l <"$TMP/files") files include only what tests/meta/arrows allows"

# The check itself: each of these lines must be found, each of those not.
probe() {
	mkdir -p "$TMP/tree/${1%/*}"
	printf '#include %s\n' "$2" >"$TMP/tree/$1"
	echo "$1" >"$TMP/one"
	check "$TMP/one" "$TMP/tree"
}
# Each line: a file, then an include line that it must not have.
while read -r file line; do
	isnt "$(probe "$file" "$line")" "" "forbidden: $file includes $line"
done <<-'END'
	lib/base/x.c "pssh/pssh.h"
	lib/base/x.c <libssh2.h>
	lib/base/x.c "cli/frame/command.h"
	lib/base/x.c <foo.h>
	lib/conf/x.c "pssh/pssh.h"
	lib/pssh/x.c "conf/conf.h"
	lib/pssh/x.c <yaml.h>
	lib/pssh/x.c "cli/frame/print.h"
	lib/pssh/x.c "buf.h"
	lib/pssh/x.c "pssh/session/conn.h"
	lib/pssh/session/x.c "pssh/pssh.h"
	lib/pssh/session/x.c "pssh/fleet/fleet.h"
	lib/pssh/keys/x.c "pssh/session/conn.h"
	lib/pssh/names/x.c <libssh2.h>
	cli/x.c "pssh/session/conn.h"
	cli/x.c <libssh2.h>
	cli/x.c <readline/readline.h>
	cli/cmd/run.c <readline/history.h>
	cli/x.c "lib/base/buf.h"
	cli/x.c "../lib/base/buf.h"
	cli/frame/x.c "cli/trade/plan.h"
	cli/trade/x.c "cli/nodes/node.h"
	cli/nodes/x.c "cli/remote/fanout.h"
	cli/remote/x.c "cli/trade/purchase.h"
	cli/provision/model/x.c "cli/provision/rollout/rollout.h"
	cli/provision/report/x.c "cli/provision/rollout/rollout.h"
	cli/provision/rollout/x.c "cli/trade/purchase.h"
	daemon/marketd/api/x.c "marketd/engine/live/world.h"
	daemon/marketd/store/x.c "marketd/engine/live/world.h"
	daemon/marketd/store/x.c "marketd/engine/rules/order.h"
	daemon/marketd/engine/rules/x.c "marketd/engine/engine.h"
	daemon/marketd/engine/live/x.c "marketd/engine/rules/order.h"
	daemon/marketd/engine/x.c "marketd/store/store.h"
	daemon/marketd/engine/x.c <sqlite3.h>
	daemon/marketd/api/x.c "marketd/store/sqlite.h"
	daemon/marketd/api/x.c "marketd/http/http.h"
	daemon/marketd/api/v2/x.c "marketd/api/np/np.h"
	daemon/marketd/http/x.c "marketd/store/store.h"
	daemon/marketd/http/x.c "marketd/engine/engine.h"
	daemon/marketd/http/x.c "marketd/api/v2/v2.h"
	daemon/marketd/x.c "marketd/engine/live/world.h"
	daemon/marketd/x.c "agentd/driver.h"
	daemon/agentd/x.c "marketd/engine/engine.h"
	daemon/agentd/x.c "agentd/vm/qmp.h"
	daemon/agentd/ns/x.c "agentd/market/link.h"
	daemon/agentd/vm/x.c "agentd/market/work.h"
	daemon/agentd/vm/x.c "agentd/ns/ns.h"
	daemon/agentd/ns/x.c "agentd/vm/qmp.h"
	daemon/agentd/process/x.c "agentd/ns/net.h"
	daemon/agentd/os/x.c "agentd/process/space.h"
	daemon/agentd/machine/x.c "agentd/market/link.h"
	examples/x.c "pssh/pssh.h"
	examples/x.c "base/buf.h"
END
while read -r file line; do
	is "$(probe "$file" "$line")" "" "allowed: $file includes $line"
done <<-'END'
	lib/base/x.c "base/buf.h"
	lib/base/x.c <sys/epoll.h>
	lib/conf/x.c "base/fail.h"
	lib/conf/x.c <yaml.h>
	lib/pssh/session/x.c "base/buf.h"
	lib/pssh/session/x.c "pssh/session/conn.h"
	lib/pssh/session/x.c <libssh2_sftp.h>
	lib/pssh/keys/x.c <openssl/evp.h>
	lib/pssh/x.c "pssh/fleet/fleet.h"
	cli/cmd/run.c "pssh/pssh.h"
	cli/cmd/run.c "cli/frame/command.h"
	cli/cmd/shell.c <readline/readline.h>
	cli/cmd/shell.c "cli/frame/command.h"
	cli/cmd/run.c "conf/conf.h"
	daemon/marketd/engine/x.c "marketd/engine/live/world.h"
	daemon/marketd/engine/rules/x.c "marketd/engine/live/world.h"
	daemon/marketd/api/v2/x.c "marketd/api/render.h"
	daemon/agentd/vm/x.c "agentd/ns/net.h"
	examples/x.c <pssh.h>
END

# A file is found by its name: no two have the same one, but for programs' main.c and for commands, whose files are
# called as people call them.
find lib cli daemon -name '*.[ch]' ! -name main.c ! -path 'cli/cmd/*' | sed 's,.*/,,' | sort | uniq -d >"$TMP/twice"
is "$(cat "$TMP/twice")" "" "file names are unique in lib, cli and daemon"
find cli/cmd -name '*.[ch]' | sed 's,.*/,,' | sort | uniq -d >"$TMP/twice"
is "$(cat "$TMP/twice")" "" "and in cli/cmd"

# A room is what one sitting can hold.
find lib cli daemon -name '*.[ch]' | sed 's,/[^/]*$,,' | sort | uniq -c | awk '$1 > 45 { print $2 ": " $1 }' >"$TMP/large"
is "$(cat "$TMP/large")" "" "no folder has more than 45 files"

# Knots: files that reach each other by the functions and variables that they use of each other.
knots() {
	awk '
	/^[^ ]*:$/ { node = $0; sub(/:$/, "", node); sub(/\/\.libs/, "", node); sub(/[A-Za-z0-9_]*-/, "", node); sub(/\.o$/, "", node); next }
	NF == 2 && $1 == "U" { wants[node, $2] = 1; next }
	NF == 3 && $2 ~ /[TDBRVC]/ { home[$3] = node; nodes[node] = 1 }
	END {
		for (w in wants) {
			split(w, part, SUBSEP)
			if (part[2] in home && home[part[2]] != part[1])
				edge[part[1], home[part[2]]] = 1
		}
		for (k in nodes)
			for (i in nodes)
				if ((i, k) in edge)
					for (j in nodes)
						if ((k, j) in edge)
							edge[i, j] = 1
		for (i in nodes)
			if ((i, i) in edge)
				print i
	}' | LC_ALL=C sort
}
is "$(printf '%s\n' 'lib/pssh/.libs/libx_la-a.o:' '0 T a' ' U b' 'lib/pssh/.libs/b.o:' '0 T b' ' U c' 'lib/c.o:' '0 D c' ' U a' 'cli/d.o:' ' U a' '0 T d' |
	knots | tr '\n' ' ')" "lib/c lib/pssh/a lib/pssh/b " "(a knot of three is seen, and who only uses it is not in it)"
is "$(printf '%s\n' 'daemon/m/.libs/libv2_la-a.o:' '0 T a' ' U b' 'daemon/m/m_d-b.o:' '0 R b' ' U a' | knots | tr '\n' ' ')" "daemon/m/a daemon/m/b " \
	"(and called as its source is, whatever it was built for)"

cd "$BUILD" || exit 99
# objects PROGRAM-ROOM: what that room's programs are made of. One at a time: two programs may each have a function of one name.
objects() {
	find lib "$1" -path '*/.libs/*.o' 2>/dev/null
	find "$1" -name '*.o' ! -path '*/.libs/*' 2>/dev/null
}
if have nm && [ -n "$(objects cli)" ] && [ -n "$(objects daemon)" ]; then
	awk '$1 == "knot" { print $2 }' "$SRC/tests/meta/exceptions" | LC_ALL=C sort >"$TMP/known"
	for room in cli daemon; do
		nm $(objects $room) | knots
	done | LC_ALL=C sort -u >"$TMP/knots"
	is "$(LC_ALL=C comm -23 "$TMP/knots" "$TMP/known")" "" "no files reach each other, but for those that tests/meta/exceptions gives a reason for"
	is "$(LC_ALL=C comm -13 "$TMP/knots" "$TMP/known")" "" "no such exception is there that nothing needs"
else
	skip "nothing is built"
fi

done_testing
