# SPDX-License-Identifier: Apache-2.0
# TAP for shell tests (POSIX sh). A test starts with
#     . "$(dirname "$0")/../lib/tap.sh"
# and ends with `done_testing`. It then has $SRC and $BUILD (absolute), $NANOPOD, and an empty $TMP
# that is removed at the end. HOME and NANOPOD_* of whoever runs the test are out of reach.

SRC=${abs_top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
if [ -z "${abs_top_builddir-}" ]; then
	abs_top_builddir=$SRC
	[ -e "$SRC/Makefile" ] || [ ! -e "$SRC/build/Makefile" ] || abs_top_builddir=$SRC/build
	[ -e ./config.status ] && abs_top_builddir=$(pwd)
fi
BUILD=$abs_top_builddir
NANOPOD=$BUILD/tests/lib/nanopod
[ -x "$NANOPOD" ] && [ -x "$BUILD/.libs/nanopod" ] || NANOPOD=$BUILD/nanopod
NANOPOD=${TEST_NANOPOD:-$NANOPOD}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/nanopod-test.XXXXXX") || exit 99

tap_count=0 tap_failed=0 tap_cleanups=

unset $(env | sed -n 's/^\(NANOPOD_[A-Za-z0-9_]*\)=.*/\1/p') SSH_AUTH_SOCK NO_COLOR XDG_CONFIG_HOME \
	XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR 2>/dev/null
HOME=$TMP/home LC_ALL=C TERM=dumb TZ=UTC NANOPOD_STACKS=$SRC/stacks
export HOME LC_ALL TERM TZ SRC BUILD NANOPOD NANOPOD_STACKS TMP
mkdir -m 700 "$HOME"

# at_exit COMMAND: run before $TMP goes, latest first.
at_exit() { tap_cleanups="$1; $tap_cleanups"; }

# tap_ours PID: a process of this test, which is below us or has our $TMP; not one that has got the number since.
tap_ours() {
	tap_up=$1
	while [ "$tap_up" -gt 1 ]; do
		# In a trap, bash's plain `return` says what was before the trap.
		{ read -r tap_line <"/proc/$tap_up/stat"; } 2>/dev/null || return 1
		set -- "$1" ${tap_line##*) }
		[ "$3" != $$ ] || return 0
		tap_up=$3
	done
	[ ! -r "/proc/$1/environ" ] || grep -qszFx "TMP=$TMP" "/proc/$1/environ"
}
# kill for cleanups: processes may have ended long before, and numbers come again after 32,768 processes.
tap_kill() {
	tap_any=
	for tap_word; do
		shift
		case $tap_word in
		[0-9]*) tap_ours "$tap_word" || continue; tap_any=1 ;;
		-[0-9][0-9][0-9]*) [ ! -e "/proc/${tap_word#-}" ] || tap_ours "${tap_word#-}" || continue; tap_any=1 ;; # a group
		esac
		set -- "$@" "$tap_word"
	done
	[ -n "$tap_any" ] && command kill "$@"
}

tap_exit() {
	tap_status=$?
	trap - EXIT
	kill() { tap_kill "$@"; }
	eval "$tap_cleanups"
	cd / && rm -rf "$TMP"
	exit $tap_status
}
trap tap_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# tap_line STATUS TEXT
tap_line() {
	tap_count=$((tap_count + 1))
	tap_text=$2
	case $2 in *"#"* | *"
"*) tap_text=$(printf '%s' "$2" | tr '\n#' '  ') ;; esac
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' $tap_count "$tap_text"
	else
		tap_failed=$((tap_failed + 1))
		printf 'not ok %d - %s\n' $tap_count "$tap_text"
	fi
	return "$1"
}

pass() { tap_line 0 "$1"; }
fail() { tap_line 1 "$1"; }

# ok TEXT COMMAND…: the command must succeed. Its output is shown only where it does not.
ok() {
	tap_name=$1; shift
	if "$@" >"$TMP/.ok" 2>&1; then
		tap_line 0 "$tap_name"
	else
		tap_line 1 "$tap_name"
		diag "failed: $*"; sed 's/^/#   /' "$TMP/.ok"; return 1
	fi
}

# not_ok TEXT COMMAND…: the command must fail.
not_ok() {
	tap_name=$1; shift
	if "$@" >"$TMP/.ok" 2>&1; then
		tap_line 1 "$tap_name"
		diag "succeeded: $*"; sed 's/^/#   /' "$TMP/.ok"; return 1
	else
		tap_line 0 "$tap_name"
	fi
}

