#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A bundle for nodes without internet, made for real from this machine's mirrors: whole or not at all, gone on with, checked,
# and, where nodes can be made, installed from, and refused by them once a byte of it is another.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
need apt-get dpkg-deb sha256sum
BUNDLE=$SRC/stacks/common/bundle.sh
bundle() { sh "$BUNDLE" "$@"; }
D=$TMP/bundle

# ---- Refused, before anything is fetched ------------------------------------------------------------------------
run_is 2 "without a folder" bundle slurm
like "$err" "'-d DIR' says where to" "says so"
run_is 2 "without a stack" bundle -d "$D"
run_is 1 "a stack that there is not" bundle -d "$D" slrum
like "$err" "no stack 'slrum'" "is named"
run_is 1 "a name that is none" bundle -d "$D" '../x'
run_is 1 "a folder that is not there" bundle -d "$D" --from "$TMP/nowhere" slurm
like "$err" "'$TMP/nowhere' is not a folder" "is named"
run_is 2 "a setting without its stack" bundle -d "$D" --set version=1 slurm
run_is 1 "a package for jobs that is none" bundle -d "$D" --set slurm.software=lmod,Not_A slurm
like "$err" "invalid package name:.* Not_A .*lmod" "is seen"
mkdir "$TMP/empty"
PATH_WAS=$PATH
for each in sh sed awk grep sort tr dirname rm mkdir mktemp cat; do ln -s "$(command -v $each)" "$TMP/empty/$each"; done
PATH=$TMP/empty run_is 1 "a system without apt" bundle -d "$D" -p htop
PATH=$PATH_WAS
like "$err" "made on a Debian or Ubuntu machine" "says where it can be made"
not_ok "nothing was made" test -e "$D"
if [ "$(id -u)" -eq 0 ] && unshare -n true 2>/dev/null; then
	run_is 1 "without internet" unshare -n sh "$BUNDLE" -d "$D" -p htop
	like "$err" "made on a machine with internet" "says so"
	not_ok "and nothing was made" test -e "$D"
	not_ok "nor left" test -e "$D.new"
fi

# ---- Stacks of a test, with files of their own ------------------------------------------------------------------
S=$TMP/stacks
mkdir -p "$S/thing" "$S/other" "$S/base" "$TMP/mine/sub" "$TMP/web"
cat >"$S/thing/stack.yaml" <<'Y'
stack: thing
needs: [other]
versions: {thing: v1.2+3, other: '7'}   # pinned
steps: []
Y
cat >"$S/other/stack.yaml" <<'Y'
stack: other
versions:
  other: v9     # pinned
settings: {}
Y
echo 'stack: base' >"$S/base/stack.yaml"
echo binary >"$TMP/mine/thing"
echo more >"$TMP/mine/sub/more"
echo chart >"$TMP/web/chart-1.tgz"
SUM=$(sha256sum <"$TMP/web/chart-1.tgz" | cut -d' ' -f1)
cat >"$S/thing/bundle.sh" <<Y
bundle_version thing >version || bundle_fail "no version"
bundle_version nothing && bundle_fail "a version that is not there"
bundle_take thing || bundle_fail "'thing' is in none of your folders"
bundle_take nothing && bundle_fail "took nothing"
bundle_fetch "file://$TMP/web/chart-1.tgz" "\$BUNDLE_ROOT/charts/chart-1.tgz" \${CHART_SUM:-$SUM}
Y
echo 'bundle_version other >version' >"$S/other/bundle.sh"
run_is 1 "what a stack must be given" bundle --stacks "$S" -d "$D" thing
like "$err" "thing: 'thing' is in none of your folders" "is said by the stack"
not_ok "and there is no bundle" test -e "$D"
run_is 0 "with it" bundle --stacks "$S" -d "$D" --from "$TMP/mine" thing
is "$(cat "$D/thing/thing" "$D/thing/version" "$D/other/version" "$D/files/sub/more" "$D/charts/chart-1.tgz")" "binary
v1.2+3
v9
more
chart" "each is where it belongs"
not_ok "what a stack took is there once" test -e "$D/files/thing"
sums() { (cd "$D" && sha256sum -c --quiet SHA256SUMS); }
ok "the checksums fit" sums
is "$(cd "$D" && find . -type f ! -name SHA256SUMS | wc -l)" "$(wc -l <"$D/SHA256SUMS")" "and there is one of each file"
is "$(sed -n 's/^stacks: //p' "$D/bundle")" "base thing other" "it says what it is of: what was asked for, and what that needs"
run_is 0 "with another version" bundle --stacks "$S" -d "$D" --from "$TMP/mine" --set thing.version-thing=v2 thing
is "$(cat "$D/thing/version")" v2 "it is that one, in the place of the old bundle"
CHART_SUM=$(echo other | sha256sum | cut -d' ' -f1)
export CHART_SUM
rm -rf "$D"
run_is 1 "a download with other contents" bundle --stacks "$S" -d "$D" --from "$TMP/mine" thing
like "$err" "another checksum" "is refused"
unset CHART_SUM
printf '%s  thing\n' "$SUM" >"$TMP/mine/SHA256SUMS"
run_is 1 "a folder that is not what its own checksums say" bundle --stacks "$S" -d "$D" --from "$TMP/mine" thing
like "$err" "not what its 'SHA256SUMS' say" "is refused"
rm "$TMP/mine/SHA256SUMS"
rm -rf "$D.new"

