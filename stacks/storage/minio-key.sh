# SPDX-License-Identifier: Apache-2.0
# Generated here once for all nodes; only root can read it in /etc/default/minio of each node.
MINIO_KEY=/etc/nanopod-minio.key
minio_random() { od -An -tx1 -N "$1" /dev/urandom | tr -d ' \n'; }
minio_pair() { printf 'nanopod%s %s\n' "$(minio_random 4)" "$(minio_random 24)"; }
check() {
	if [ -s "$MINIO_KEY" ]; then np_give_hash minio-key "$(np_hash "$MINIO_KEY")"; else np_differs "make MinIO's credentials"; fi
}
apply() {
	[ -s "$MINIO_KEY" ] || addon_put minio_pair "$MINIO_KEY" 0600 root:root secret || return 1
	np_give_hash minio-key "$(np_hash "$MINIO_KEY")"
	np_give minio-key <"$MINIO_KEY"
}
