#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stacks/common/lib.sh, without a node: what it says, what it changes and that undo takes all of it back; in each shell that is here.
. "$(dirname "$0")/../lib/tap.sh"
need diff flock awk base64
me=$(id -un):$(id -gn)
lib=$SRC/stacks/common/lib.sh
rs=$(printf '\036')

# np FUNCTION [STEP] <SCRIPT: as the engine sends it; records to $out, RS shown as '^'.
np() {
	np_function=$1 np_step=${2:-one}
	{
		cat "$lib"
		echo "NP_STATE='$TMP/state' NP_RUN='$TMP/run' NP_CLUSTER=train NP_HOST=h2 NP_TABLE='$table'"
		echo 'pwconv() { :; }' # never this machine's
		echo "("
		echo "NP_STACK=demo NP_STEP=$np_step NP_ROLES='workers login' R='$TMP/root' ME='$me'"
		cat
		echo "np_work $np_function"
		echo ") </dev/null"
		echo 'np_end $?'
	} | $shell >"$TMP/.records" 2>"$TMP/.log"
	out=$(tr "$rs" '^' <"$TMP/.records" | sed -n 's/^^NP	//p' | tr '\t' ' ')
}
# try TEXT FUNCTION [STEP]
try() { printf '%s\n' "$1" >"$TMP/.text"; shift; np "$@" <"$TMP/.text"; }
files() { (cd "$TMP/root" && find . -printf '%p %m %l\n' -type f -exec cksum {} + | sort); }

table=$(printf 'n1\th1\t10.0.0.1\tbase.nodes,demo.controller\tcpus=4\tgpu_count=0\nn2\th2\t10.0.0.2\tbase.nodes,demo.workers\tcpus=8\nn3\th3\tfd00::3\tbase.nodes,demo.workers,other.head\tcpus=16')
everything='want() {
	printf "a\nb\n" | np_file "$R/etc/a/b/new.conf" 0640 "$ME"
	printf "changed\n" | np_file "$R/etc/old.conf" 0644 "$ME"
	head -c 8 "$R/etc/key" 2>/dev/null | tr -d "\n" | np_file "$R/etc/secret" 0400 "$ME" secret
	np_absent "$R/etc/away"
	echo "10.0.0.1 h1" | np_block "$R/etc/hosts" train
	np_dir "$R/srv/data" 0750 "$ME"
	np_dir "$R/etc/open" 0700 "$ME"
	np_trace "$R/var/made" "$R/etc/old.conf"
	np_changing && { mkdir -p "$R/var/made/deep"; echo x >"$R/var/made/deep/x"; }
	np_has_changed && np_say "changed"
	:
}'

for shell in dash 'busybox sh' 'bash --posix'; do
	$shell -c : 2>/dev/null || { diag "no ${shell%% *}"; continue; }
	rm -rf "$TMP/state" "$TMP/root" "$TMP/run"
	mkdir -p "$TMP/run" "$TMP/root/etc/open" "$TMP/root/var" "$TMP/root/srv"
	(cd "$TMP/root/etc" && echo before >old.conf && echo gone >away && ln -s old.conf link && printf '127.0.0.1 localhost\n' >hosts && echo 'hunter2hunter2' >key && chmod 755 open)
	before=$(files)

	# ---- Records ---------------------------------------------------------------------------------------------
	np verify <<-'.'
		verify() { np_ok "50% of"	"it"; np_say "$(printf 'a\tb\nc\033\177')"; np_hint 'x "y" $z'; echo to the log; printf bytes | np_give word; np_give_hash word abc; }
	.
	is "$out" "work demo one verify
ok 50%25 of it
say a%09b%0Ac%1B%7F
hint x \"y\" \$z
give word Ynl0ZXM=
hash word abc
done 0
end 0" "$shell: records, encoded"
	is "$(cat "$TMP/.log")" "to the log" "$shell: what programs say is apart"
	try 'want() { echo x | np_file "$R/etc/mine" 0640; np_dir "$R/etc/own" 0750; }' apply
	try 'want() { echo x | np_file "$R/etc/mine" 0640; np_dir "$R/etc/own" 0750; }' check
	is "$(stat -c '%a %U:%G' "$TMP/root/etc/mine" "$TMP/root/etc/own" | tr '\n' ' ')|$out" "640 $me 750 $me |work demo one check
