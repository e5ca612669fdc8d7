# SPDX-License-Identifier: Apache-2.0
rook_hosts() { for rook_host in $(np_members nodes); do [ -z "$(disks_of "$rook_host")" ] || echo "$rook_host"; done; }
rook_count() { rook_hosts | wc -l | tr -d ' '; }
rook_least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

# An odd number of monitors, each on its own node.
rook_mons() {
	rook_nodes=$(np_members nodes | wc -l)
	if [ "$rook_nodes" -ge 3 ]; then echo 3; else echo 1; fi
}

rook_fits() {
	addon_k3s || { np_hint "add 'k3s: {}' to the cluster's stacks, or set storage.kind to nfs"; np_fail "Rook needs K3s, which this cluster does not have"; return 1; }
	[ "$(rook_count)" -gt 0 ] || { np_hint "storage: {devices: {NODE: [/dev/disk/by-id/…]}}"; np_fail "Ceph needs at least one disk"; return 1; }
	[ "$S_replicas" -le "$(rook_count)" ] || { np_fail "$S_replicas copies need as many nodes with disks, but there are $(rook_count): set storage.replicas"; return 1; }
}

rook_storage() {
	for rook_host in $(rook_hosts); do
		printf '    - name: %s\n      devices:\n' "$(printf '%s' "$rook_host" | tr 'A-Z' 'a-z')"
		disks_of "$rook_host" | sed 's/.*/      - name: "&"/'
	done
}

rook_pool() { printf '%sfailureDomain: host\n%sreplicated:\n%s  size: %s\n%s  requireSafeReplicaSize: %s\n' "$1" "$1" "$1" "$S_replicas" "$1" "$([ "$S_replicas" -gt 1 ] && echo true || echo false)"; }

rook_values() {
	cat <<-END
		operatorNamespace: rook-ceph
		toolbox:
		  enabled: true
		cephClusterSpec:
		  dataDirHostPath: /var/lib/rook
		  cleanupPolicy:
		    confirmation: ""
		  mon:
		    count: $(rook_mons)
		    allowMultiplePerNode: false
		  mgr:
		    count: $(rook_least 2 "$(np_members nodes | wc -l)")
		    allowMultiplePerNode: false
		  storage:
		    useAllNodes: false
		    useAllDevices: false
		    nodes:
	END
	rook_storage
	cat <<-END
		cephBlockPools:
		- name: nanopod
		  spec:
	END
	rook_pool '    '
	cat <<-END
		  storageClass:
		    enabled: true
		    name: nanopod-block
		    isDefault: false
		    reclaimPolicy: Delete
		    allowVolumeExpansion: true
		    volumeBindingMode: Immediate
		    parameters:
		      imageFormat: "2"
		      imageFeatures: layering
		      csi.storage.k8s.io/provisioner-secret-name: rook-csi-rbd-provisioner
		      csi.storage.k8s.io/provisioner-secret-namespace: rook-ceph
		      csi.storage.k8s.io/controller-expand-secret-name: rook-csi-rbd-provisioner
		      csi.storage.k8s.io/controller-expand-secret-namespace: rook-ceph
		      csi.storage.k8s.io/node-stage-secret-name: rook-csi-rbd-node
		      csi.storage.k8s.io/node-stage-secret-namespace: rook-ceph
		      csi.storage.k8s.io/fstype: ext4
	END
	rook_files
	rook_objects
}

rook_files() {
	[ "$S_filesystem" = yes ] || { printf 'cephFileSystems: []\n'; return 0; }
	printf 'cephFileSystems:\n- name: nanopod\n  spec:\n    metadataPool:\n'
	rook_pool '      '
	printf '    dataPools:\n    - name: data0\n'
	rook_pool '      '
	cat <<-END
		    metadataServer:
		      activeCount: 1
		      activeStandby: true
		  storageClass:
		    enabled: true
		    name: nanopod-files
		    isDefault: false
		    pool: data0
		    reclaimPolicy: Delete
		    allowVolumeExpansion: true
		    volumeBindingMode: Immediate
		    parameters:
		      csi.storage.k8s.io/provisioner-secret-name: rook-csi-cephfs-provisioner
		      csi.storage.k8s.io/provisioner-secret-namespace: rook-ceph
		      csi.storage.k8s.io/controller-expand-secret-name: rook-csi-cephfs-provisioner
		      csi.storage.k8s.io/controller-expand-secret-namespace: rook-ceph
		      csi.storage.k8s.io/node-stage-secret-name: rook-csi-cephfs-node
		      csi.storage.k8s.io/node-stage-secret-namespace: rook-ceph
	END
}

rook_objects() {
	[ "$S_s3" = yes ] || { printf 'cephObjectStores: []\n'; return 0; }
	printf 'cephObjectStores:\n- name: nanopod\n  spec:\n    metadataPool:\n'
	rook_pool '      '
	printf '    dataPool:\n'
	rook_pool '      '
	cat <<-END
		    preservePoolsOnDelete: true
		    gateway:
		      port: 80
		      instances: $(rook_least 2 "$(np_members nodes | wc -l)")
		  storageClass:
		    enabled: true
		    name: nanopod-bucket
		    reclaimPolicy: Delete
		    volumeBindingMode: Immediate
		    parameters:
		      region: us-east-1
	END
}

rook() {
	rook_fits || return 1
	addon_lead || return 0
	addon_install rook-ceph 1000 rook_operator && addon_install rook-ceph-cluster 1000 rook_cluster
}
rook_operator() { printf 'enableDiscoveryDaemon: false\n' | addon_chart rook-ceph rook-ceph rook-ceph "$S_version_rook" "$S_repo_rook"; }
rook_cluster() { rook_values | addon_chart rook-ceph-cluster rook-ceph rook-ceph-cluster "$S_version_rook" "$S_repo_rook"; }
check() { rook; }
apply() { rook; }

rook_phase() { kube -n rook-ceph get "$1" "$2" -o 'jsonpath={.status.phase}' 2>/dev/null; }
rook_ready() { [ "$(rook_phase cephcluster rook-ceph)" = Ready ]; }
rook_s3_ready() { case $(rook_phase cephobjectstore nanopod) in Ready | Connected) true ;; *) false ;; esac; }
verify() {
	addon_lead || return 0
	addon_verify rook-ceph rook-ceph
	if np_wait "$S_ready_timeout" rook_ready; then np_ok "Ceph is ready: $(kube -n rook-ceph get cephcluster rook-ceph -o 'jsonpath={.status.ceph.health}')"; else
		np_hint "k3s kubectl -n rook-ceph exec deploy/rook-ceph-tools -- ceph status"
		np_bad "Ceph is not ready: $(rook_phase cephcluster rook-ceph)"
	fi
	[ "$S_s3" = yes ] || return 0
	if np_wait 300 rook_s3_ready; then np_ok "its S3 gateway answers inside at http://rook-ceph-rgw-nanopod.rook-ceph.svc"; else
		np_hint "k3s kubectl -n rook-ceph describe cephobjectstore nanopod"
		np_bad "its S3 gateway is not ready: $(rook_phase cephobjectstore nanopod)"
	fi
}
# Rook keeps the data on the disks, and so does nanopod.
undo() { addon_remove rook-ceph-cluster rook-ceph; }
