# SPDX-License-Identifier: Apache-2.0
# The guides of doc/ keep their promises (bash; read tap.sh first): every line of their ```sh blocks is run, in order.
#     guide_run doc/renting.md        in $GUIDE, an empty folder, with the programs of this build on PATH
#     guide_run doc/NAME.session      every line, also those that a picture does not show
#     guide_sed='s,/var/lib,x,'       what is another path or port in the test than for the reader, set before
# A daemon runs on beside the lines after it, once it says that it is ready. Nothing else is special: where a line of the
# page fails, its reader would fail.

GUIDE=$TMP/guide guide_sed='' guide_pids=''
mkdir -p "$GUIDE"
mkdir "$TMP/guide-bin" && for guide_program in nanopod nanopod-marketd nanopod-agentd; do
	ln -s "$BUILD/$guide_program" "$TMP/guide-bin/$guide_program"
done
PATH=$TMP/guide-bin:$PATH:/usr/sbin:/sbin NANOPOD_LIBEXEC=$BUILD
export PATH NANOPOD_LIBEXEC

guide_lines() {
	case $1 in
	*.session) sed 's/^#!//' "$1" ;;
	*) awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on && NF' "$1" ;;
	esac
}

guide_ready() { grep -qE 'ready|^nanopod-agentd: ready' "$TMP/guide-daemon.$1" || ! kill -0 "$2" 2>/dev/null; }

# guide_daemon LINE: in the background, until the test ends.
guide_daemon() {
	guide_n=${guide_n:-0} guide_n=$((guide_n + 1))
	(cd "$GUIDE" && eval "exec $1") >"$TMP/guide-daemon.$guide_n" 2>&1 </dev/null &
	guide_pid=$!
	[ -n "$guide_pids" ] || at_exit guide_end
	guide_pids="$guide_pid $guide_pids"
	wait_for 60 guide_ready $guide_n $guide_pid && kill -0 $guide_pid 2>/dev/null && return
	cat "$TMP/guide-daemon.$guide_n"
	return 1
}

guide_end() {
	for guide_pid in $guide_pids; do kill "$guide_pid" 2>/dev/null && wait "$guide_pid" 2>/dev/null; done
}

guide_line() {
	case $1 in
	export\ *) eval "$1" ;;
	nanopod-*) guide_daemon "$1" ;;
	*) (cd "$GUIDE" && bash -c "$1" </dev/null) ;;
	esac
}

guide_run() {
	guide_count=0
	while IFS= read -r guide_said; do
		guide_count=$((guide_count + 1))
		ok "${1##*/}: $guide_said" guide_line "$(sed "$guide_sed" <<<"$guide_said")"
	done < <(guide_lines "$SRC/$1")
	ok "${1##*/} has commands" test $guide_count -gt 3
}