done 0
end 0" "$shell: a file and a folder without an owner are whose the step is, and converge"
	try ':' undo
	is "$(files)" "$before" "$shell: (and go)"
	for way in "0640 $(id -u):$(id -g)" "640 $(id -un):$(id -g)" "00640 $(id -un)" "640 :$(id -gn)"; do
		try "want() { echo x | np_file \"\$R/etc/mine\" $way; np_dir \"\$R/etc/own\" $way; }" apply
		try "want() { echo x | np_file \"\$R/etc/mine\" $way; np_dir \"\$R/etc/own\" $way; }" check
		is "$(stat -c '%a %U:%G' "$TMP/root/etc/mine" "$TMP/root/etc/own" | tr '\n' ' ')|$out" "640 $me 640 $me |work demo one check
done 0
end 0" "$shell: and so with $way"
		try ':' undo
	done
	try 'want() { np_dir "$R/etc/own" 4 "$ME"; }' apply
	try 'want() { np_dir "$R/etc/own" 0004 "$ME"; }' check
	unlike "$out" '^differs' "$shell: and zeros in front"
	try 'want() { echo x | np_file "$R/etc/mine" u=rw,go=r; }' check
	like "$out" "^cause cannot write '$TMP/root/etc/mine': its mode 'u=rw,go=r' is not octal, like 0644" "$shell: another mode is refused"
	try 'want() { np_dir "$R/etc/mine" +x "$ME"; }' check
	like "$out" "^cause cannot make '$TMP/root/etc/mine': its mode '\+x' is not octal, like 0755" "$shell: of a folder too"
	try 'want() { echo x | np_file "$R/etc/mine" 0644 nobodys; }' apply
	like "$out" "^cause cannot write '$TMP/root/etc/mine': no user 'nobodys' on this node" "$shell: so is an owner who is not there"
	try 'want() { np_dir "$R/etc/mine" 0755 "${ME%%:*}:nobodies"; }' apply
	like "$out" "^cause cannot make '$TMP/root/etc/mine': no group 'nobodies' on this node" "$shell: or a group"
	try ':' undo
	is "$(files)" "$before" "$shell: (and go)"
	np verify <<-'.'
		verify() { np_members workers; np_members other.head; np_all; np_fact h3 cpus; np_address h3; np_node_name h3; np_is login && ! np_is controller && echo right; } >&3
	.
	is "$(cat "$TMP/.records" | grep -v NP | tr '\n' ' ')" "h2 h3 h3 h1 h2 h3 16 fd00::3 n3 right " "$shell: who is who"
	np check <<-'.'
		check() { np_fail "no good"; np_differs "x"; return 0; }
	.
	like "$out" "^done 1" "$shell: a failure that the function does not hand on fails the step"
	np check <<-'.'
		check() { exit 3; }
	.
	like "$out" "^done 3" "$shell: a step that ends itself is done too"
	np call <<-'.'
		other() { :; }
	.
	like "$out" "^cause step 'one' of 'demo' has no function 'call'" "$shell: a function that is not there"
	np check <<-'.'
		other() { :; }
	.
	like "$out" "^done 0" "$shell: no check is no difference"
	ok "$shell: looking leaves nothing" test ! -e "$TMP/state"

	# ---- Check, apply, check, undo ---------------------------------------------------------------------------
	try "$everything" check
	is "$(printf '%s\n' "$out" | grep -c ^differs)" 7 "$shell: seven things differ" || diag "$out"
	like "$out" '^diff .*-before%0A\+changed' "$shell: with a diff"
	unlike "$out" hunter2 "$shell: not of secrets"
	like "$out" '^say changed' "$shell: a change in a pipe is known after it"
	is "$(files)" "$before" "$shell: checking changes nothing"
	try "$everything" apply
	like "$out" '^done 0' "$shell: applied" || sed 's/^/# /' "$TMP/.log"
	is "$(stat -c '%a' "$TMP/root/etc/a/b/new.conf" "$TMP/root/etc/secret" "$TMP/root/srv/data" | tr '\n' ' ')" "640 400 750 " "$shell: modes"
	like "$(cat "$TMP/state/steps/demo.one")" '^done [0-9]+ train$' "$shell: marker"
	ok "$shell: nothing is owed" test ! -e "$TMP/state/steps/demo.one.owed"
	try "$everything" check
	unlike "$out" '^differs' "$shell: nothing differs then" || diag "$out"
	after=$(files)
	try "$everything" apply
	is "$(files)" "$after" "$shell: the second time changes nothing"
	is "$(grep -c . "$TMP/state/undo/demo")" "$(sort -u "$TMP/state/undo/demo" | grep -c .)" "$shell: each change is in the ledger once"
	echo 'mine' >"$TMP/root/etc/old.conf"
	try "$everything" apply
	try 'want() { echo two | np_file "$R/etc/old.conf" 0644 "$ME"; }' apply two
	is "$(cat "$TMP/root/etc/old.conf")" two "$shell: another step changes the same file"
	try : undo two
	is "$(cat "$TMP/root/etc/old.conf")" changed "$shell: its undo gives back what it found"
	try : undo
	like "$out" '^done 0' "$shell: undone" || diag "$out" "$(cat "$TMP/.log")"
	is "$(files)" "$before" "$shell: all is as before"
	ok "$shell: and nothing of ours is left" test ! -e "$TMP/state"
	is "$(ls "$TMP/run")" nanopod-lock "$shell: nor in memory"

	# ---- Cut off -------------------------------------------------------------------------------------------
	try 'want() { echo new | np_file "$R/etc/old.conf" 0644 "$ME"; kill -9 "$(exec sh -c "echo \$PPID")"; }' apply
	unlike "$out" '^done' "$shell: (killed in the middle)"
	ok "$shell: (and left its folder in memory)" test -n "$(ls -d "$TMP"/run/nanopod.* 2>/dev/null)"
	is "$(cat "$TMP/state/steps/demo.one")" "begun train" "$shell: it was begun"
	try 'want() { echo new | np_file "$R/etc/old.conf" 0644 "$ME"; np_has_changed && np_say "restart owed"; }' check
	like "$out" '^differs finish an interrupted step' "$shell: check says so"
	like "$out" '^say restart owed' "$shell: and a restart is owed though the file is right"
	whole='np_shadowed() { np_say whole; }; want() { np_say applied; }'
	try "$whole" apply
	is "$(printf '%s\n' "$out" | grep '^say')" "say whole
