# SPDX-License-Identifier: Apache-2.0
# Functions for the scripts of all stacks. POSIX sh, run as root on a node: needs only dash or busybox and what every Debian has.
#
# nanopod sends `sh -s` one text: this file, the node's variables, each work, the end.
#     NP_CLUSTER=… NP_NODE=… NP_HOST=… NP_ADDRESS=… NP_TABLE=… NP_AIRGAP=…
#     (
#     NP_STACK=… NP_STEP=… NP_ROLES=… NP_UPLOAD=… NP_TAKEN_HASH=… S_…=…
#     np_take <<'.'            if the step takes a file: base64
#     .
#     include files, the step's script
#     np_work check            or apply, verify, undo, guess, or another function and its words
#     ) </dev/null
#     np_end
#
# A step defines `check` and `apply`, or one function `want` for both: np_packages, np_user, np_file … report what would
# change if NP_MODE is check, and change it otherwise. `verify` and `undo` are optional. After a failure these functions
# change nothing more and the step fails, so a script need not check each status.
#
# What scripts of stacks call is described in nanopod-stacks(7); all else may change:
#     np_file np_block np_absent np_dir np_trace np_about np_hash np_sum np_rooms np_disk np_group np_user np_packages
#     np_apt_cause np_unit np_restart np_hold np_active np_control np_unit_log np_systemd np_differs np_did np_ok
#     np_bad np_fail np_cause np_hint np_say np_left np_rests np_changing np_note_change np_has_changed np_has_failed
#     np_wait np_open np_is np_members np_first np_all np_address np_node_name np_fact np_rows np_give np_give_hash
#     np_taken_hash np_ledger np_book np_kept np_aside np_uses
#
# Records are lines on descriptor 3 that begin with RS "NP"; all output of programs goes to stderr.
# $NP_STATE/undo/STACK is the undo ledger: a line "STEP KIND WORD…" (tabs) is written before its change.
# $NP_STATE/steps/STACK.STEP is "begun CLUSTER" or "done TIME CLUSTER". STACK.STEP.owed exists from a change until its step
# succeeds: a restart is due. STACK.STEP.set has $NP_SETTINGS, the S_…= and NP_ROLES= of its last apply,
# which np_was_set reads before an undo. STACK.STEP.table has the table of one that asks for more facts ($NP_OWN_TABLE),
# STACK.STEP.took the checksum of the file that its last apply took: "guess" is a check with that one, before it is known again.

exec 3>&1 1>&2
umask 022
LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL DEBIAN_FRONTEND PATH
unset LANG LANGUAGE LD_PRELOAD
NP_STATE=/var/lib/nanopod NP_RUN=/run NP_CLUSTER='' NP_LEAVING='' NP_USES='' NP_MODE='' NP_STACK='' NP_STEP='' NP_ROLES='' NP_TABLE='' NP_OWN_TABLE='' NP_UNKNOWN='' NP_TAKEN='' NP_TAKEN_HASH=''
np_rs=$(printf '\036NP') np_tab='	' np_newline='
' np_changed='' np_failed='' np_locked='' np_room='' np_looked='' np_terse=''

# ---- Records -----------------------------------------------------------------------------------------------------
np_encode() {
	awk 'BEGIN { for (i = 1; i < 32; i++) hex[sprintf("%c", i)] = sprintf("%%%02X", i); hex["%"] = "%25"; hex["\177"] = "%7F" }
		NR > 1 { printf "%%0A" }
		!/[%\001-\037\177]/ { printf "%s", $0; next }
		{ for (i = 1; i <= length($0); i++) { c = substr($0, i, 1); printf "%s", c in hex ? hex[c] : c } }'
}

np_record() {
	np_line=$np_rs
	for np_word; do
		case $np_word in
		*[%[:cntrl:]]*) np_word=$(printf '%s\n' "$np_word" | np_encode) ;;
		esac
		np_line=$np_line$np_tab$np_word
	done
	printf '%s\n' "$np_line" >&3
}

np_differs() { np_record differs "$*"; }
np_did() { np_record did "$*"; }
np_say() { np_record say "$*"; }
np_hint() { np_record hint "$*"; }
np_cause() { np_record cause "$*"; }
np_ok() { np_record ok "$*"; }
np_bad() { np_record bad "$*"; np_note_failure; return 1; }
np_fail() { np_cause "$*"; np_note_failure; return 1; }
np_left() { np_record left "$*"; }
# np_rests HOST WORDS: for `verify`: somebody drained the node on purpose.
np_rests() { np_record rests "$1" "$2"; }

# np_give NAME <FILE: hands the file to steps that take it, through nanopod's memory. np_give_hash NAME HEX: its public checksum.
np_give() { np_record give "$1" "$(base64 | tr -d '\n')"; }
np_give_hash() { np_record hash "$1" "$2"; }
np_taken_hash() { printf '%s\n' "$NP_TAKEN_HASH"; }
np_hash() { [ ! -r "$1" ] || np_sum <"$1"; }
# The checksum of standard input.
np_sum() { np_word=$(sha256sum) && printf '%s\n' "${np_word%% *}"; }
np_take() { np_room=$NP_RUN/nanopod.$$.$NP_STACK.$NP_STEP && np_rooms && NP_TAKEN=$np_room/taken && (umask 077; base64 -d >"$NP_TAKEN"); }

# Makes a folder in memory, for root alone, which np_done removes.
np_rooms() { [ -d "$np_room" ] || mkdir -m 700 "$np_room" || { np_failed=1; np_cause "no room for a temporary folder: is '$NP_RUN' full?"; return 1; }; }

# "CONTENT | np_file …" runs in a subshell, so its results are also kept in files.
np_note_change() { np_changed=1; np_rooms && : >"$np_room/changed"; }
np_note_failure() { np_failed=1; np_rooms && : >"$np_room/failed"; }
np_has_changed() { [ -n "$np_changed" ] || [ -e "$np_room/changed" ]; }
np_has_failed() { [ -n "$np_failed" ] || [ -e "$np_room/failed" ]; }

# ---- Works -------------------------------------------------------------------------------------------------------
np_defined() { PATH=/dev/null command -v "$1" >/dev/null; }   # a function: where nothing else is found
np_changing() { [ "$NP_MODE" != check ] && [ "$NP_MODE" != verify ]; }

# np_work FUNCTION [WORD…]: call it once in a subshell; it ends with the record "done".
np_work() {
	np_record work "$NP_STACK" "$NP_STEP" "$1"
	np_marker=$NP_STATE/steps/$NP_STACK.$NP_STEP
	np_room=$NP_RUN/nanopod.$$.$NP_STACK.$NP_STEP
	case $1 in check|apply|verify|undo) NP_MODE=$1 ;; guess) NP_MODE=check ;; at_work) NP_MODE=verify ;; *) NP_MODE=call ;; esac
	trap 'np_done $?' EXIT
	trap 'exit 143' TERM HUP
	trap 'exit 130' INT
	trap 'exit 141' PIPE
	if np_changing; then
		np_turn || exit
		np_locked=1
	fi
	# Remove the in-memory folders of killed runs.
	! np_changing || for np_word in "$NP_RUN"/nanopod.*."$NP_STACK.$NP_STEP"; do
		[ ! -e "$np_word" ] || [ "$np_word" = "$np_room" ] || rm -rf "$np_word"
	done
	[ ! -e "$np_marker.owed" ] || np_note_change
	if [ "$1" = guess ]; then
		{ IFS= read -r NP_TAKEN_HASH <"$np_marker.took"; } 2>/dev/null || exit
		np_record took "$NP_TAKEN_HASH"
		set -- check
	fi
	# Without descriptor 9: processes that a step starts must not keep the lock.
	np_run "$@" </dev/null 9>&-
	exit
}