# is GOT WANT TEXT
is() {
	[ "$1" = "$2" ] && { tap_line 0 "$3"; return; }
	tap_line 1 "$3"
	diag "got:"; printf '%s\n' "$1" | head -c 4000 | sed 's/^/#   /'
	diag "expected:"; printf '%s\n' "$2" | head -c 4000 | sed 's/^/#   /'
	return 1
}

# isnt GOT UNWANTED TEXT
isnt() {
	[ "$1" != "$2" ] && { tap_line 0 "$3"; return; }
	tap_line 1 "$3"; diag "got: $1"; return 1
}

# like GOT PATTERN TEXT: an extended regular expression, matched line by line.
like() {
	printf '%s\n' "$1" | grep -Eq -e "$2" && { tap_line 0 "$3"; return; }
	tap_line 1 "$3"
	diag "no match for /$2/ in:"; printf '%s\n' "$1" | head -c 4000 | sed 's/^/#   /'
	return 1
}

unlike() {
	printf '%s\n' "$1" | grep -Eq -e "$2" || { tap_line 0 "$3"; return; }
	tap_line 1 "$3"
	diag "match for /$2/ in:"; printf '%s\n' "$1" | head -c 4000 | sed 's/^/#   /'
	return 1
}

# run COMMAND…: sets $out, $err, $status; standard input is empty.
run() { run_stdin /dev/null "$@"; }

# run_stdin FILE COMMAND…
run_stdin() {
	tap_in=$1; shift
	status=0
	"$@" <"$tap_in" >"$TMP/.out" 2>"$TMP/.err" || status=$?
	out=$(cat "$TMP/.out") err=$(cat "$TMP/.err")
}

# run_is STATUS TEXT COMMAND…: `run`, then check the exit status; shows what was said if it differs.
run_is() {
	tap_want=$1 tap_name=$2; shift 2
	run "$@"
	[ "$status" -eq "$tap_want" ] && { tap_line 0 "$tap_name"; return; }
	tap_line 1 "$tap_name"
	diag "exit status $status, expected $tap_want, of: $*"
	head -c 2000 "$TMP/.out" | sed 's/^/#   out: /'; head -c 2000 "$TMP/.err" | sed 's/^/#   err: /'
	return 1
}

# What a terminal shows in the end, without lines that were erased: 'waiting for the market' on a busy machine.
erased() { sed 's/\r[^\r]*\x1b\[K//g; s/\r//g'; }

# wait_for SECONDS COMMAND…: until it succeeds, looking twenty times in the first second and then less often; fails at
# the deadline, which is a minute at least: what takes two seconds takes ten on a busy machine.
wait_for() {
	tap_left=$((($1 < 60 ? 60 : $1) * 20)) tap_looks=0; shift
	until "$@" >/dev/null 2>&1; do
		tap_looks=$((tap_looks + 1))
		if [ $tap_looks -lt 20 ]; then
			tap_left=$((tap_left - 1))
			sleep 0.05
		else
			tap_left=$((tap_left - 5))
			sleep 0.25
		fi
		[ $tap_left -gt 0 ] || return 1
	done
}

have() { command -v "$1" >/dev/null 2>&1; }

# jq 1.6 takes 28 ms to start, gojq 4: together a fifth of what the suites cost. gojq sorts keys, so what may show their
# order goes to jq.
if have gojq; then
	jq() {
		case " $* " in
		*" -c"* | *" -S"* | *" -ec "* | *" -nc "* | *" -rc "* | *" -rS"* | *" -nS"* | *" . "* | *keys_unsorted* | *entries* | *json* | *{*)
			command jq "$@" ;;
		*) gojq "$@" ;;
		esac
	}
fi

skip() { tap_count=$((tap_count + 1)); printf 'ok %d # SKIP %s\n' $tap_count "$1"; }

skip_all() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }

# need COMMAND…: skips the whole test where one is missing, and says what brings it.
need() {
	for tap_need; do
		have "$tap_need" && continue
		case $tap_need in
		pgrep | ps) tap_package=procps ;;
		ip | ss) tap_package=iproute2 ;;
		ssh | ssh-keygen | ssh-agent | ssh-add) tap_package=openssh-client ;;
		setpriv | unshare | flock | mountpoint | nsenter | wipefs) tap_package=util-linux ;;
		nm) tap_package=binutils ;;
		systemd-nspawn) tap_package=systemd-container ;;
		pdftotext | pdftoppm) tap_package=poppler-utils ;;
		*) tap_package=$tap_need ;;
		esac
		skip_all "'$tap_need' is not installed; 'apt-get install $tap_package' brings it"
	done
}

done_testing() {
	printf '1..%d\n' $tap_count
	[ $tap_failed -eq 0 ]
	exit
}