say applied" "$shell: users are made whole before it goes on"
	try "$whole" apply
	is "$(printf '%s\n' "$out" | grep '^say')" "say applied" "$shell: and are left alone where nothing was cut off"
	try 'undo() { np_kept "$R/etc/old.conf" "it is dear"; }' undo
	like "$out" "^left $TMP/root/etc/old.conf: it is dear" "$shell: what undo keeps is said"
	is "$(cat "$TMP/root/etc/old.conf")" new "$shell: and stays"
	is "$(ls "$TMP/run")" nanopod-lock "$shell: the next run takes away what the killed one had in memory"
	echo before >"$TMP/root/etc/old.conf"
	chmod 644 "$TMP/root/etc/old.conf"
	try 'want() { np_fail "first"; echo new | np_file "$R/etc/old.conf" 0644 "$ME"; np_dir "$R/nothing" 0700 "$ME"; }' apply
	is "$(files)" "$before" "$shell: after a failure nothing more is changed"
	try : undo

	# Killed before the rename that makes the change: what lies beside the file then goes with the next change, or with the undo.
	torn='mv() { case $3 in */old.conf) kill -9 "$(exec sh -c "echo \$PPID")" ;; *) command mv "$@" ;; esac; }
		want() { echo new | np_file "$R/etc/old.conf" 0644 "$ME"; }'
	beside() { find "$TMP/root/etc" -name "old.conf.*" | wc -l; }
	try "$torn" apply
	is "$(beside)" 1 "$shell: (killed before the rename)"
	try 'want() { echo new | np_file "$R/etc/old.conf" 0644 "$ME"; }' apply
	is "$(beside)" 0 "$shell: the next change takes away what lay beside the file"
	try : undo
	try "$torn" apply
	is "$(beside)" 1 "$shell: (killed again)"
	try : undo
	is "$(files)" "$before" "$shell: so does an undo"

	# ---- What is not ours ----------------------------------------------------------------------------------
	try 'undo() { np_say "asked"; rm -f "$R/etc/hosts"; }' undo never
	unlike "$out" '^say asked' "$shell: a step that was never begun here is not undone"
	try 'want() { np_dir "$R/srv/share" 0755 "$ME" data; np_dir "$R/srv/empty" 0755 "$ME" data; np_changing && echo dear >"$R/srv/share/file"; :; }' apply
	try : undo
	like "$out" "^left $TMP/root/srv/share" "$shell: a folder of data that is not empty is said"
	is "$(cat "$TMP/root/srv/share/file")" dear "$shell: and stays, whatever the settings say by then"
	ok "$shell: an empty one goes" test ! -e "$TMP/root/srv/empty"
	rm -r "$TMP/root/srv/share"
	try 'want() { echo x | np_file "$R/etc/my\\x2ddata.mount" 0644 "$ME"; }' apply
	ok "$shell: (a name with a backslash)" test -e "$TMP/root/etc/my\\x2ddata.mount"
	timeout 20 true
	try : undo
	like "$out" '^done 0' "$shell: is undone, once"
	is "$(files)" "$before" "$shell: all of that is as before"
	echo precious >"$TMP/root/etc/other"
	try 'want() { ln -s other "$R/etc/old.conf.new"; echo new | np_file "$R/etc/old.conf" 0644 "$ME"; }' apply
	is "$(cat "$TMP/root/etc/other")" precious "$shell: nothing is written through a link that somebody laid"
	rm -f "$TMP/root/etc/old.conf.new"
	try : undo
	rm -f "$TMP/root/etc/other" "$TMP/root/etc/old.conf.new"
	try 'want() { echo token: sesame | np_file "$R/etc/config" 0600 "$ME"; }' check
	like "$out" "^differs write $TMP/root/etc/config" "$shell: a file that not all may read differs"
	unlike "$out" sesame "$shell: and what is in it is not shown"

	try 'NP_SETTINGS="S_path=\"/srv/a b\"