# One step at a time on a node; whoever waits says for whom. The file names the owner: watch, token, who, since when.
np_turn() {
	np_turns=$NP_RUN/nanopod-lock/step.lock
	# A folder of root's own, because whoever can hold the lock can stop all steps.
	{ [ -d "$NP_RUN/nanopod-lock" ] || { mkdir -p "$NP_RUN" && (umask 077; mkdir -p "$NP_RUN/nanopod-lock"); }; } && [ ! -L "$NP_RUN/nanopod-lock" ] && exec 9>>"$np_turns" || return
	flock -n 9 || np_turn_wait || return
	printf '%s\t%s\t%s\t%s\n' "${np_watch:--}" "${NP_TOKEN:--}" "step $NP_STACK/$NP_STEP of ${NP_OWNER:-another nanopod}" "$(date '+%F %T')" >"$np_turns"
}

np_turn_wait() {
	np_until=$(($(date +%s) + 600))
	until flock -n 9; do
		np_word=$(cut -f 3- "$np_turns" | sed "s/$np_tab/ since /")
		np_record waits "waiting for ${np_word:-another step on this node}"
		! flock -w 20 9 || break
		[ "$(date +%s)" -lt $np_until ] || { np_fail "still waiting for ${np_word:-another step on this node}"; return 1; }
	done
}

np_run() {
	np_function=$1
	case $1 in check|apply) np_defined "$1" || ! np_defined want || np_function=want ;; esac
	shift
	case $NP_MODE in
	check) ! np_begun || np_differs "finish an interrupted step" ;;
	# Do not undo a step that never began here, since similar files are somebody else's; nor one that another cluster did since.
	undo)
		[ -e "$np_marker" ] || grep -q "^$NP_STEP$np_tab" "$(np_book)" 2>/dev/null || return 0
		np_word=$(sed -n '1s/^done [0-9]* //p; 1s/^begun //p' "$np_marker" 2>/dev/null)
		if [ -n "$np_word" ] && [ -n "$NP_CLUSTER" ] && [ "$np_word" != "$NP_CLUSTER" ]; then np_say "left alone: it belongs to the cluster '$np_word' now"; return 0; fi ;;
	apply)
		! np_begun || np_shadowed
		np_state && np_keep_settings && np_mark "begun $NP_CLUSTER" || return ;;
	esac
	if np_defined "$np_function"; then
		"$np_function" "$@" || np_note_failure
	elif [ "$NP_MODE" = call ]; then
		np_fail "step '$NP_STEP' of '$NP_STACK' has no function '$np_function'"
	fi
	! np_has_failed || return 1
	case $NP_MODE in
	apply) np_keep_rows && np_keep_taken && np_mark "done $(date +%s) $NP_CLUSTER" && rm -f "$np_marker.owed" ;;
	undo) np_undo && rm -f "$np_marker.owed" "$np_marker.set" "$np_marker.table" "$np_marker.took" && rm -f "$np_marker" && np_tidy ;;
	esac
}
np_begun() { { IFS= read -r np_word <"$np_marker"; } 2>/dev/null && case $np_word in begun*) ;; *) return 1 ;; esac; }
# Keeps the settings of this apply, because the undo needs them, not later ones.
np_keep_settings() { [ -z "${NP_SETTINGS-}" ] || { (umask 077; printf '%s\n' "$NP_SETTINGS" >"$np_marker.set.new") && mv -f "$np_marker.set.new" "$np_marker.set"; } || np_fail "cannot write '$np_marker.set'$(np_disk "$NP_STATE")"; }
np_keep_taken() {
	if [ -n "$NP_TAKEN_HASH" ]; then (umask 077; printf '%s\n' "$NP_TAKEN_HASH" >"$np_marker.took.new") && mv -f "$np_marker.took.new" "$np_marker.took" || np_fail "cannot write '$np_marker.took'$(np_disk "$NP_STATE")"
	elif [ -e "$np_marker.took" ]; then rm -f "$np_marker.took"
	fi
}
# shellcheck disable=SC1090
np_was_set() { [ ! -f "$NP_STATE/steps/$NP_STACK.$NP_STEP.set" ] || . "$NP_STATE/steps/$NP_STACK.$NP_STEP.set"; }
np_mark() { { printf '%s\n' "$1" >"$np_marker.new" && mv -f "$np_marker.new" "$np_marker"; } || np_fail "cannot write '$np_marker'$(np_disk "$NP_STATE")"; }

np_done() {
	trap - EXIT
	[ -z "$np_locked" ] || np_loud
	[ ! -e "$np_room" ] || rm -rf "$np_room"
	np_record 'done' "$1"
	exit "$1"
}

np_end() { np_record end "${1:-0}"; }
np_state() { { [ -d "$NP_STATE/steps" ] && [ -d "$NP_STATE/undo" ]; } || { mkdir -p "$NP_STATE" && chmod 755 "$NP_STATE" && mkdir -p "$NP_STATE/undo" "$NP_STATE/steps"; } || np_fail "cannot write '$NP_STATE'$(np_disk /var/lib)"; }
# Prints which file system is full, as a clause; nothing if it is not.
np_disk() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 && $4 < 1024 { printf ": no space left on %s", $6 }'; }

# np_open ADDRESS PORT [SECONDS]: whether something listens there. Every Debian has bash, whose /dev/tcp needs no other program.
np_open() { timeout "${3:-5}" bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null; }

# np_wait SECONDS COMMAND…: repeats the command until it succeeds.
np_wait() {
	np_until=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $np_until ] || return 1
		sleep 0.2
	done
}

# ---- Who is who --------------------------------------------------------------------------------------------------
np_is() { case " $NP_ROLES " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
# An unreachable member ($NP_UNKNOWN) keeps its row of the last apply, so that it stays in the cluster's files while it is
# away. 'drop' takes nodes out.
np_rows() {
	if [ -n "${NP_UNKNOWN-}" ] && [ -f "$(np_kept_table)" ]; then
		printf '%s\n' "$NP_TABLE" | awk -F '\t' -v away=" $NP_UNKNOWN " '
			NR == FNR { if ($0 != "") { now[$1] = $0; order[++n] = $1 } next }
			$1 in now { print now[$1]; delete now[$1]; next }
			index(away, " " $1 " ")
			END { for (i = 1; i <= n; i++) if (order[i] in now) print now[order[i]] }' - "$(np_kept_table)"
	elif [ -n "$NP_TABLE" ]; then
		printf '%s\n' "${NP_TABLE%"$np_newline"}"
	fi
}
np_kept_table() { if [ -n "$NP_OWN_TABLE" ]; then printf '%s\n' "$NP_STATE/steps/$NP_STACK.$NP_STEP.table"; else printf '%s\n' "$NP_STATE/table"; fi; }
np_keep_rows() {
	[ -n "$NP_TABLE" ] || return 0
	np_word=$(np_kept_table)
	(umask 077; np_rows >"$np_word.new") && mv -f "$np_word.new" "$np_word" || np_fail "cannot write '$np_word'$(np_disk "$NP_STATE")"
}
np_all() { np_rows | cut -f 2; }
np_members() {
	case $1 in *.*) np_word=$1 ;; *) np_word=$NP_STACK.$1 ;; esac
	np_rows | awk -F '\t' -v role="$np_word" 'index("," $4 ",", "," role ",") { print $2 }'
}
np_first() { np_word=$(np_members "$1") && printf '%s\n' "${np_word%%"$np_newline"*}"; }
np_column() { np_rows | awk -F '\t' -v host="$1" -v n="$2" '$2 == host { print $n; exit }'; }
np_node_name() { np_column "$1" 1; }
np_address() { np_column "$1" 3; }
np_fact() { np_rows | awk -F '\t' -v host="$1" -v key="$2=" '$2 == host { for (i = 5; i <= NF; i++) if (index($i, key) == 1) print substr($i, length(key) + 1) }'; }