# ---- As it is typed ---------------------------------------------------------------------------------------------------
cp -r "$SRC/stacks/common" "$S/"
rm -rf "$D" "$S/base"
cp -r "$SRC/stacks/base" "$S/"
for each in thing other; do
	sed -i 's/^steps:.*//' "$S/$each/stack.yaml"
	printf 'about: files\nsteps:\n  - {name: file, help: a file}\n' >>"$S/$each/stack.yaml"
	echo 'want() { :; }' >"$S/$each/file.sh"
done
offline() { if unshare -n true 2>/dev/null; then unshare -n "$@"; else "$@"; fi; }
typed() { NANOPOD_STACKS=$S offline "$NANOPOD" provision bundle "$@"; }
run_is 0 "nanopod provision bundle, without a network" typed thing -d "$D" --from "$TMP/mine" --set thing.version-thing=v3
is "$(cat "$D/thing/thing" "$D/thing/version" "$D/charts/chart-1.tgz")" "binary
v3
chart" "makes the same folder"
ok "with checksums that fit" sums
is "$(sed -n 's/^release: //p' "$D/bundle")" "$(. /etc/os-release; echo "$VERSION_CODENAME")" "for this machine's release"
run_is 0 "--release" typed thing -d "$D" --from "$TMP/mine" --release noble
is "$(sed -n 's/^release: //p' "$D/bundle")" noble "for another one"
run_is 2 "a release that is none" typed thing -d "$D" --from "$TMP/mine" --release 'a b'
run_is 1 "a stack that must be given something" typed thing -d "$TMP/other"
like "$err" "thing: 'thing' is in none of your folders" "says so"
like "$err" "cannot make the bundle '$TMP/other'" "and what it comes to"
not_ok "nothing is there" test -e "$TMP/other"
rm -rf "$TMP/other.new"
run_is 2 "without a folder" typed thing
like "$err" "--dir is required" "says which option is missing"
run typed slrum -d "$TMP/other"
isnt "$status" 0 "a stack that there is not" || diag "$out"
like "$err" "slrum" "is named"

# ---- K3s: no packages, and images of the user's -------------------------------------------------------------------
ARCH=$(dpkg --print-architecture)
case $ARCH in amd64) other=arm64 K3S=k3s ;; *) other=amd64 K3S=k3s-$ARCH ;; esac
I=$TMP/images K=$TMP/k3s
mkdir -p "$I/deep" "$TMP/more" "$TMP/pack/src"
echo binary >"$I/$K3S"
echo names >"$I/k3s-airgap-images-$ARCH.tar.zst"
echo '[]' >"$TMP/pack/manifest.json"
echo 'int x;' >"$TMP/pack/src/x.c"
tar -C "$TMP/pack" -cf "$I/deep/gpu operator.tar" manifest.json
tar -C "$TMP/pack" -czf "$I/pod.tar.gz" ./manifest.json
echo zstd >"$TMP/more/far.tar.zst"
cp "$I/pod.tar.gz" "$TMP/more/"
cp "$I/pod.tar.gz" "$I/there-$other.tar.gz"
tar -C "$TMP/pack" -czf "$I/source.tar.gz" src
run_is 0 "K3s, whose stacks have no packages, without a network" offline sh "$BUNDLE" -d "$K" --from "$I" --from "$TMP/more" k3s
not_ok "has no 'debs'" test -e "$K/debs"
is "$(cd "$K/k3s" && LC_ALL=C ls | xargs)" "$(printf '%s\n' SHA256SUMS far.tar.zst gpu_operator.tar "$K3S" "k3s-airgap-images-$ARCH.tar.zst" pod.tar.gz | LC_ALL=C sort | xargs)" "all archives of images are with K3s"
is "$(cd "$K/k3s" && awk '{ print $2 }' SHA256SUMS | LC_ALL=C sort | xargs)" "$(cd "$K/k3s" && LC_ALL=C ls | grep -v SUMS | xargs)" "and in its list"
ok "which fits" sh -c "cd '$K/k3s' && sha256sum -c --quiet SHA256SUMS"
is "$(cd "$K/files" && find . -type f | LC_ALL=C sort | xargs)" "./source.tar.gz ./there-$other.tar.gz" "what has none, or not for these nodes, is with the rest"
run_is 0 "with fewer" offline sh "$BUNDLE" -d "$K" --from "$I" k3s
not_ok "what is not asked for any more is gone" test -e "$K/k3s/far.tar.zst"
cp "$I/deep/gpu operator.tar" "$TMP/more/pod.tar.gz"
run_is 1 "two with one name" offline sh "$BUNDLE" -d "$K" --from "$I" --from "$TMP/more" k3s
like "$err" "'$TMP/more/pod.tar.gz' has the name of another archive" "and other contents are refused"