S_two=\"1
2\""; eval "$NP_SETTINGS"; want() { echo "$S_path" | np_file "$R/etc/path" 0644 "$ME"; }' apply
	is "$(stat -c %a "$TMP/state/steps/demo.one.set")" 600 "$shell: settings are kept, for root alone"
	try 'S_path=/srv/other S_two=; np_was_set; undo() { np_say "$S_path $S_two"; }' undo
	like "$out" '^say /srv/a b 1%0A2$' "$shell: and are those of the undo"
	ok "$shell: and gone then" test ! -e "$TMP/state"

	# ---- What leaves, and others stay ------------------------------------------------------------------------
	shared='want() { echo x | np_file "$R/etc/old.conf" 0644 "$ME"; echo own | np_file "$R/etc/own" 0644 "$ME"; np_dir "$R/var/lib" 0755 "$ME"; np_changing && echo dear >"$R/var/lib/file"; :; }'
	try "$shared" apply
	printf 'demo\ttwo\t%s\n' "$TMP/root/etc/old.conf" >"$TMP/uses"
	try "NP_LEAVING=yes NP_USES=$TMP/uses; $shared; undo() { np_aside \"\$R/var/lib\" 'it is dear'; }" undo
	is "$(cat "$TMP/root/etc/old.conf")" x "$shell: what another step uses stays"
	ok "$shell: what nobody uses goes" test ! -e "$TMP/root/etc/own"
	like "$out" "^left $TMP/root/var/lib.20[0-9-]*: it is dear" "$shell: data is set aside, and said"
	is "$(cat "$TMP/root"/var/lib.20*/file)" dear "$shell: and is whole"
	rm -r "$TMP/root"/var/lib.20*
	try : undo two
	is "$(files)" "$before" "$shell: the other one gives back what was there before both"
	try 'want() { np_trace "$R/var/made"; np_changing && { mkdir -p "$R/var/made/server/db" "$R/var/made/cache"; echo dear >"$R/var/made/server/db/x"; }; :; }' apply
	: >"$TMP/uses"
	try "NP_LEAVING=yes NP_USES=$TMP/uses; undo() { np_aside \"\$R/var/made/server\" 'it is dear'; np_aside \"\$R/etc/open\" 'not ours'; np_aside \"\$R/etc\" 'not ours'; }" undo
	is "$(cat "$TMP/root"/var/made/server.20*/db/x)" dear "$shell: data set aside in what else would go stays"
	is "$(ls -d "$TMP/root"/etc* "$TMP/root"/etc/open* | xargs)" "$TMP/root/etc $TMP/root/etc/open" "$shell: what was there before us is not set aside"
	rm -r "$TMP/root/var/made"
	try : undo
	try 'want() { echo x | np_file "$R/etc/own" 0644 "$ME"; }' apply
	: >"$TMP/uses"
	try "NP_USES=$TMP/uses; want() { echo x | np_file \"\$R/etc/own\" 0644 \"\$ME\"; np_fail x; np_packages some thing; np_unit thing; np_trace /a /b; }" check
	is "$(cut -f 3 "$TMP/uses" | xargs)" "$TMP/root/etc/own some thing thing /a /b" "$shell: a check says what is used"
	try 'want() { echo a | np_block "$R/etc/hosts" one; echo b | np_block "$R/etc/hosts" two; }' apply three
	printf 'demo\ttwo\t%s\ndemo\ttwo\t%s\n' "$TMP/root/etc/hosts" "$TMP/root/etc/hosts two" >"$TMP/uses"
	try "NP_USES=$TMP/uses" undo three
	is "$(grep -c nanopod "$TMP/root/etc/hosts") $(grep -c 'nanopod two' "$TMP/root/etc/hosts")" "2 2" "$shell: of a file with two blocks only that goes which nobody uses"
	try : undo two
	try 'NP_CLUSTER=other' undo
	is "$(cat "$TMP/root/etc/own")" x "$shell: what another cluster did is not undone"
	try : undo

	# ---- Two steps that write one file ------------------------------------------------------------------------
	# Whoever goes first, and whether the other one stays: at the end it is as it was before both.
	ours() { try "${3-} want() { echo $1 | np_file \"\$R/etc/$2\" 0644 \"\$ME\"; }" apply "$1"; }
	# A name of a copy that reads as a large number.
	e9='mktemp() { case $1 in */undo/*) set -- "${1%XXXXXX}e9ABCD"; : >"$1"; echo "$1" ;; *) command mktemp "$1" ;; esac; };'
	printf 'demo\tuno\t%s\ndemo\tuno\t%s\n' "$TMP/root/etc/own" "$TMP/root/etc/old.conf" >"$TMP/uses"
	for file in own old.conf; do
		for leaves in 'uno due' 'due uno'; do
			ours uno $file
			ours due $file
			try : undo "${leaves% *}"
			is "$(cat "$TMP/root/etc/$file")" "${leaves#* }" "$shell: $file of two steps, of which '${leaves% *}' is undone first, is the other one's"
			try : undo "${leaves#* }"
			is "$(files)" "$before" "$shell: and then as before both"
			ok "$shell: (nothing of ours is left)" test ! -e "$TMP/state"
		done
		ours uno $file "$e9"
		ours due $file
		try "NP_LEAVING=yes NP_USES=$TMP/uses" undo due
		is "$(cat "$TMP/root/etc/$file")" uno "$shell: $file of one that leaves is again that of the first, which stays"
		ours tre $file
		ours due $file
		try : undo uno
		try : undo due
		try : undo tre
		is "$(files)" "$before" "$shell: of three, too"
	done

	# ---- Groups ----------------------------------------------------------------------------------------------
	try 'groupadd() { np_say "groupadd $*"; }; want() { np_group np-test 987654; np_group np-people 987653 people; }' apply
	is "$(printf '%s\n' "$out" | grep -E '^(say|did)')" "say groupadd -r -g 987654 np-test