# ---- The ledger --------------------------------------------------------------------------------------------------
np_book() { printf '%s\n' "$NP_STATE/undo/$NP_STACK"; }

# np_ledger KIND WORD…: adds the line unless it is there.
np_ledger() {
	np_line=$NP_STEP
	for np_word; do np_line=$np_line$np_tab$np_word; done
	np_state || return 1
	[ -e "$NP_STATE/undo/$NP_STACK" ] && grep -qxF -e "$np_line" "$NP_STATE/undo/$NP_STACK" 2>/dev/null && return
	np_append "$(np_book)" "$np_line"
}
# np_append FILE LINE: all or nothing, because with a line that a full disk cut off undo would remove the wrong thing.
np_append() {
	(umask 077; { [ ! -e "$1" ] || cat "$1"; } >"$1.new" && printf '%s\n' "$2" >>"$1.new") && sync -d "$1.new" && mv -f "$1.new" "$1" && return
	rm -f "$1.new"
	np_fail "cannot write '$1'$(np_disk "$NP_STATE")"
}
np_ledger_has() { [ -e "$NP_STATE/undo/$NP_STACK" ] && grep -qF -e "$NP_STEP$np_tab$1$np_tab$2$np_tab" "$NP_STATE/undo/$NP_STACK" 2>/dev/null; }

# np_save PATH: saves its state before this step changes it for the first time.
np_save() {
	np_ledger_has file "$1" && return
	np_state || return 1
	if [ -e "$1" ] || [ -L "$1" ]; then
		np_folder=$(np_book).d
		{ [ -d "$np_folder" ] || (umask 077; mkdir -p "$np_folder"); } && np_copy=$(mktemp "$np_folder/$(np_number).XXXXXX") && cp -a "$1" "$np_copy" || np_fail "cannot save a copy of '$1'$(np_disk "$NP_STATE")" || return 1
		np_ledger file "$1" "$np_copy"
	else
		np_ledger file "$1" absent
	fi
}