# ---- The step that brings it, without a node ------------------------------------------------------------------------
# step STACK STEP FUNCTION [VAR=VALUE…] [-- WORD…]: as the engine sends it. Records to $out.
# repo FUNCTION FOLDER [VAR=VALUE…]: the one of base; FOLDER is copied to where an upload goes.
N=$TMP/node
step() {
	step_of=$1 step_name=$2 step_function=$3
	shift 3
	sh "$SRC/tests/stacks/step.sh" "$step_function" "$SRC/stacks/$step_of" "$step_name" "$@" >"$TMP/.step"
	sed -i "s|/etc/|$N/etc/|g; s|/var/lib/nanopod|$N/state|g; s|NP_RUN=/run|NP_RUN=$N/run|; s|root:root|$(id -un):$(id -gn)|g
		s|^np_work|np_apt_update() { np_did 'read package lists'; }\\n&|" "$TMP/.step"
	$shell "$TMP/.step" 2>"$TMP/.step.err" | tr -d '\036' | sed -n 's/^NP	//p' | tr '\t' ' ' >"$TMP/.step.out"
	out=$(cat "$TMP/.step.out") err=$(cat "$TMP/.step.err")
}
repo() {
	rm -rf "$N/upload" && { [ -z "$2" ] || cp -r "$2" "$N/upload"; }
	repo_function=$1 repo_upload=${2:+$N/upload}
	shift 2
	step base repo "$repo_function" S_airgap=/x NP_AIRGAP="$N/airgap" NP_UPLOAD="$repo_upload" "$@"
}
# There are older bundles, of packages alone.
mkdir -p "$TMP/packages/debs" "$TMP/nothing"
echo 'Package: x' >"$TMP/packages/debs/Packages"
for shell in dash 'busybox sh'; do
	$shell -c : 2>/dev/null || { diag "no ${shell%% *}"; continue; }
	rm -rf "$N"
	mkdir -p "$N/etc/apt/sources.list.d" "$N/run" "$N/state"
	printf 'ID=debian\nVERSION_CODENAME=bookworm\n' >"$N/etc/os-release"
	echo 'deb http://mirror bookworm main' >"$N/etc/apt/sources.list"
	repo check '' NP_UPLOAD_ID=k NP_UPLOAD_SUMS="$(cat "$K/SHA256SUMS")"
	is "$(grep ^differs "$TMP/.step.out")" "differs upload packages" "$shell: plan: one without packages is brought, and apt left alone" || diag "$out$err"
	repo apply "$K" NP_UPLOAD_ID=k
	like "$out" "^done 0" "$shell: it is" || diag "$out$err"
	unlike "$out" "package lists" "$shell: no list is read"
	is "$(find "$N/etc/apt" -type f)" "$N/etc/apt/sources.list" "$shell: no source is written, none set aside"
	ok "$shell: the images are there" test -s "$N/airgap/k3s/pod.tar.gz"
	repo check '' NP_UPLOAD_ID=k NP_UPLOAD_SUMS="$(cat "$K/SHA256SUMS")"
	unlike "$out" "^differs" "$shell: and nothing differs then"
	step k3s files files_no -- http://x
	like "$out" 'hint nanopod provision bundle k3s -d DIR, .*--airgap DIR .*k3s.bundle=DIR/k3s' "$shell: how K3s takes it is said where it could not be fetched"
	repo apply "$TMP/nothing" NP_UPLOAD_ID=n
	like "$out" "^cause the airgap folder is not one that 'nanopod provision bundle' made" "$shell: an empty folder is refused"
	printf 'release: trixie\narch: %s\n' "$ARCH" >"$TMP/packages/bundle"
	repo check "$TMP/packages" NP_UPLOAD_ID=p
	like "$out" "cause the packages of the airgap folder are for 'trixie', and this node is 'bookworm'" "$shell: packages of another release are refused by check"
	like "$out" "hint nanopod provision bundle … -d DIR --release bookworm" "$shell: and what makes the right ones is said"
	printf 'release: bookworm\narch: %s\n' $other >"$TMP/packages/bundle"
	repo check "$TMP/packages" NP_UPLOAD_ID=p
	like "$out" "cause the airgap folder is for $other, and this node is $ARCH" "$shell: those of another architecture too"
	repo apply "$TMP/packages" NP_UPLOAD_ID=p
	is "$(find "$N/etc/apt" -type f; cat "$N/airgap/.id")" "$N/etc/apt/sources.list
