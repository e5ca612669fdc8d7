# SPDX-License-Identifier: Apache-2.0
# A bundle of the stack k3s with Debian's Kubernetes in it (POSIX sh): what tests/stacks/k8s-build made in $TEST_K8S, packed
# behind the text of the DOUBLE of k3s.
#     k8s_bundle FOLDER VERSION      FOLDER has k3s, the images and SHA256SUMS; its kubelet says VERSION (as long as the built one's)
K8S_BUILT=v1.20.2+k3s1

k8s_bundle() {
	mkdir -p "$1" "$TMP/pack"
	cp "$SRC/tests/lib/k8s-double/k8s" "$TMP/pack/k8s"
	k8s_extra='k8s'
	# Another version of the same: what an upgrade needs.
	if [ "$2" != $K8S_BUILT ]; then
		sed "s/$(printf '%s' $K8S_BUILT | sed 's/[.+]/[&]/g')/$2/g" "$TEST_K8S/bin/kubelet" >"$TMP/pack/kubelet" && chmod 755 "$TMP/pack/kubelet" || return 1
		k8s_extra='k8s kubelet'
	fi
	# shellcheck disable=SC2086 # words
	tar -C "$TMP/pack" -cf - $k8s_extra | gzip -1 >"$TMP/pack/extra.gz"
	k8s_id=$(cat "$TEST_K8S/SHA256SUMS" "$TMP/pack/extra.gz" | sha256sum | cut -c1-16)
	{
		sed "s/^my \$VERSION = .*/my \$VERSION = '$2';/" "$SRC/tests/lib/k3s-double/k3s"
		printf '__END__\n%s\n' "$k8s_id"
		cat "$TEST_K8S/payload.tar.gz" "$TMP/pack/extra.gz"
	} >"$1/k3s" && chmod 755 "$1/k3s" || return 1
	sh "$SRC/tests/lib/k8s-double/image" localhost/nanopod-pause:1 "$1/k3s-airgap-images-amd64.tar" || return 1
	(cd "$1" && sha256sum k3s k3s-airgap-images-amd64.tar >SHA256SUMS)
	rm -r "$TMP/pack"
}