# The next number of a copy: they say in which order steps saved one file. Copies of before have none.
np_number() { ls "$NP_STATE"/undo/*.d 2>/dev/null | awk -F . '/^[0-9]+\./ && $1 > n { n = $1 } END { print (n > 1 ? n : 1) + 1 }'; }
# Prints "BOOK STEP COPY" of the next step that saved this file after this one, so has this one's text as what was before it.
np_next() {
	WHAT=$np_what HOW=${np_how##*/} STEP=$NP_STEP BOOK=$np_file awk -F '\t' '
		# Not how + 0: in "2.e9ABCD" that is two thousand millions.
		function turn(how) { return how == "absent" ? 0 : how ~ /^[0-9]+\./ ? substr(how, 1, index(how, ".") - 1) + 0 : 1 }
		$2 != "file" || $3 != ENVIRON["WHAT"] || (FILENAME == ENVIRON["BOOK"] && $1 == ENVIRON["STEP"]) { next }
		{ how = $4; sub(/.*\//, "", how); n = turn(how) }
		(n > turn(ENVIRON["HOW"]) || how == ENVIRON["HOW"]) && (next_one == "" || n < least) { least = n; next_one = FILENAME "\t" $1 "\t" $4 }
		END { if (next_one == "") exit 1; print next_one }' $(find "$NP_STATE/undo" -maxdepth 1 -type f ! -name "*.new")
}
# What was there before this step is then what was there before that one. The file stays as it is.
np_hand_on() {
	np_other=${np_next%%"$np_tab"*} np_heir=${np_next#*"$np_tab"}
	np_old=${np_heir#*"$np_tab"} np_heir=${np_heir%%"$np_tab"*}
	np_lend || return 1
	LINE="$np_heir${np_tab}file$np_tab$np_what$np_tab" OLD=$np_old NEW=$np_saved awk '$0 == ENVIRON["LINE"] ENVIRON["OLD"] { $0 = ENVIRON["LINE"] ENVIRON["NEW"] } { print }' "$np_other" >"$np_other.new" &&
		chmod 600 "$np_other.new" && mv -f "$np_other.new" "$np_other" || { np_fail "cannot write '$np_other'$(np_disk "$NP_STATE")"; return 1; }
	[ "$np_old" = absent ] || [ "$np_old" = "$np_saved" ] || rm -f "$np_old"
	[ "$np_how" = absent ] || [ "$np_how" = "$np_saved" ] || rm -f "$np_how"
}
# Sets $np_saved to the copy in the folder of the other step's stack.
np_lend() {
	np_saved=$np_how
	[ "$np_kind" = file ] && [ "$np_how" != absent ] && [ -e "$np_how" ] && [ "$np_other" != "$np_file" ] || return 0
	np_saved=$np_other.d/${np_how##*/}
	(umask 077; mkdir -p "$np_other.d") && cp -a "$np_how" "$np_saved" || np_fail "cannot save a copy of '$np_what'$(np_disk "$NP_STATE")"
}

# Undoes this step's lines, last first, and removes each from the ledger.
np_undo() {
	np_file=$(np_book)
	while np_last=$(grep "^$NP_STEP$np_tab" "$np_file" 2>/dev/null | tail -n 1) && [ -n "$np_last" ]; do
		np_kind=$(printf '%s\n' "$np_last" | cut -f 2) np_what=$(printf '%s\n' "$np_last" | cut -f 3) np_how=$(printf '%s\n' "$np_last" | cut -f 4-)
		if [ "$np_kind" = file ] && np_next=$(np_next); then np_hand_on || return 1
		elif np_heir "$np_kind" "$np_what" && ! np_before; then np_bequeath || return 1
		else "np_undo_$np_kind" "$np_what" "$np_how" || { np_has_failed || np_fail "cannot undo: $np_kind '$np_what'"; return 1; }
		fi
		LINE=$np_last awk -F '\t' -v step="$NP_STEP" -v kind="$np_kind" \
			'$0 != ENVIRON["LINE"] && !(kind == "package" && $1 == step && $2 == kind)' "$np_file" >"$np_file.new" && chmod 600 "$np_file.new" && mv -f "$np_file.new" "$np_file" || return 1
	done
}
# If this step goes and others stay ($NP_LEAVING), $NP_USES lists what those use, a line "STACK STEP WORD" each: np_file and
# the like write it during check. It stays, and is undone with the step that uses it.
np_uses() {
	[ -n "$NP_USES" ] && [ "$NP_MODE" = check ] || return 0
	for np_used; do printf '%s\t%s\t%s\n' "$NP_STACK" "$NP_STEP" "$np_used" >>"$NP_USES"; done
}
np_heir() {
	[ -n "$NP_USES" ] && [ "$NP_MODE" = undo ] || return 1
	case $1 in want|package|database) return 1 ;; block) set -- "$1" "$2 $np_how" ;; esac
	np_heir=$(WORD=$2 awk -F '\t' '$3 == ENVIRON["WORD"] || index($3, ENVIRON["WORD"] "/") == 1 { print $1 "\t" $2; exit }' "$NP_USES")
	[ -n "$np_heir" ]
}
# Whether that step wrote the file before this one did, whose undo gives that back.
np_before() { [ "$np_kind" = file ] && grep -qF -e "${np_heir#*"$np_tab"}${np_tab}file$np_tab$np_what$np_tab" "$NP_STATE/undo/${np_heir%%"$np_tab"*}" 2>/dev/null; }
# Insert it before that step's own lines, so that it is undone after them.
np_bequeath() {
	np_other=$NP_STATE/undo/${np_heir%%"$np_tab"*} np_heir=${np_heir#*"$np_tab"}
	np_lend || return 1
	(umask 077; printf '%s\t%s\t%s%s\n' "$np_heir" "$np_kind" "$np_what" "$(case $np_kind in tree) printf '\t' ;; *) printf '%s' "${np_saved:+$np_tab$np_saved}" ;; esac)" >"$np_other.new" && { [ ! -e "$np_other" ] || cat "$np_other" >>"$np_other.new"; }) &&
		mv -f "$np_other.new" "$np_other" || np_fail "cannot write '$np_other'$(np_disk "$NP_STATE")"
}

# Whether this stack created it, or the folder it is in.
np_made() {
	WORD=$1 awk -F '\t' '($2 == "tree" || $2 == "dir") && (ENVIRON["WORD"] == $3 || index(ENVIRON["WORD"], $3 "/") == 1) { found = 1 } END { exit !found }' "$(np_book)" 2>/dev/null
}

# np_aside PATH WHY [UNIT…]: for `undo`: if other steps stay, renames the data so that purging a package spares it.
np_aside() {
	[ -n "$NP_LEAVING" ] && [ -d "$1" ] && [ ! -L "$1" ] && [ -n "$(ls -A "$1")" ] || return 0
	np_made "$1" && ! np_heir tree "$1" || return 0
	if mountpoint -q "$1"; then np_kept "$1" "$2"; return; fi
	np_what=$1 np_how=$2 np_there=$1.$(date +%Y%m%d-%H%M%S)
	shift 2
	for np_name; do ! np_active "$np_name" || np_control stop "$np_name"; done
	mv "$np_what" "$np_there" && np_kept "$np_there" "$np_how" || np_fail "cannot set '$np_what' aside"
}

# Removes our own files after the last step of the last stack.
np_tidy() {
	[ -s "$np_file" ] || rm -rf "$np_file" "$np_file.d"
	for np_word in "$NP_STATE"/undo/* "$NP_STATE"/steps/*; do [ ! -e "$np_word" ] || return 0; done
	[ ! -d "$NP_STATE" ] || np_clear "$NP_STATE"
}

# np_kept PATH [WHY]: for `undo`: leaves it and reports it.
np_kept() {
	[ -e "$1" ] || return 0
	np_left "$1${2:+: $2}"
	(umask 077; mkdir -p "$(np_book).d") && np_append "$(np_book).d/kept" "$1"
}
# Whether it, or something in it, must stay.
np_keeping() {
	[ -e "$(np_book).d/kept" ] || return 1
	while IFS= read -r np_word; do
		case $np_word in "$1"|"$1"/*) return 0 ;; esac
	done <"$(np_book).d/kept"
	return 1
}

np_undo_file() {
	np_beside_clear "$1"
	np_keeping "$1" && return
	if [ "$2" = absent ]; then
		[ ! -e "$1" ] && [ ! -L "$1" ] || { rm -f "$1" && np_did "removed $1"; }
	elif [ -e "$2" ] || [ -L "$2" ]; then
		[ -d "${1%/*}/" ] || mkdir -p "${1%/*}"
		rm -f "$1.new" && cp -a "$2" "$1.new" && { mv -f "$1.new" "$1" 2>/dev/null || { cat "$1.new" >"$1" && rm -f "$1.new"; }; } && rm -f "$2" && np_did "restored $1"
	fi
}
np_undo_block() { [ ! -e "$1" ] || { np_unblocked "$1" "$2" >"$np_file.block" && np_replace "$np_file.block" "$1" && rm -f "$np_file.block" && np_did "restored $1"; }; }
# Empties a folder, but not file systems mounted in it. -delete works by descriptors, so a link made
# meanwhile leads nowhere (busybox's own find lacks it).
np_clear() { /usr/bin/find "$1" -xdev -depth ! -type d -delete && /usr/bin/find "$1" -xdev -depth -type d -delete; }
np_undo_dir() {
	[ -d "$1" ] && [ ! -L "$1" ] || return 0
	! np_keeping "$1" || return 0
	! mountpoint -q "$1" || { np_fail "'$1' has something mounted on it, so nanopod does not empty it"; return 1; }
	np_clear "$1" && np_did "removed $1"
}
np_undo_data() { rmdir "$1" 2>/dev/null || [ ! -d "$1" ] || np_left "$1: its contents are yours"; }
np_undo_parent() { rmdir "$1" 2>/dev/null || [ ! -d "$1" ] || np_left "$1: it has other files"; }
np_undo_tree() { if [ -L "$1" ] || [ -f "$1" ]; then ! np_keeping "$1" || return 0; rm -f "$1" && np_did "removed $1"; else np_undo_dir "$1"; fi; }
np_undo_owner() { [ ! -e "$1" ] || { chown "${2%% *}" "$1" && chmod "${2##* }" "$1"; }; }
np_undo_user() { np_locks_clear; ! getent passwd "$1" >/dev/null || { np_wait 10 userdel "$1" && np_did "removed user $1"; }; }
np_undo_group() { np_locks_clear; ! getent group "$1" >/dev/null || { groupdel "$1" && np_did "removed group $1"; }; }

# ---- Files -------------------------------------------------------------------------------------------------------
# np_beside PATH: a new file in the same folder, so that one rename makes the change; what a killed run left there goes.
# Under an unpredictable name: in a folder of another user, a link could wait under a known one.
np_beside() { np_beside_clear "$1" && mktemp "$1.nanopod.XXXXXX"; }
np_beside_clear() { set -- "$1".nanopod.??????; { [ ! -e "$1" ] && [ ! -L "$1" ]; } || rm -f "$@"; }

# np_replace NEW PATH: keeps mode and owner; writes in place if the file is a mount, as in containers.
np_replace() {
	if [ -e "$2" ]; then chmod "$(stat -c %a "$2")" "$1" && chown "$(stat -c %u:%g "$2")" "$1"; fi &&
		np_tmp=$(np_beside "$2") && cp -p "$1" "$np_tmp" && { mv -f "$np_tmp" "$2" 2>/dev/null || { cat "$np_tmp" >"$2" && rm -f "$np_tmp"; }; }
}

np_about() { stat -c '%a %U:%G' "$1" 2>/dev/null; }
# For a script that changes nothing: one program says mode, owner and size of all that steps made here, for np_known.
np_look() {
	set --
	for np_word in "$NP_STATE"/undo/*; do [ ! -f "$np_word" ] || set -- "$@" "$np_word"; done
	[ $# -gt 0 ] || return 0
	np_few "$@" || np_word=$(awk -F '\t' '$2 == "file" || $2 == "dir" || $2 == "data" || $2 == "owner" { print $3 }' "$@")
	set -f
	IFS=$np_newline
	# shellcheck disable=SC2086
	[ -z "$np_word" ] || np_looked=$np_newline$(stat -c "%n$np_tab%a %U %u %G %g %s" $np_word 2>/dev/null)$np_newline
	set +f
	unset IFS
}
# np_few LEDGER…: into $np_word the paths that steps made here, by the shell alone; fails if they are not few.
np_few() {
	np_left=25 np_word=''
	for np_path; do
		while IFS=$np_tab read -r np_line np_kind np_path np_rest; do
			np_left=$((np_left - 1))
			[ $np_left -gt 0 ] || return 1
			case $np_kind in file|dir|data|owner) np_word=$np_word$np_path$np_newline ;; esac
		done <"$np_path"
	done
}
# np_known PATH: what np_look found of it, into $np_line.
np_known() {
	case $np_looked in
	*"$np_newline$1$np_tab"*) np_line=${np_looked#*"$np_newline$1$np_tab"} np_line=${np_line%%"$np_newline"*} ;;
	*) return 1 ;;
	esac
}
# np_as_said PATH MODE OWNER: whether it has that mode and owner, who may be named or numbered, without a user or a group.
np_as_said() {
	np_owner=$3 np_word=${2#"${2%%[!0]*}"}
	np_known "$1" || np_line=$(stat -c '%a %U %u %G %g' "$1" 2>/dev/null)
	# shellcheck disable=SC2086
	set -- "${np_word:-0}" $np_line
	[ "$1" = "${2-}" ] || return 1
	case $np_owner in :*|"$3":*|"$4":*|"$3"|"$4") ;; *) return 1 ;; esac
	case $np_owner in *:|*:"$5"|*:"$6") ;; *:*) return 1 ;; esac
}
# Prints why nobody can be given a file of this owner, as a clause; nothing if one can.
np_no_owner() {
	case ${1%%:*} in *[!0-9]*) getent passwd "${1%%:*}" >/dev/null || { printf ": no user '%s' on this node" "${1%%:*}"; return; } ;; esac
	case $1 in *:*[!0-9]*) getent group "${1#*:}" >/dev/null || printf ": no group '%s' on this node" "${1#*:}" ;; esac
}
# np_octal MODE WHAT EXAMPLE: a mode that letters describe depends on the one before, so it could differ every time.
np_octal() { case $1 in ''|*[!0-7]*) np_fail "$2: its mode '$1' is not octal, like $3" ;; esac; }

np_self() { printf '%s:%s\n' "$(id -un)" "$(id -gn)"; }

# np_file PATH MODE [OWNER:GROUP [secret]] <CONTENT: returns 0, and sets np_changed=1 if it wrote or would write.
# Without an owner it is root's.
np_file() {
	np_uses "$1"
	[ -n "${3-}" ] || set -- "$1" "${2:-0644}" "$(np_self)" "${4-}"
	! np_has_failed && np_octal "$2" "cannot write '$1'" 0644 || return 1
	if ! np_changing; then np_file_check "$@"; return; fi
	np_rooms || return 1
	np_new=$np_room/new
	(umask 077; cat >"$np_new") || { np_fail "cannot write '$np_new'"; return 1; }
	if [ ! -e "$1" ]; then np_why="write $1"
	elif ! cmp -s "$np_new" "$1"; then np_why="change $1"
	elif ! np_as_said "$1" "$2" "$3"; then np_why="make $1 $2 $3"
	else return 0
	fi
	np_note_change
	np_parents "${1%/*}" && np_save "$1" && np_owe || return 1
	np_tmp=$(np_beside "$1") && cp "$np_new" "$np_tmp" && chown -h "$3" "$np_tmp" && chmod "$2" "$np_tmp" && { mv -f "$np_tmp" "$1" 2>/dev/null || { cat "$np_tmp" >"$1" && rm -f "$np_tmp"; }; }
	if [ $? != 0 ]; then
		[ -z "$np_tmp" ] || rm -f "$np_tmp"
		np_word=$(np_no_owner "$3")
		np_fail "cannot write '$1'${np_word:-$(np_disk "${1%/*}")}"
		return 1
	fi
	np_did "$np_why"
}
# One program tells whether a file differs and how: most checks find no difference. With $np_terse nobody reads how.
np_file_check() {
	# Show no diff of a file that not everybody may read.
	np_diff=${4-}
	[ -z "$np_terse" ] || np_diff=secret
	case $2 in *[4567]) ;; *) np_diff=secret ;; esac
	if [ ! -e "$1" ]; then
		np_why="write $1"
		if [ "$np_diff" = secret ]; then np_diff=''; cat >/dev/null; else np_diff=$(np_compare "$1" /dev/null); fi
	elif if [ "$np_diff" = secret ]; then np_same "$1" secret; else np_diff=$(np_same "$1"); fi; then
		! np_as_said "$1" "$2" "$3" || return 0
		np_why="make $1 $2 $3" np_diff=''
	else
		np_why="change $1"
		[ "$np_diff" = secret ] || case $(stat -c %a "$1" 2>/dev/null || echo 4) in *[4567]) ;; *) np_diff=secret ;; esac
		[ "$np_diff" != secret ] || np_diff=''
	fi
	np_note_change
	np_differs "$np_why"
	[ -z "$np_diff" ] || np_show
}
# Records the difference, or the first lines of a long one.
np_show() {
	[ ${#np_diff} -lt 10000 ] || np_diff=$(printf '%s\n' "$np_diff" | head -n 400)
	np_record diff "$np_diff"
}
# np_same PATH [secret] <NEW: fails if the file has not that, and prints how they differ unless it is secret. A short text
# that steps made here is compared without a program; of NEW it sees no NUL bytes.
np_same() {
	if [ -f "$1" ] && np_known "$1" && [ "${np_line##* }" -le 400 ] && np_text <"$1" &&
		[ ${#np_text} -eq "${np_line##* }" ]; then
		np_old=$np_text
		np_text
		[ "$np_text" != "$np_old" ] || return 0
		[ "${2-}" = secret ] || { printf '%s' "$np_text"; cat; } | np_compare "$1" "$1"
		return 1
	fi
	if [ "${2-}" = secret ]; then cmp -s - "$1"; else np_compare "$1" "$1"; fi
}
# Reads standard input into $np_text, without what is beyond 400 bytes.
np_text() {
	np_text=''
	while IFS= read -r np_word; do
		np_text=$np_text$np_word$np_newline
		[ ${#np_text} -le 400 ] || return 0
	done
	np_text=$np_text$np_word
}
# np_compare PATH OLD <NEW: prints how they differ; fails if they do.
np_compare() { diff -u --label "$1" --label "$1" "$2" - 2>/dev/null; }
np_owe() { np_state && { [ -e "$np_marker.owed" ] || : >"$np_marker.owed"; }; }
np_parents() {
	[ -n "$1" ] && [ ! -d "$1" ] || return 0
	np_parents "${1%/*}" && np_ledger parent "$1" && { mkdir "$1" || np_fail "cannot make '$1'$(np_disk /)"; }
}

# np_absent PATH: removes it; undo restores it.
np_absent() {
	np_uses "$1"
	! np_has_failed || return 1
	[ -e "$1" ] || [ -L "$1" ] || return 0
	np_note_change
	np_changing || { np_differs "remove $1"; return 0; }
	np_save "$1" && np_owe && rm -f "$1" && np_did "remove $1"
}

np_unblocked() { awk -v b="# nanopod $2 begin" -v e="# nanopod $2 end" '$0 == b { skip = 1 } !skip { print } $0 == e { skip = 0 }' "$1"; }

# np_blocked PATH NAME <LINES: prints the file with those lines as its marked part, at its end.
np_blocked() {
	[ -e "$1" ] || set -- /dev/null "$2"
	awk -v b="# nanopod $2 begin" -v e="# nanopod $2 end" 'new && !begun++ { print b } new { print; next }
		$0 == b { skip = 1 } !skip { print } $0 == e { skip = 0 } END { if (!begun) print b; print e }' "$1" new=1 -
}

# np_block PATH NAME <LINES: writes a marked part of somebody else's file.
np_block() {
	np_uses "$1" "$1 $2"
	! np_has_failed || return 1
	if ! np_changing; then
		! np_diff=$(np_blocked "$1" "$2" | if [ -e "$1" ]; then np_same "$1"; else np_compare "$1" /dev/null; fi) || return 0
		np_note_change
		np_differs "change $1"
		[ -n "$np_terse" ] || np_show
		return 0
	fi
	np_rooms || return 1
	np_blocked "$1" "$2" >"$np_room/block"
	! cmp -s "$np_room/block" "$1" || return 0
	np_note_change
	if [ ! -e "$1" ]; then np_ledger file "$1" absent; else np_ledger block "$1" "$2"; fi
	np_owe && np_replace "$np_room/block" "$1" || { np_fail "cannot write '$1'$(np_disk "${1%/*}")"; return 1; }
	np_did "change $1"
}

# np_dir PATH MODE [OWNER:GROUP [data]]: undo removes a new folder with its contents; data: only if it is empty.
np_dir() {
	np_uses "$1"
	[ -n "${3-}" ] || set -- "$1" "${2:-0755}" "$(np_self)" "${4-}"
	! np_has_failed && np_octal "$2" "cannot make '$1'" 0755 || return 1
	np_why="make folder $1"
	if [ -d "$1" ]; then
		! np_as_said "$1" "$2" "$3" || return 0
		np_why="make $1 $2 $3"
	fi
	np_changing || { np_differs "$np_why"; return 0; }
	if [ -d "$1" ]; then
		np_word=$(np_about "$1")
		np_ledger_has owner "$1" || np_ledger owner "$1" "${np_word#* } ${np_word% *}"
	else
		np_parents "${1%/*}" && np_ledger "${4:-dir}" "$1"
	fi && mkdir -p "$1" && chown "$3" "$1" && chmod "$2" "$1" || { np_word=$(np_no_owner "$3"); np_fail "cannot make '$1'${np_word:-$(np_disk /)}"; return 1; }
	np_did "$np_why"
}

# np_trace PATH…: undo removes what programs create there; nothing if the path exists already.
np_trace() {
	np_uses "$@"
	np_changing || return 0
	for np_path; do [ -e "$np_path" ] || np_ledger tree "$np_path" ''; done
}

# ---- Users -------------------------------------------------------------------------------------------------------
# np_group NAME GID [people]: a group of the system, or of people.
np_group() {
	np_uses "$1"
	! np_has_failed || return 1
	if np_line=$(getent group "$1"); then
		np_word=${np_line#*:*:}
		[ "${np_word%%:*}" = "$2" ] || np_fail "group '$1' has the id ${np_word%%:*} on this node, not $2: it must be the same on all nodes"
		return
	fi
	! np_line=$(getent group "$2") || { np_fail "the id $2 belongs to group '${np_line%%:*}' on this node but is needed for '$1'"; return 1; }
	np_changing || { np_differs "add group $1 ($2)"; return 0; }
	case ${3-} in people) np_range='' ;; *) np_range=-r ;; esac
	np_ledger group "$1" && groupadd $np_range -g "$2" "$1" || { np_fail "cannot add group '$1'$(np_disk /etc)"; return 1; }
	np_did "add group $1 ($2)"
}

# np_user NAME UID HOME: in the group of the same name.
np_user() {
	np_uses "$1"
	! np_has_failed || return 1
	if np_line=$(getent passwd "$1"); then
		np_word=${np_line#*:*:}
		[ "${np_word%%:*}" = "$2" ] || np_fail "user '$1' has the id ${np_word%%:*} on this node, not $2: it must be the same on all nodes"
		return
	fi
	! np_line=$(getent passwd "$2") || { np_fail "the id $2 belongs to user '${np_line%%:*}' on this node but is needed for '$1'"; return 1; }
	np_changing || { np_differs "add user $1 ($2)"; return 0; }
	np_ledger user "$1" && useradd -r -M -u "$2" -g "$1" -d "$3" -s /usr/sbin/nologin "$1" || { np_fail "cannot add user '$1'$(np_disk /etc)"; return 1; }
	np_did "add user $1 ($2)"
}

# ---- Packages ----------------------------------------------------------------------------------------------------
np_installed() { dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^[ih]i. *//p'; }
# Only users in the system's range: packages do not create people.
np_names() { awk -F : '$3 < 1000 || ($3 >= 60000 && $3 < 65534) { print $1 }' "/etc/$1" | sort; }
np_apt() { apt-get -q -y -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 -o APT::Color=0 -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-confdef -o APT::Install-Recommends=false -o Acquire::Retries=2 -o Acquire::http::Timeout=20 "$@"; }

# It survives a lost connection, because dpkg must not be interrupted. Its output is in $np_room/apt.
np_apt_log() {
	np_rooms || return 1
	(trap '' PIPE HUP; { np_apt "$@" 2>&1; echo $? >"$np_room/status"; } | tee "$np_room/apt")
	return "$(cat "$np_room/status")"
}

# np_apt_cause WHAT: fails with the cause from apt's output.
np_apt_cause() {
	np_why=$(awk '
		/dpkg was interrupted/ { print "an earlier installation was cut off and cannot be finished"; exit }
		/No space left on device|have enough free space/ { print "no space left on the disk"; exit }
		/Could not get lock|Unable to acquire the dpkg frontend lock/ { l = $0; sub(/.*(It is held|process)/, "", l); print "another program is installing packages there:" l; exit }
		/EXPKEYSIG|KEYEXPIRED/ { print "a key of the package sources has expired"; exit }
		/NO_PUBKEY/ { print "the key of a package source is not known"; exit }
		/is not valid yet/ { print "the clock of this node is wrong (the package lists are from its future)"; exit }
		/is expired|is not valid anymore/ { print "the package lists are too old, or the clock of this node is wrong"; exit }
		/Temporary failure resolving|Could not resolve/ { l = $0; sub(/.*(resolving|resolve)( host)?:? /, "", l); print "the package mirror cannot be found by its name: " l; exit }
		/Could not connect|Cannot initiate the connection|Connection failed|Connection refused|Connection timed out|Network is unreachable|Unable to connect/ { l = $0; sub(/^ *([EWGI][a-z]*:)? */, "", l); print "the package mirror cannot be reached: " l; exit }
		/Unable to locate package|has no installation candidate|Couldn.t find any package/ { l = $0; sub(/^E: */, "", l); print "not in the package sources of this node: " l; exit }
		/Hash Sum mismatch/ { print "the mirror gave other bytes than its list promises: it is being changed, or a proxy is in between"; exit }
		/404 +Not Found/ { print "the mirror does not have a package that its list names"; exit }
		/unmet dependencies|held broken packages/ { print "packages of this node do not go together with what is needed"; exit }' "$np_room/apt")
	# What dpkg's line ends with a colon for is in the next one.
	[ -n "$np_why" ] || np_why=$(awk 'l { sub(/^ */, ""); l = l " " $0; exit } /^(E:|dpkg: error)/ { l = $0; if (!/:$/) exit } END { if (l) print l }' "$np_room/apt")
	case $np_why in "the package mirror"*) np_hint "nanopod provision bundle … -d DIR, on a machine with internet; then the same command with --airgap DIR" ;; esac
	np_fail "$1: ${np_why:-apt-get failed}"
}

np_apt_update() {
	np_apt_log update -o APT::Update::Error-Mode=any -o APT::Get::List-Cleanup=0 || np_apt_cause "cannot read the package lists" || return 1
	rm -f "$NP_STATE/apt-stale"
}

# Installing starts no daemons; a step starts them after configuring them.
np_policy=/usr/sbin/policy-rc.d
np_quiet() {
	if grep -qs 'nanopod: no daemons' $np_policy; then return; fi
	! [ -e $np_policy ] || mv -f $np_policy $np_policy.nanopod
	printf '#!/bin/sh\n# nanopod: no daemons while packages are installed\nexit 101\n' >$np_policy.new && chmod 755 $np_policy.new && mv -f $np_policy.new $np_policy
}
np_loud() {
	if grep -qs 'nanopod: no daemons' $np_policy; then rm -f $np_policy; fi
	! [ -e $np_policy.nanopod ] || mv -f $np_policy.nanopod $np_policy
}

# np_packages NAME…
np_packages() {
	np_uses "$@"
	! np_has_failed || return 1
	# shellcheck disable=SC2046
	np_have=" $(echo $(np_installed "$@")) "
	np_miss=''
	for np_name; do
		case $np_have in *" $np_name "*) ;; *) np_miss="$np_miss $np_name" ;; esac
	done
	if ! np_changing; then
		for np_name in $np_miss; do np_differs "install package $np_name"; done
		return 0
	fi
	for np_name; do np_ledger want "$np_name" || return 1; done
	[ -n "$np_miss" ] || return 0
	np_rooms && np_install $np_miss
}
np_undo_want() { :; }

np_install() {
	np_candidates=$(apt-cache policy "$@" | grep -c 'Candidate: [^(]')
	if [ -e "$NP_STATE/apt-stale" ] || [ "$np_candidates" -lt $# ]; then np_apt_update || return 1; fi
	np_mend || { np_apt_update && np_mend; } || { np_has_failed || np_apt_cause "cannot finish an earlier installation"; return 1; }
	np_plan "$@" || { np_apt_update && np_plan "$@"; } || { np_has_failed || np_apt_cause "cannot install packages"; return 1; }
	# A killed run left its lists of users and groups, which show what its packages created.
	np_trace /run/adduser
	(umask 077; mkdir -p "$(np_book).d") && np_before=$(np_book).d/names || return 1
	find "$(np_book).d" -name 'names.*' -mmin +60 -delete   # of a run that was killed too long ago to tell who came since
	if [ ! -s "$np_before.group" ]; then
		for np_word in passwd group; do np_names $np_word >"$np_before.new" && mv "$np_before.new" "$np_before.$np_word"; done
	fi
	for np_name in $np_fresh; do np_ledger package "$np_name" || return 1; done
	np_quiet
	np_apt_log install "$@" || { grep -qE '404 +Not Found' "$np_room/apt" && np_apt_update && np_apt_log install "$@"; }
	np_status=$?
	np_loud
	np_newcomers
	[ $np_status = 0 ] || { np_has_failed || np_apt_cause "cannot install packages"; return 1; }
	np_did "install packages $*$(set -- $np_fresh; [ $# = 0 ] || printf ' (%d with what they need)' $#)"
}

# Finishes what a dpkg that was cut off has left. A package killed while its files were unpacked ("reinst-required") is
# one that dpkg neither configures nor removes, and that apt-get installs anew only if it is told to.
np_mend() {
	np_interrupted || return 0
	np_shadowed
	np_configure
	np_torn=$(dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package}\n' | sed -n 's/^..R *//p')
	[ -n "$np_torn" ] || return 0
	np_quiet
	np_apt_log install --reinstall $np_torn
	np_status=$?
	np_loud
	np_configure
	return $np_status
}
# apt-get does nothing at all, not even a plan, while dpkg's notes lie in this folder.
np_interrupted() { [ -n "$(dpkg --audit 2>/dev/null)" ] || [ -n "$(ls /var/lib/dpkg/updates 2>/dev/null)" ]; }
# A useradd killed between its files leaves a user whom nobody may become.
np_shadowed() {
	awk -F: 'NR == FNR { shadowed[$1]; next } $2 == "x" && !($1 in shadowed) { torn = 1 } END { exit !torn }' \
		/etc/shadow /etc/passwd || return 0
	pwconv
}
np_configure() {
	np_quiet
	dpkg --configure -a --force-confold --force-confdef
	np_loud
}

# Sets $np_fresh to the packages that would be installed. In apt's output, an upgrade has the old version in brackets.
np_plan() {
	np_apt -s install "$@" >"$np_room/apt" 2>&1 || return 1
	np_fresh=$(awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }' "$np_room/apt")
}

# Users and groups that packages created.
np_newcomers() {
	np_names group | comm -13 "$np_before.group" - >"$np_room/names"
	while IFS= read -r np_name; do np_ledger group "$np_name"; done <"$np_room/names"
	np_names passwd | comm -13 "$np_before.passwd" - >"$np_room/names"
	while IFS= read -r np_name; do np_ledger user "$np_name"; done <"$np_room/names"
	rm -f "$np_before.passwd" "$np_before.group"
	np_locks_clear
}
# What useradd and groupdel leave when they are killed: a file named by their process, with its number and a zero byte in it.
np_locks_clear() {
	for np_word in /etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid; do
		for np_lock in "$np_word".[1-9]*; do
			[ ! -f "$np_lock" ] || [ -d "/proc/${np_lock##*.}" ] || [ "$(tr '\0' . <"$np_lock")" != "${np_lock##*.}." ] || rm -f "$np_lock"
		done
	done
}

# Removes all packages of a step at once; those that other steps need move to their lines.
np_undo_package() {
	np_rooms || return 1
	! np_interrupted || np_configure
	np_books=$(find "$NP_STATE/undo" -maxdepth 1 -type f ! -name "*.new")
	np_mine=$(awk -F '\t' -v s="$NP_STEP" '$1 == s && $2 == "package" { print $3 }' "$np_file" | sort -u)
	np_mine=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $np_mine 2>/dev/null | sed -n '/^not-installed/!s/.* //p' | sort -u)
	[ -n "$np_mine" ] || return 0
	[ -z "$NP_USES" ] || cut -f 3 "$NP_USES" | grep -xF -e "$np_mine" >"$np_room/uses"
	awk -F '\t' -v mine="$np_file" -v s="$NP_STEP" '$2 == "want" && (FILENAME != mine || $1 != s) { print $3 }' $np_books 2>/dev/null | cat - ${NP_USES:+"$np_room/uses"} | sort -u >"$np_room/wanted"
	np_apt -s purge $np_mine >"$np_room/apt" 2>&1 || { np_apt_cause "cannot remove packages"; return 1; }
	awk '$1 == "Purg" || $1 == "Remv" { print $2 }' "$np_room/apt" | sort -u >"$np_room/going"
	printf '%s\n' $np_mine | comm -13 - "$np_room/going" >"$np_room/others"
	np_need=$(cat "$np_room/wanted" "$np_room/others")
	if [ -n "$np_need" ]; then
		apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $np_need 2>/dev/null |
			sed -n 's/^\([a-z0-9]\)/\1/p' | cat - "$np_room/wanted" | sort -u >"$np_room/needed"
	else
		: >"$np_room/needed"
	fi
	printf '%s\n' $np_mine | comm -12 - "$np_room/needed" >"$np_room/stay"
	np_heirs "$np_room/stay"
	np_go=$(printf '%s\n' $np_mine | comm -23 - "$np_room/stay")
	[ -n "$np_go" ] || return 0
	np_apt_log -o Dpkg::Options::=--force-remove-reinstreq purge $np_go || { np_apt_cause "cannot remove packages"; return 1; }
	# shellcheck disable=SC2086
	set -- $np_go
	np_did "removed $# package$([ $# = 1 ] || echo s)"
}

# np_heirs FILE: assigns staying packages to the stack that wants them, or reports them.
np_heirs() {
	[ -s "$1" ] || return 0
	np_heir=$(awk -F '\t' -v mine="$np_file" -v s="$NP_STEP" '$2 == "want" && (FILENAME != mine || $1 != s) { print FILENAME "\t" $1; exit }' $np_books 2>/dev/null)
	[ -n "$np_heir" ] || [ -z "$NP_USES" ] || np_heir=$(W="$(cat "$1")" awk -F '\t' -v at="$NP_STATE/undo/" 'BEGIN { n = split(ENVIRON["W"], w, "\n"); for (i = 1; i <= n; i++) is[w[i]] = 1 } $3 in is { print at $1 "\t" $2; exit }' "$NP_USES")
	while IFS= read -r np_name; do
		if [ -n "$np_heir" ]; then np_append "${np_heir%%"$np_tab"*}" "${np_heir#*"$np_tab"}${np_tab}package$np_tab$np_name"
		else np_left "package $np_name: other packages need it"
		fi
	done <"$1"
}

# ---- Units -------------------------------------------------------------------------------------------------------
np_systemd() { [ -d /run/systemd/system ]; }
np_active() { if np_systemd; then systemctl -q is-active "$1"; else service "$1" status >/dev/null 2>&1 </dev/null; fi; }
np_enabled() { if np_systemd; then [ "$(systemctl is-enabled "$1" 2>/dev/null)" = enabled ]; else ls /etc/rc2.d/S??"$1" >/dev/null 2>&1; fi; }
# A daemon must not inherit our descriptors, or the connection stays open while it runs.
np_control() {
	np_rooms || return 1
	if np_systemd; then
		systemctl "$1" "$2"
	else
		service "$2" "$1" >"$np_room/service" 2>&1 </dev/null 3>&-
		np_status=$?
		cat "$np_room/service"
		return $np_status
	fi
}
np_reload_units() { ! np_systemd || [ "$(systemctl show -p NeedDaemonReload --value "$1" 2>/dev/null)" = no ] || systemctl daemon-reload; }
# np_unit_log NAME [SINCE]: its last log lines, since a time in seconds of 1970.
np_unit_log() {
	np_systemd || return 0
	# A service's last words may still be on their way to the journal.
	timeout 5 journalctl --sync 2>/dev/null
	# What one says by syslog(3) just before it ends has no unit: the journal finds no process to ask. It has a name.
	case $1 in *.*) np_unit=$1 ;; *) np_unit=$1.service ;; esac
	journalctl -q --no-pager -n 20 ${2:+--since "@$2"} -o cat "_SYSTEMD_UNIT=$np_unit" + _PID=1 "UNIT=$np_unit" + \
		_UID=0 "SYSLOG_IDENTIFIER=${np_unit%.*}" 2>/dev/null
}

