# SPDX-License-Identifier: Apache-2.0
# What the folder of `nanopod provision bundle` has of K3s: sourced by stacks/common/bundle.sh, in the folder k3s of it.
version=$(bundle_version k3s)
case $BUNDLE_ARCH in amd64) name=k3s ;; *) name=k3s-$BUNDLE_ARCH ;; esac
images=k3s-airgap-images-$BUNDLE_ARCH.tar.zst
at=$(sed -n "s/^  url: .*default: '\([^']*\)'.*/\1/p" "$folder/k3s/stack.yaml")/$(printf '%s' "$version" | sed 's/+/%2B/g')
if ! bundle_take "$name" || ! bundle_take "$images"; then
	bundle_fetch "$at/sha256sum-$BUNDLE_ARCH.txt" "sha256sum-$BUNDLE_ARCH.txt"
	for file in "$name" "$images"; do
		[ -s "$file" ] || bundle_fetch "$at/$file" "$file" "$(awk -v n="$file" '$2 == n { print $1 }' "sha256sum-$BUNDLE_ARCH.txt")"
	done
fi
[ -s "$name" ] && [ -s "$images" ] || bundle_fail "K3s $version is in no --from folder and cannot be fetched"
sha256sum "$name" "$images" >SHA256SUMS
