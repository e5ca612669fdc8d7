#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nanopod provision bundle`: on a Debian machine that reaches its mirrors, a folder with all that stacks install, for nodes
# that reach nothing. Debian packages with what they need, as apt on a bare Debian would choose and verify them, with an
# index; what a stack's own bundle.sh fetches; what the user brings; and one list of checksums over all.
set -u
LC_ALL=C
export LC_ALL
umask 022

usage() {
	cat <<-'END_USAGE'
		Usage: bundle.sh -d DIR [--from FOLDER]… [--set STACK.KEY=VALUE]… [--release NAME] [--stacks FOLDER:FOLDER…]
		       [--packages-only] [-p PACKAGE]… STACK…
	END_USAGE
}
say() { printf 'bundle: %s\n' "$*" >&2; }
die() { printf 'bundle: %s\n' "$@" >&2; exit 1; }
wrong() { say "$*"; usage >&2; exit 2; }

own=$(cd "$(dirname "$0")" && pwd) || exit 1
folders=${own%/*} target='' release='' wanted='' packages='' only='' locked='' here=$PWD
NL='
'
froms='' sets=''
absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$here" "$1" ;; esac; }
while [ $# -gt 0 ]; do
	case $1 in
	-d | --from | --set | --release | --stacks | -p)
		[ $# -gt 1 ] && [ -n "$2" ] || wrong "'$1' needs a word after it"
		case $1 in
		-d) target=$(absolute "$2") ;;
		--from)
			[ -d "$2" ] || die "'$2' is not a folder"
			froms="$froms$(absolute "$2")$NL" ;;
		--set)
			case $2 in *?.?*=*) sets="$sets$2$NL" ;; *) wrong "'$2' is not STACK.KEY=VALUE" ;; esac ;;
		--release) release=$2 ;;
		--stacks) folders=$2 ;;
		-p) packages="$packages $2" ;;
		esac
		shift 2 ;;
	--packages-only) only=yes; shift ;;
	-h | --help) usage; exit 0 ;;
	-*) wrong "there is no option '$1'" ;;
	*) wanted="$wanted $1"; shift ;;
	esac
done
[ -n "$target" ] || wrong "'-d DIR' says where to"
[ -n "$wanted$packages" ] || wrong "which stacks?"
target=${target%/}
new=$target.new

# ---- What the stacks need ----------------------------------------------------------------------------------------

# yaml_list FILE KEY: the words of a list at the top of a file, "[a, b]" or a "- a" a line.
yaml_list() {
	awk -v key="$2" '
		{ sub(/[ \t]#.*$/, ""); sub(/^#.*$/, "") }
		inside && /^[ \t]*-/ && !flow { sub(/^[ \t]*-[ \t]*/, ""); gsub(/["'\'']/, ""); print; next }
		inside && flow { text = text " " $0; if (/\]/) { done(text); inside = 0 } ; next }
		/^[^ \t-]/ { inside = 0 }
		index($0, key ":") == 1 {
			rest = substr($0, length(key) + 2)
			inside = 1; flow = 0
			if (rest ~ /\[/) { if (rest ~ /\]/) { done(rest); inside = 0 } else { flow = 1; text = rest } }
			else if (rest ~ /[^ \t]/) { done(rest); inside = 0 }
		}
		function done(t,   n, w, i) { gsub(/[][,"'\'']/, " ", t); n = split(t, w, " "); for (i = 1; i <= n; i++) print w[i] }' "$1"
}

# stack_at STACK: the first of the folders that has it.
stack_at() (
	set -f
	IFS=:
	for at in $folders; do
		if [ -f "$at/$1/stack.yaml" ]; then absolute "$at/$1"; return; fi
	done
	return 1
)

stacks=''
take_stack() {
	case " $stacks " in *" $1 "*) return ;; esac
	case $1 in '' | *[!a-z0-9-]*) die "'$1' is not the name of a stack" ;; esac
	stack_at "$1" >/dev/null || die "no stack '$1' in '$folders'"
	stacks="$stacks${stacks:+ }$1"
	for need in $(yaml_list "$(stack_at "$1")/stack.yaml" needs); do take_stack "$need"; done
}
if [ -n "$wanted" ]; then
	! stack_at base >/dev/null || take_stack base
	for stack in $wanted; do take_stack "$stack"; done
fi
for stack in $stacks; do packages="$packages $(yaml_list "$(stack_at "$stack")/stack.yaml" packages | tr '\n' ' ')"; done
for stack in $stacks; do packages="$packages $(printf '%s' "$sets" | sed -n "s/^$stack\\.software=//p" | tail -n 1 | tr , " ")"; done
# shellcheck disable=SC2086
packages=$(printf '%s\n' $packages | sort -u | xargs)
case $packages in *[!a-z0-9.+\ -]*) die "a stack lists an invalid package name: $packages" ;; esac

