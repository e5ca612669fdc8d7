# SPDX-License-Identifier: Apache-2.0
# What tests of the stack k3s with a real Kubernetes share, after tap.sh (bash). Before it: TEST_K8S=${NANOPOD_K8S-}
# TEST_K3S=${NANOPOD_K3S_BUNDLE-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-}. Skipped, with the reason, where neither is here. TEST_K3S
# is a folder with K3s itself (k3s, archives of images: among them K3s' own pause image and localhost/nanopod-pause:1, which
# tests/lib/k8s-double/image makes), and in its folder 'next' the same for an upgrade.
#     k8s_begin N            a bundle in $TMP/bundle, nodes k1 … kN, and their pictures
#     provision WORD…        on them; $IS says against what; K3S: what a first one needs, but for the roles
#     kube WORD…             the real kubectl, by what `nanopod kubeconfig` wrote
#     versions, ready        "NODE=VERSION[true where cordoned] …", "NODE=True …"
#     pods, four_run         of the Deployment 'web' (k8s_web): "NODE POD"
#     as_before NODE         tests that nothing is left
[ -n "$TEST_K8S$TEST_K3S" ] || skip_all "no Kubernetes here: 'tests/stacks/k8s-build DIR' makes one (minutes), NANOPOD_K8S=DIR names it"
[ "$(id -u)" -eq 0 ] || skip_all "nodes that run containers need root"
if [ -n "$TEST_K3S" ]; then
	TEST_K3S=$(cd "$TEST_K3S" && pwd)
	[ -x "$TEST_K3S/k3s" ] && [ -x "$TEST_K3S/next/k3s" ] || skip_all "'$TEST_K3S' has no K3s, or no next one"
else
	[ -s "$TEST_K8S/SHA256SUMS" ] && [ -s "$TEST_K8S/payload.tar.gz" ] || skip_all "'$TEST_K8S' is not what tests/stacks/k8s-build makes"
	TEST_K8S=$(cd "$TEST_K8S" && pwd)
fi
TEST_IMAGES=${TEST_IMAGES:-$BUILD/images}
[ -d "$TEST_IMAGES/debian-12/root" ] || skip_all "no image of Debian in '$TEST_IMAGES': 'nanopod-agentd --images $BUILD/images image build' makes one"
need systemd-nspawn ip ssh ssh-keygen busybox mountpoint curl
. "$SRC/tests/lib/k8s-double/pack.sh"
. "$SRC/tests/lib/k8s-double/nodes.sh"

IS="Debian's Kubernetes 1.20 behind a DOUBLE of K3s"
ONE=v1.20.2+k3s1 TWO=v1.20.2+k3s2
# K3s itself starts more than the double. The nodes' root is an overlay, on which there can be no other.
K8S_OWN=()
if [ -n "$TEST_K3S" ]; then
	ONE=$("$TEST_K3S/k3s" --version | awk 'NR == 1 { print $3 }') TWO=$("$TEST_K3S/next/k3s" --version | awk 'NR == 1 { print $3 }')
	IS="real K3s $ONE"
	K8S_OWN=(--set 'k3s.disable=coredns local-storage metrics-server servicelb traefik' --set k3s.config.snapshotter=native)
fi
since() { diag "$1: $(($(date +%s) - began)) s"; began=$(date +%s); }