# np_unit NAME [COMMAND…]: makes it run, now and after a boot. COMMAND starts it without systemd and an init script.
np_unit() {
	np_uses "$1"
	! np_has_failed || return 1
	np_name=$1
	shift
	if [ "$NP_MODE" = verify ]; then np_unit_verify "$np_name"; return; fi
	[ $# = 0 ] || np_systemd || np_init_script "$np_name" "$@"
	np_why=$(np_unit_lacks "$np_name")
	[ -n "$np_why" ] || return 0
	np_changing || { np_differs "$np_why $np_name"; return 0; }
	np_unit_record "$np_name" || return 1
	np_reload_units "$np_name"
	case $np_why in
	enable*) if np_systemd; then systemctl -q enable "$np_name"; else update-rc.d "$np_name" defaults >/dev/null && update-rc.d "$np_name" enable >/dev/null; fi || { np_fail "cannot enable '$np_name'"; return 1; } ;;
	esac
	case $np_why in
	*start)
		! np_systemd || systemctl reset-failed "$np_name" 2>/dev/null
		# A unit that is still starting uses its old files.
		if np_systemd && np_has_changed && [ "$(systemctl show -p ActiveState --value "$np_name")" = activating ]; then np_verb=restart; else np_verb=start; fi
		np_control $np_verb "$np_name" && np_wait 10 np_active "$np_name" || { np_unit_log "$np_name"; np_fail "'$np_name' does not start"; return 1; } ;;
	esac
	np_did "$np_why $np_name"
}
# Prints what it needs to run, now and after a boot. One systemctl for all questions, because each call is slow.
np_unit_lacks() {
	np_why=''
	if np_systemd; then np_line=$(systemctl show -p ActiveState -p UnitFileState "$1" 2>/dev/null); else np_line=''; fi
	case "$np_line$np_newline" in *UnitFileState=enabled"$np_newline"*) ;; *) np_enabled "$1" || np_why=enable ;; esac
	case $np_line in *ActiveState=active*) ;; *) np_active "$1" || np_why="${np_why:+$np_why and }start" ;; esac
	printf '%s\n' "$np_why"
}
np_unit_record() {
	np_ledger_has unit "$1" && return
	np_word=disabled np_line=inactive
	! np_enabled "$1" || np_word=enabled
	! np_active "$1" || np_line=active
	np_ledger unit "$1" $np_word $np_line
}
np_undo_unit() {
	case $2 in
	*inactive) ! np_active "$1" || { np_control stop "$1" && np_did "stopped $1"; } || return 1 ;;
	*) np_active "$1" || np_control start "$1" ;;
	esac
	case $2 in
	disabled*) ! np_enabled "$1" || if np_systemd; then systemctl -q disable "$1"; else update-rc.d -f "$1" remove >/dev/null; fi ;;
	esac
}
np_unit_verify() {
	case $(np_unit_lacks "$1") in
	'') np_ok "$1 is active and enabled"; return ;;
	enable) np_lack="is active but will not start at boot" ;;
	*) np_lack="is not active" ;;
	esac
	np_unit_log "$1"
	np_hint "nanopod provision apply $NP_CLUSTER"
	np_bad "$1 $np_lack"
}

