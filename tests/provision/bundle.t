#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A bundle for nodes without internet, made for real from this machine's mirrors: whole or not at all, gone on with, checked,
# and, where nodes can be made, installed from, and refused by them once a byte of it is another.
TEST_SCRIPTS=${NANOPOD_TEST_SCRIPTS-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
[ "$TEST_SCRIPTS" != no ] || skip_all "what runs here is sh, here and on nodes: NANOPOD_TEST_SCRIPTS is no"
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
like "$err" "'$TMP/nowhere' is no folder" "is named"
run_is 2 "a setting without its stack" bundle -d "$D" --set version=1 slurm
mkdir "$TMP/empty"
PATH_WAS=$PATH
for each in sh sed awk grep sort tr dirname rm mkdir mktemp cat; do ln -s "$(command -v $each)" "$TMP/empty/$each"; done
PATH=$TMP/empty run_is 1 "a system without apt" bundle -d "$D" -p htop
PATH=$PATH_WAS
like "$err" "made on a Debian or Ubuntu machine" "says where it can be made"
not_ok "nothing was made" test -e "$D"
if [ "$(id -u)" -eq 0 ] && unshare -n true 2>/dev/null; then
	run_is 1 "without internet" unshare -n sh "$BUNDLE" -d "$D" -p htop
	like "$err" "made where there is internet" "says so"
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
run_is 1 "a stack that must be given something" typed thing -d "$TMP/other"
like "$err" "thing: 'thing' is in none of your folders" "says so"
like "$err" "the bundle '$TMP/other' was not made" "and what it comes to"
not_ok "nothing is there" test -e "$TMP/other"
rm -rf "$TMP/other.new"
run_is 2 "without a folder" typed thing
like "$err" "'-d FOLDER' says it" "says which option is missing"
run typed slrum -d "$TMP/other"
isnt "$status" 0 "a stack that there is not" || diag "$out"
like "$err" "slrum" "is named"

# ---- Packages, from the mirrors ------------------------------------------------------------------------------------
run bundle -d "$D" -p htop
case $status:$err in
0:*) ;;
*"made where there is internet"*) skip "no mirror of Debian answers: no bundle of packages can be made"; done_testing ;;
esac
is "$status" 0 "a bundle of a package" || diag "$err"
ok "its checksums fit" sums
ok "it has the package" compgen -G "$D/debs/htop_*.deb"
is "$(cd "$D/debs" && ls libc6_* dpkg_* apt_* 2>/dev/null)" "" "and nothing that every Debian has"
is "$(grep -c '^Package: ' "$D/debs/Packages")" "$(ls "$D/debs" | grep -c 'deb$')" "the index has each"
FIRST=$(cd "$D/debs" && ls | grep 'deb$' | head -n 1)
DATE=$(stat -c %i "$D/debs/$FIRST")
run_is 0 "again" bundle -d "$D" -p htop
like "$err" 'to fetch: 0$' "fetches nothing"
is "$(stat -c %i "$D/debs/$FIRST")" "$DATE" "what was there is kept"
printf 'x' | dd of="$D/debs/$FIRST" bs=1 seek=100 conv=notrunc 2>/dev/null
not_ok "a byte that is another" sums
run_is 0 "and again" bundle -d "$D" -p htop
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