# ---- Can it be done here? ------------------------------------------------------------------------------------------

[ -r /etc/os-release ] && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
	die "this system has no apt; bundles are made on a Debian or Ubuntu machine with internet"
codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")
[ -n "$codename" ] || die "'/etc/os-release' does not name this machine's release"
release=${release:-$codename}
BUNDLE_ARCH=$(dpkg --print-architecture) BUNDLE_RELEASE=$release BUNDLE_ROOT=$new
export BUNDLE_ARCH BUNDLE_RELEASE BUNDLE_ROOT
case $release in *[!a-z0-9-]*) wrong "'$release' is no name of a release" ;; esac

work=$(mktemp -d "${TMPDIR:-/tmp}/nanopod-bundle.XXXXXX") || die "no room for a temporary folder"
: >"$work/taken"
clean_up() {
	rm -rf "$work"
	rmdir "$new/.debs/partial" "$new/.debs" "$new" 2>/dev/null
	[ -z "$locked" ] || rm -f "$target.lock"
}
trap clean_up EXIT
trap 'say "stopped; fetched files stay in '\''$new'\'', and the same command continues there"; exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$(dirname "$target")" "$new" || die "cannot write in '$(dirname "$target")'"
if command -v flock >/dev/null; then
	exec 9>"$target.lock"
	flock -n 9 || die "somebody else is making '$target'"
	locked=yes
fi

# ---- Debian packages -----------------------------------------------------------------------------------------------
# Runs apt with its own lists and cache and no installed packages, so that it neither reads nor changes this machine's.
apt() {
	command=$1
	shift
	"$command" -q -o Dir::State="$work/state" -o Dir::State::lists="$work/state/lists" -o Dir::State::status="$work/status" \
		-o Dir::State::extended_states="$work/extended" -o Dir::Cache="$work/cache" -o Dir::Cache::archives="$new/.debs" \
		-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Debug::NoLocking=true -o APT::Sandbox::User=root -o APT::Get::AllowUnauthenticated=false -o Acquire::Languages=none \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o APT::Install-Recommends=false -o APT::Install-Suggests=false \
		-o APT::Architectures="$BUNDLE_ARCH" -o Dpkg::Use-Pty=0 "$@"
}

