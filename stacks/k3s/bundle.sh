# SPDX-License-Identifier: Apache-2.0
# What the folder of `nanopod provision bundle` has of K3s: sourced by stacks/common/bundle.sh, in the folder k3s of it. K3s
# and its own images, and all archives of images that the user brings: charts need theirs.
version=$(bundle_version k3s)
case $BUNDLE_ARCH in amd64) name=k3s ;; *) name=k3s-$BUNDLE_ARCH ;; esac
stem=k3s-airgap-images-$BUNDLE_ARCH
at=$(sed -n "s/^  url: .*default: '\([^']*\)'.*/\1/p" "$folder/k3s/stack.yaml")/$(printf '%s' "$version" | sed 's/+/%2B/g')

# Remove files of an earlier run that may no longer be wanted.
find . -type f \( -name '*.tar' -o -name '*.tar.gz' -o -name '*.tar.zst' \) ! -name "$stem.tar.zst" -exec rm -f {} +
images=''
for file in "$stem.tar.zst" "$stem.tar.gz" "$stem.tar"; do
	if [ -z "$images" ] && bundle_take "$file"; then images=$file; fi
done
if ! bundle_take "$name" || [ -z "$images" ]; then
	images=${images:-$stem.tar.zst}
	bundle_fetch "$at/sha256sum-$BUNDLE_ARCH.txt" "sha256sum-$BUNDLE_ARCH.txt"
	for file in "$name" "$images"; do
		[ -s "$file" ] || bundle_fetch "$at/$file" "$file" "$(awk -v n="$file" '$2 == n { print $1 }' "sha256sum-$BUNDLE_ARCH.txt")"
	done
fi
[ -s "$name" ] && [ -s "$images" ] || bundle_fail "K3s $version is in no --from folder and cannot be fetched"

# Program sources are archives too, so look inside. Trust the name of one that is unreadable here, as zstd may be missing.
k3s_has_images() {
	case $1 in
	*.tar) tar -tf "$1" ;;
	*.tar.gz) gzip -dc "$1" | tar -tf - ;;
	*.tar.zst) zstd -dc "$1" | tar -tf - ;;
	esac >"$work/k3s.names" 2>/dev/null
	[ ! -s "$work/k3s.names" ] || grep -qE '^(\./)?(manifest|index)\.json$' "$work/k3s.names"
}

bundle_files >"$work/k3s.files"
: >"$work/k3s.images"
while IFS= read -r path; do
	file=${path##*/}
	case $file in
	k3s-airgap-images-*) continue ;;
	*.tar | *.tar.gz | *.tar.zst) ;;
	*) continue ;;
	esac
	# Nodes ignore images of another architecture.
	case $file in *-amd64.tar* | *-arm64.tar* | *-arm.tar*) case $file in *-"$BUNDLE_ARCH".tar*) ;; *) continue ;; esac ;; esac
	k3s_has_images "$path" || { bundle_say "'$path' has no images"; continue; }
	# A list of checksums cannot have names with spaces.
	file=$(printf '%s' "$file" | tr -c 'A-Za-z0-9@:=+._-' _)
	if grep -qxF -e "$file" "$work/k3s.images"; then
		cmp -s "$path" "$file" || bundle_fail "'$path' has the name of another archive of images, and not what is in it"
	else
		printf '%s\n' "$file" >>"$work/k3s.images"
	fi
	bundle_copy "$path" "./$file"
done <"$work/k3s.files"
{ printf '%s\n' "$name" "$images"; cat "$work/k3s.images"; } | xargs sha256sum -- >SHA256SUMS || bundle_fail "the checksums could not be written"
count=$(wc -l <"$work/k3s.images")
[ "$count" -eq 0 ] || bundle_say "archives of images for nodes to import: $count"