k" "$shell: of which nothing is brought"
	printf 'release: bookworm\narch: %s\n' "$ARCH" >"$TMP/packages/bundle"
	repo check '' NP_UPLOAD_ID=p NP_UPLOAD_SUMS="$(cd "$TMP/packages" && find . -type f -exec sha256sum {} +)"
	like "$out" "differs write $N/etc/apt/sources.list.d/nanopod.list" "$shell: plan: its own are apt's source"
	repo apply "$TMP/packages" NP_UPLOAD_ID=p
	is "$(find "$N/etc/apt" -type f; cat "$N/etc/apt/sources.list.d/nanopod.list")" "$N/etc/apt/sources.list.d/nanopod.list
deb [trusted=yes] file:$N/airgap/debs ./" "$shell: and the only one" || diag "$out$err"
done

# ---- Packages, from the mirrors ------------------------------------------------------------------------------------
run bundle --release bookworm -d "$D" -p htop
case $status:$err in
0:*) ;;
*"made on a machine with internet"*) skip "no mirror of Debian answers: no bundle of packages can be made"; done_testing ;;
esac
is "$status" 0 "a bundle of a package" || diag "$err"
ok "its checksums fit" sums
ok "it has the package" compgen -G "$D/debs/htop_*.deb"
is "$(cd "$D/debs" && ls libc6_* dpkg_* apt_* 2>/dev/null)" "" "and nothing that every Debian has"
is "$(grep -c '^Package: ' "$D/debs/Packages")" "$(ls "$D/debs" | grep -c 'deb$')" "the index has each"
FIRST=$(cd "$D/debs" && ls | grep 'deb$' | head -n 1)
DATE=$(stat -c %i "$D/debs/$FIRST")
run_is 0 "again" bundle --release bookworm -d "$D" -p htop
like "$err" 'to fetch: 0$' "fetches nothing"
is "$(stat -c %i "$D/debs/$FIRST")" "$DATE" "what was there is kept"
printf 'x' | dd of="$D/debs/$FIRST" bs=1 seek=100 conv=notrunc 2>/dev/null
not_ok "a byte that is another" sums
run_is 0 "and again" bundle --release bookworm -d "$D" -p htop
like "$err" 'to fetch: 1$' "fetches that one"
ok "and it is whole" sums

# ---- On a node --------------------------------------------------------------------------------------------------------
[ "$(id -u)" -eq 0 ] || { skip "nodes need root"; done_testing; }
[ -d "${TEST_IMAGES:=$BUILD/images}/debian-12" ] || { skip "no image of Debian in '$TEST_IMAGES'"; done_testing; }
. "$SRC/tests/lib/cluster.sh"
cluster_nodes 1
CLUSTER_REPO=$D
cluster_lend train-1
in_node train-1 "rm -f /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:$CLUSTER_LENT/debs ./' >/etc/apt/sources.list"
ok "apt on a node that reaches nothing takes it" in_node train-1 "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install htop && htop --version"
in_node train-1 "apt-get -q -y purge htop; rm -rf $CLUSTER_LENT" >/dev/null
file=$(cd "$D" && ls debs/htop_*.deb)
printf 'x' | dd of="$D/$file" bs=1 seek=2000 conv=notrunc 2>/dev/null
cp "$TMP/.out" "$TMP/out.before"
run "$NANOPOD" provision "${CLUSTER_FROM[@]}" base --airgap "$D" -y
isnt "$status" 0 "a bundle of which a byte is another is refused" || diag "$out"
like "$out$err" "htop_.*deb" "and its file named"
done_testing