# The mirrors of this machine's apt for its own release; for another release the same with that name.
find_sources() {
	apt-get indextargets --format '$(SIGNED_BY)|$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
		awk -v own="$codename" -v want="$release" '
			{ key = $0; sub(/\|.*/, "", key); line = substr($0, length(key) + 2); split(line, w, " ")
			  if (index(w[2], own) != 1) next
			  rest = substr(w[2], length(own) + 1)
			  if (rest !~ /^(-updates|-security|-backports)?(\/.*)?$/ || rest ~ /^-backports/) next
			  out = "deb " (key ~ /^\// ? "[signed-by=" key "] " : "") w[1] " " want rest " " w[3]
			  if (!(out in seen)) print out; seen[out] = 1 }' >"$work/sources.list"
	[ -s "$work/sources.list" ] || die "this machine's apt knows no mirror of '$codename'"
}

fetch_lists() {
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$new/.debs/partial"
	: >"$work/status"
	find_sources
	# Start with this machine's lists, so that only newer ones are fetched.
	cp /var/lib/apt/lists/*_InRelease /var/lib/apt/lists/*_Packages* "$work/state/lists/" 2>/dev/null
	apt apt-get update >"$work/update.log" 2>&1 && ! grep -q '^[WE]: .*Failed to fetch' "$work/update.log" || {
		sed 's/^/    /' "$work/update.log" | tail -n 12 >&2
		die "cannot reach the mirrors of this machine's apt$([ "$release" = "$codename" ] || printf '%s' ", or they lack '$release'"); bundles are made on a machine with internet"
	}
	# Nodes report a code name, never "stable".
	named=$(cat "$work"/state/lists/*_dists_"$release"_InRelease 2>/dev/null | sed -n 's/^Codename: \([a-z0-9-]*\)$/\1/p' | head -n 1)
	release=${named:-$release} BUNDLE_RELEASE=${named:-$release}
}

# choose NAME PACKAGE…: what apt would install on an empty machine, "FILE SIZE" a line, with a colon as %3a in FILE.
choose() {
	choose_to=$work/$1
	shift
	apt apt-get -y --print-uris install "$@" >"$choose_to.said" 2>"$choose_to.err" || {
		grep -E '^(E|W):|Depends|not installable' "$choose_to.said" "$choose_to.err" -h | head -n 8 | sed 's/^/    /' >&2
		return 1
	}
	sed -n "s/^'[^']*' \\([^ ]*\\) \\([0-9]*\\) .*\$/\\1 \\2/p" "$choose_to.said" >"$choose_to"
}

# Leaves out what every Debian has, except what a package here needs in exactly one version.
choose_packages() {
	say "choosing packages of '$release' ($BUNDLE_ARCH)"
	choose bare '?essential' '?priority(required)' apt || die "cannot find the packages of a bare '$release'"
	# shellcheck disable=SC2086
	choose all $packages || die "'$release' lacks a package that the stacks need"
	awk '{ sub(/_.*/, "", $1); print $1 }' "$work/bare" | sort -u >"$work/bare.names"
	awk '{ sub(/_.*/, "", $1); print $1 }' "$work/all" | sort -u >"$work/all.names"
	# shellcheck disable=SC2046
	apt apt-cache show --no-all-versions $(cat "$work/all.names") >"$work/all.show" 2>/dev/null
	awk '/^Package: / { p = $2 } /^SHA256: / && !(p in sum) { sum[p] = 1; print p, $2 }' "$work/all.show" >"$work/all.sums"
	awk -v bare="$work/bare.names" '
		BEGIN { while ((getline n <bare) > 0) is_bare[n] = 1 }
		/^Package: / { p = $2; all[p] = 1 }
		/^(Pre-)?Depends: / {
			sub(/^[^:]*: /, ""); n = split($0, part, /[,|]/)
			for (i = 1; i <= n; i++) if (part[i] ~ /\(= /) { d = part[i]; gsub(/^ +|[ :(].*$/, "", d); sub(/^ */, "", d); exact[p] = exact[p] " " d }
		}
		END {
			for (p in all) if (!(p in is_bare)) keep[p] = 1
			do { more = 0
				for (p in keep) { n = split(exact[p], w, " "); for (i = 1; i <= n; i++) if ((w[i] in all) && !(w[i] in keep)) { keep[w[i]] = 1; more = 1 } }
			} while (more)
			for (p in keep) print p
		}' "$work/all.show" | sort >"$work/keep.names"
	for package in $packages; do printf '%s\n' "$package"; done | sort -u - "$work/keep.names" >"$work/keep.all"
	awk -v keep="$work/keep.all" -v sums="$work/all.sums" '
		BEGIN { while ((getline n <keep) > 0) want[n] = 1; while ((getline line <sums) > 0) { split(line, w, " "); sum[w[1]] = w[2] } }
		{ p = $1; sub(/_.*/, "", p); if (p in want) print $1, $2, sum[p] }' "$work/all" | sort >"$work/chosen"
	! grep -v ' [0-9a-f]\{64\}$' "$work/chosen" >"$work/unsummed" || die "the mirror gives no checksum of '$(head -n 1 "$work/unsummed")'"
}

plain() { printf '%s' "$1" | sed 's/_[0-9]*%3a/_/'; }

# Reuses files of an earlier bundle with the same name and size; apt verifies them again.
reuse() {
	while read -r file size _; do
		had=$target/debs/$(plain "$file")
		[ ! -e "$new/.debs/$file" ] && [ -f "$had" ] && [ "$(stat -c %s "$had")" = "$size" ] || continue
		ln "$had" "$new/.debs/$file" 2>/dev/null || cp "$had" "$new/.debs/$file"
	done <"$work/chosen"
}

# good FILE SIZE SHA256: whether it exists and matches apt's signed lists.
good() { [ -f "$1" ] && [ "$(stat -c %s "$1")" = "$2" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$3" ]; }

# missing: the packages, as "NAME=VERSION", that are still to fetch.
missing() {
	while read -r file size sum; do
		good "$new/.debs/$file" "$size" "$sum" && continue
		rm -f "$new/.debs/$file"
		printf '%s\n' "$file" | sed 's/%3a/:/; s/%2b/+/g; s/%7e/~/g; s/^\([^_]*\)_\(.*\)_[^_]*$/\1=\2/'
	done <"$work/chosen"
}

fetch_packages() {
	reuse
	missing >"$work/missing"
	count=$(wc -l <"$work/chosen")
	bytes=$(awk '{ n += $2 } END { printf "%d", n / 1048576 + 0.5 }' "$work/chosen")
	say "$count packages, $bytes MiB; to fetch: $(wc -l <"$work/missing")"
	if [ -s "$work/missing" ]; then
		# shellcheck disable=SC2046
		(cd "$new/.debs" && apt apt-get download $(cat "$work/missing")) >"$work/download.log" 2>&1 || {
			grep '^E:' "$work/download.log" | head -n 8 | sed 's/^/    /' >&2
			die "cannot fetch all packages; fetched ones stay in '$new', and the same command continues there"
		}
		missing >"$work/missing"
		[ ! -s "$work/missing" ] || die "these packages do not match the package lists: $(tr '\n' ' ' <"$work/missing")"
	fi
	rm -rf "$new/debs"
	mkdir "$new/debs" || die "cannot write in '$new'"
	while read -r file _; do
		ln "$new/.debs/$file" "$new/debs/$(plain "$file")" 2>/dev/null || cp "$new/.debs/$file" "$new/debs/$(plain "$file")" ||
			die "cannot write in '$new'"
	done <"$work/chosen"
}

# Writes the index of a flat repository: each package's control data, size and checksum.
index_packages() (
	cd "$new/debs" || exit 1
	for file in *.deb; do
		dpkg-deb -f "$file" || exit 1
		printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$file" "$(stat -c %s "$file")" "$(sha256sum <"$file" | cut -d' ' -f1)"
	done >Packages
	{
		printf 'Origin: nanopod\nLabel: nanopod bundle\nSuite: %s\nCodename: %s\nArchitectures: %s all\nDate: %s\nSHA256:\n' \
			"$release" "$release" "$BUNDLE_ARCH" "$(date -u '+%a, %d %b %Y %H:%M:%S UTC')"
		printf ' %s %s Packages\n' "$(sha256sum <Packages | cut -d' ' -f1)" "$(stat -c %s Packages)"
	} >Release
)

# ---- What stacks and users bring -------------------------------------------------------------------------------------

bundle_say() { say "$stack: $*"; }
bundle_fail() { say "$stack: $*"; exit 1; }

# bundle_version NAME: the version of --set, or the one that the stack pins.
bundle_version() {
	bundle_value=$(printf '%s' "$sets" | sed -n "s/^$stack\\.version-$1=//p" | tail -n 1)
	[ -n "$bundle_value" ] || bundle_value=$(awk -v name="$1" '
		/^versions:/ { inside = 1; line = $0; sub(/^versions:/, "", line)
			if (line ~ /\{/) { gsub(/[{}"'\'']/, "", line); n = split(line, w, ","); for (i = 1; i <= n; i++) { k = w[i]; sub(/:.*/, "", k); gsub(/ /, "", k)
				if (k == name) { v = w[i]; sub(/^[^:]*:[ ]*/, "", v); sub(/ *(#.*)?$/, "", v); print v; exit } } }
			next }
		/^[^ \t#]/ { inside = 0 }
		inside { line = $0; sub(/[ \t]#.*/, "", line); k = line; sub(/:.*/, "", k); gsub(/[ \t]/, "", k)
			if (k == name) { sub(/^[^:]*:[ \t]*/, "", line); gsub(/["'\'']/, "", line); sub(/[ \t]*$/, "", line); print line; exit } }' \
		"$(stack_at "$stack")/stack.yaml")
	[ -n "$bundle_value" ] && printf '%s\n' "$bundle_value"
}

# bundle_copy PATH AS: copies a file of a --from folder and marks it as taken.
bundle_copy() {
	mkdir -p "$(dirname "$2")" && cp -p "$1" "$2" || bundle_fail "cannot copy '$1'"
	printf '%s\n' "$1" >>"$work/taken"
}

# bundle_take FILE [AS]: copies it from the first --from folder that has it; 1 if none has.
bundle_take() {
	printf '%s' "$froms" >"$work/froms"
	while IFS= read -r bundle_from; do
		[ -f "$bundle_from/$1" ] || continue
		bundle_copy "$bundle_from/$1" "${2:-$1}"
		return 0
	done <"$work/froms"
	return 1
}

# bundle_files: prints all files of the --from folders, in their order, a path a line.
bundle_files() {
	printf '%s' "$froms" | while IFS= read -r bundle_from; do
		(cd "$bundle_from" && find . -type f) | sort | while IFS= read -r bundle_file; do printf '%s\n' "$bundle_from/${bundle_file#./}"; done
	done
}

# bundle_fetch URL FILE [SHA256]: keeps a file with that checksum, and continues an incomplete one.
bundle_fetch() {
	[ -z "${3-}" ] || [ ! -f "$2" ] || [ "$(sha256sum <"$2" | cut -d' ' -f1)" != "$3" ] || return 0
	[ -n "${3-}" ] || [ ! -f "$2" ] || return 0
	command -v curl >/dev/null || bundle_fail "'curl' is not installed; 'apt install curl' mends it"
	mkdir -p "$(dirname "$2")"
	bundle_say "fetching $1"
	curl -fsSL --retry 2 --connect-timeout 20 -C - -o "$2.part" "$1" || bundle_fail "cannot fetch '$1'; '--from FOLDER' takes '${2##*/}' from a folder of yours"
	[ -z "${3-}" ] || [ "$(sha256sum <"$2.part" | cut -d' ' -f1)" = "$3" ] ||
		{ rm -f "$2.part"; bundle_fail "'$1' has another checksum than it should have ($3)"; }
	mv "$2.part" "$2"
}

run_stacks() {
	for stack in $stacks; do
		script=$(stack_at "$stack")/bundle.sh
		[ -f "$script" ] || continue
		mkdir -p "$new/$stack" || die "cannot write in '$new'"
		# shellcheck disable=SC1090
		(cd "$new/$stack" && . "$script") || die "cannot bundle the stack '$stack'; fetched files stay in '$new'"
		rmdir "$new/$stack" 2>/dev/null
	done
}

# Files of a folder with its own checksums must match them. Files that no stack took go below files/.
take_files() {
	rm -rf "$new/files"
	printf '%s' "$froms" >"$work/froms"
	while IFS= read -r from; do
		for sums in "$from"/SHA256SUMS "$from"/sha256sum*.txt; do
			[ -f "$sums" ] || continue
			(cd "$from" && sha256sum -c --quiet --ignore-missing "$sums") >&2 2>&1 || die "the files of '$from' are not what its '${sums##*/}' says"
		done
		(cd "$from" && find . -type f) | while IFS= read -r file; do
			file=${file#./}
			! grep -qxF "$from/$file" "$work/taken" || continue
			mkdir -p "$(dirname "$new/files/$file")" && cp -p "$from/$file" "$new/files/$file" || exit 1
		done || die "cannot copy '$from'"
	done <"$work/froms"
}

# ---- All of it -------------------------------------------------------------------------------------------------------

if [ -n "$packages" ]; then
	fetch_lists
	choose_packages
	fetch_packages
	index_packages || die "cannot index the packages in '$new/debs'"
fi
[ -n "$only" ] || run_stacks
take_files
printf 'stacks: %s\nrelease: %s\narch: %s\nmade: %s\n' "$stacks" "$release" "$BUNDLE_ARCH" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$new/bundle"
(cd "$new" && find . -name .debs -prune -o -type f ! -name SHA256SUMS ! -name '*.part' -print | sed 's,^\./,,' | sort | tr '\n' '\0' |
	xargs -0 -r sha256sum) >"$work/SHA256SUMS" && [ -s "$work/SHA256SUMS" ] && cp "$work/SHA256SUMS" "$new/SHA256SUMS" && sync -f "$new" ||
	die "cannot write the checksums in '$new'"
rm -rf "$new/.debs" "$target.old"
[ ! -e "$target" ] || mv "$target" "$target.old" || die "cannot replace '$target'"
mv "$new" "$target" || die "cannot write '$target'"
rm -rf "$target.old"
say "'$target' is complete: $(wc -l <"$target/SHA256SUMS") files, $(du -sm "$target" | cut -f1) MiB; 'nanopod provision … --airgap $target' uses it"