did add group np-test (987654)
say groupadd -g 987653 np-people
did add group np-people (987653)" "$shell: a group of the system, and of people"
	try 'groupdel() { :; }' undo

	# ---- Who is away -----------------------------------------------------------------------------------------
	try 'want() { np_rows | cut -f 2 | np_file "$R/etc/names" 0644 "$ME"; }' apply
	is "$(tr '\n' ' ' <"$TMP/root/etc/names")" "h1 h2 h3 " "$shell: a file that names all members"
	whole=$table table=$(printf '%s\n' "$whole" | sed 2d)
	try 'NP_UNKNOWN=n2; want() { np_rows | cut -f 2 | np_file "$R/etc/names" 0644 "$ME"; }' check
	unlike "$out" '^differs' "$shell: one who is not reached stays in it"
	try 'want() { np_rows | cut -f 2 | np_file "$R/etc/names" 0644 "$ME"; }' check
	like "$out" '^differs' "$shell: one who is a member no more does not"
	table=$whole
	try : undo
	try 'NP_TABLE=$(printf "%s\n" "$NP_TABLE" | sed "s/\$/	kernel=6.1/") NP_OWN_TABLE=yes; want() { np_fact h2 kernel | np_file "$R/etc/kernel" 0644 "$ME"; }' apply
	try 'want() { np_fact h2 kernel | np_file "$R/etc/other" 0644 "$ME"; }' apply two
	is "$(cat "$TMP/root/etc/kernel" "$TMP/root/etc/other")" 6.1 "$shell: a fact that a step asks for is in its table alone"
	table=$(printf '%s\n' "$whole" | sed 2d)
	try 'NP_UNKNOWN=n2 NP_OWN_TABLE=yes; want() { np_fact h2 kernel | np_file "$R/etc/kernel" 0644 "$ME"; }' check
	unlike "$out" '^differs' "$shell: and kept of one who is not reached, whatever other steps keep"
	table=$whole
	try : undo two
	try : undo
	ok "$shell: until it is undone" test ! -e "$TMP/state"

	# ---- Short texts, which the shell compares itself -------------------------------------------------------------
	# short TEXT [FUNCTION]: what is written, or said to differ, and which programs compare.
	short() {
		printf 'np_look\ndiff() { np_say diff; command diff "$@"; }\ncmp() { np_say cmp; command cmp "$@"; }\n%s\n' \
			"want() { printf '$1' | np_file \"\$R/etc/short\" 0644 \"\$ME\"; }" >"$TMP/.text"
		np "${2:-check}" <"$TMP/.text"
	}
	long=$(printf '%0300d\\n%0300d' 1 2)
	for text in 'a b\n\\n  c\n' 'no end' 'one\n\nmore\n\n' '' '\303\251\n' 'a\\b\n' '\n'; do
		short "$text" apply
		short "$text"
		is "$out" "work demo one check