# np_restart NAME: restarts after a change, or if a restart is still due; call it before np_unit.
np_restart() {
	! np_has_failed || return 1
	np_has_changed || return 0
	np_active "$1" || return 0
	np_changing || { np_differs "restart $1"; return 0; }
	np_unit_record "$1"
	np_reload_units "$1"
	np_control restart "$1" && np_wait 10 np_active "$1" || { np_unit_log "$1"; np_fail "'$1' does not start again"; return 1; }
	np_did "restart $1"
}

# np_hold SECONDS NAME…: for verify: each has been running that long (a unit that restarts all the time fails).
np_hold() {
	np_seconds=$1
	shift
	np_left=$(np_young "$np_seconds" "$@")
	if [ "$np_left" -gt 0 ]; then
		np_first=$(np_lives "$@")
		sleep "$np_left"
		np_second=$(np_lives "$@")
		[ "$np_first" = "$np_second" ] || np_bad "started again within $np_left s: $*"
	fi
	for np_name; do np_unit_verify "$np_name"; done
}
# How many seconds the youngest of them still lacks.
np_young() {
	np_systemd || { printf '%s\n' "$1"; return; }
	np_left=$1
	shift
	systemctl show -p ActiveEnterTimestampMonotonic --value "$@" 2>/dev/null | awk -v left="$np_left" '
		NR == FNR { now = int($1); next }
		$1 != "" { n++; lacks = left - (now - int($1 / 1000000)); if (lacks > left) lacks = left; if (lacks > most) most = lacks }
		END { print n ? most + 0 : left }' /proc/uptime -
}
np_lives() { if np_systemd; then systemctl show -p MainPID -p NRestarts "$@" 2>/dev/null; else for np_name; do service "$np_name" status 2>&1 </dev/null; done; fi; }

# Prints an init script for a program without one.
np_init_script() {
	np_unitname=$1 np_program=$2
	shift 2
	np_file "/etc/init.d/$np_unitname" 0755 root:root <<-.
		#!/bin/sh
		### BEGIN INIT INFO
		# Provides: $np_unitname
		# Required-Start: \$remote_fs \$network
		# Required-Stop: \$remote_fs \$network
		# Default-Start: 2 3 4 5
		# Default-Stop: 0 1 6
		# Short-Description: $np_unitname
		### END INIT INFO
		pid=/run/$np_unitname.pid
		case \$1 in
		start) start-stop-daemon --start --oknodo --background --make-pidfile --pidfile \$pid --exec $np_program -- $* ;;
		stop) start-stop-daemon --stop --oknodo --retry 10 --remove-pidfile --pidfile \$pid ;;
		restart) \$0 stop; \$0 start ;;
		status) start-stop-daemon --status --pidfile \$pid ;;
		*) exit 2 ;;
		esac
	.
}