k8s_begin() {
	exec 8>"$BUILD/.cluster-lock" && flock -w 600 8 || skip_all "another test's cluster does not end"
	diag "against: $IS"
	began=$(date +%s)
	k8s_take "$TMP/bundle" "$ONE" || { fail "(the bundle is made)"; done_testing; }
	k8s_nodes "$1"
	K3S=(-w "k[1-$1]" k3s --name real --set "k3s.bundle=$TMP/bundle" --set "k3s.version-k3s=$ONE" --set k3s.wait=180 --set k3s.disk-mb=1000 "${K8S_OWN[@]}")
	for ((k8s_i = 1; k8s_i <= $1; k8s_i++)); do
		picture "k$k8s_i" >"$TMP/before.k$k8s_i"
		state "k$k8s_i" | sort >"$TMP/state.k$k8s_i"
	done
	since "nodes and bundle"
}
# k8s_take FOLDER VERSION: a bundle of it.
k8s_take() {
	[ -n "$TEST_K3S" ] || { k8s_bundle "$1" "$2"; return; }
	k8s_from=$TEST_K3S
	[ "$2" = "$ONE" ] || k8s_from=$TEST_K3S/next
	mkdir -p "$1" && find "$k8s_from" -maxdepth 1 -type f ! -name SHA256SUMS -exec cp {} "$1" \; && (cd "$1" && sha256sum -- * >SHA256SUMS)
}
k8s_first() {
	run_is 0 "$1 ($IS)" provision "${K3S[@]}" "${@:2}" -y || {
		diag "$(tail -c 4000 "$TMP/.out")"; in_node k1 'journalctl -q --no-pager -u k3s -n 40' | cut -c1-300 | sed 's/^/# /'; done_testing; }
	like "$out$err" "[1-9][0-9]* checks hold, 0 do not" "verify ran in it, and holds"
	run_is 0 "kubeconfig" from_hub "$NANOPOD" kubeconfig real "${NODES_WAY[@]}"
	since "provision"
}
provision() { from_hub "$NANOPOD" provision "$@" "${NODES_WAY[@]}"; }
kube() {
	k8s_kubectl=("$TEST_K8S/bin/kubectl")
	[ -z "$TEST_K3S" ] || k8s_kubectl=(env "K3S_DATA_DIR=$TMP/k3s-data" "$TEST_K3S/k3s" kubectl)
	from_hub "${k8s_kubectl[@]}" --context real --request-timeout=30s "$@"
}
versions() { kube get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.nodeInfo.kubeletVersion}{.spec.unschedulable}{" "}{end}'; }
ready() { kube get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{" "}{end}'; }

k8s_web() {
	kube apply -f - >/dev/null <<-'Y'
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, namespace: default}
		spec:
		  replicas: 4
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      terminationGracePeriodSeconds: 1
		      dnsPolicy: Default
		      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
		      containers: [{name: c, image: 'localhost/nanopod-pause:1', imagePullPolicy: Never, command: [sh, -c, 'echo "hello from $(hostname)"; while :; do sleep 1; echo tick; done']}]
	Y
}
# Those that go are left out.
pods() {
	kube get pods -l app=web -o 'jsonpath={range .items[*]}{.spec.nodeName}{" "}{.metadata.name}{" "}{.status.phase}{" "}{.metadata.deletionTimestamp}{"\n"}{end}' |
		awk 'NF == 3 && $3 == "Running" { print $1, $2 }'
}
four_run() { [ "$(pods | wc -l)" = 4 ]; }
restarts() { kube get pods -l app=web -o 'jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[0].restartCount}{" "}{end}'; }

# What a picture does not have: links, routes, mounts, namespaces, and what runs.
state() {
	in_node "$1" 'ip -o link | sed "s/^[0-9]*: \([^:@]*\).*/link \1/"; ip route | sed "s/^/route /"; awk "{ print \"mount\", \$2 }" /proc/mounts | grep -v "/run/user"
		ls /run/netns 2>/dev/null; ps -eo args= | grep -E "k3s|rancher|containerd|runc|kube|/pause" | grep -v grep'
	! command -v iptables-save >/dev/null || ip netns exec "$K8S_NAME-$1" iptables-save 2>/dev/null | grep -E 'KUBE-|CNI-|FLANNEL' | sed 's/^/rule /'
}
as_before() {
	picture "$1" >"$TMP/after.$1"
	is "$(diff "$TMP/before.$1" "$TMP/after.$1")" "" "$1: files, users, packages, units and processes are as before ($IS)"
	is "$(state "$1" | sort)" "$(cat "$TMP/state.$1")" "$1: so are links, routes, rules, mounts and namespaces ($IS)"
}