done 0
end 0" "$shell: '$text' is as said, without a program"
		for other in "${text}x" "x$text" "$text\n" "x" "$long"; do
			short "$other"
			like "$out" 'differs change .*/etc/short.*' "$shell: '$text' is not '$(printf %.20s "$other")'"
			like "$out" '^diff --- .*%0A' "$shell: and it says how"
		done
		printf "$text" >"$TMP/.is"; printf "$long" >"$TMP/.new"
		is "$(printf '%s\n' "$out" | sed -n 's/^diff --- [^%]*%0A+++ [^%]*%0A//p' | sed 's/%0A/\n/g')" \
			"$(diff -u "$TMP/.is" "$TMP/.new" | sed 1,2d)" "$shell: all of it, where the new text is long"
		try : undo
	done
	short 'a\0b\n' apply
	short 'a\0b\n'
	like "$out" 'say diff
done' "$shell: what the shell cannot hold is left to a program"
	unlike "$out" differs "$shell: which finds it as said"
	try : undo
	many='np_look
diff() { np_say diff; command diff "$@"; }
want() { for i in $(seq 30); do echo $i | np_file "$R/etc/many/$i" 0644 "$ME"; done; }'
	try "$many" apply
	try "$many" check
	is "$out" "work demo one check
done 0
end 0" "$shell: one of many files, too"
	try : undo

	# ---- Causes --------------------------------------------------------------------------------------------
	cause() { # TEXT PATTERN
		try "$(printf 'verify() { np_rooms; cat >"$np_room/apt" <<"EOT"\n%s\nEOT\nnp_apt_cause "no packages"; }\n' "$1")" verify
		like "$out" "^cause no packages: .*$2" "$shell: cause: $2"
	}
	cause "Err:1 http://mirror stable InRelease
  Temporary failure resolving 'mirror'" "cannot be found by its name: 'mirror'"
	cause "  Could not connect to 10.0.0.1:80 (10.0.0.1). - connect (111: Connection refused)" "mirror cannot be reached: Could not connect to 10.0.0.1"
	cause "E: You don't have enough free space in /var/cache/apt/archives/." "no space left"
	cause "dpkg: error processing package munge (--configure):
 installed munge package post-installation script subprocess returned error exit status 1
Errors were encountered while processing:" "package munge .--configure.: installed munge package .* exit status 1\$"
	cause "dpkg: error processing package munge (--configure):" "package munge .--configure.:\$"
	cause "dpkg: error processing archive x.deb: cannot copy: failed to write (No space left on device)" "no space left"
	cause "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 123 (apt-get)" "installing packages there: 123 .apt-get.$"
	cause "W: GPG error: http://m x InRelease: The following signatures were invalid: EXPKEYSIG 648ACFD622F3D138 Key" "has expired"
	cause "E: Release file for http://m/InRelease is not valid yet (invalid for another 3h 2min). Updates" "clock of this node is wrong"
	cause "E: Unable to locate package slurmd" "not in the package sources.*slurmd"
	cause "E: Sub-process /usr/bin/dpkg returned an error code (1)" "E: Sub-process"
done
ok "at least one shell was here" test $tap_count -gt 0
done_testing
