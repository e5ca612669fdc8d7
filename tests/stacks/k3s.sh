# SPDX-License-Identifier: Apache-2.0
# Steps of the stack k3s on real nodes, after tap.sh and cluster.sh (bash): against K3s itself where NANOPOD_K3S_BUNDLE names
# a folder with it, else against a double of it (tests/lib/k3s-double), as every result says.
#     k3s_table SERVERS AGENTS       who has which role: words of node names; the facts of k3s are taken live
#     k3s_step NODE FUNCTION STEP [VAR=VALUE…] [-- WORD…]   its records are in $OUT (decoded enough), what it gave in $TMP/given.NAME
#     k3s_converge                   all steps on all nodes, as the engine would: where check says that something differs
K3S_SET=()
K3S_DISRUPT=''

k3s_bundle() {
	K3S_BUNDLE=$TMP/bundle K3S_IS='DOUBLE of k3s'
	mkdir "$K3S_BUNDLE"
	if [ -n "$TEST_K3S" ]; then
		K3S_IS='real K3s'
		cp "$TEST_K3S"/* "$K3S_BUNDLE/" || skip_all "'$TEST_K3S' cannot be read"
		K3S_VERSION=$("$K3S_BUNDLE/k3s" --version | awk 'NR == 1 { print $3 }')
	else
		K3S_VERSION=v1.34.1+k3s1
		k3s_double "$K3S_BUNDLE" $K3S_VERSION
	fi
	(cd "$K3S_BUNDLE" && find . -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
	diag "against: $K3S_IS $K3S_VERSION"
}
# k3s_double FOLDER VERSION
k3s_double() {
	mkdir -p "$1"
	sed "s/^my \$VERSION = .*/my \$VERSION = '$2';/" "$SRC/tests/lib/k3s-double/k3s" >"$1/k3s"
	printf 'rancher/mirrored-pause:3.6\nrancher/mirrored-coredns-coredns:1.12.3\n' >"$1/k3s-airgap-images-amd64.tar.zst"
	(cd "$1" && sha256sum k3s k3s-airgap-images-amd64.tar.zst >SHA256SUMS)
}
# k3s_bring FOLDER NODE…: as an upload does.
k3s_bring() {
	k3s_from=$1
	shift
	K3S_ID=$(sha256sum <"$k3s_from/SHA256SUMS" | cut -c1-16)
	for k3s_node; do tar -C "$k3s_from" -cf - . | in_node_stdin "$k3s_node" 'rm -rf /run/k3s-upload; mkdir /run/k3s-upload && tar -C /run/k3s-upload --no-same-owner -xf -'; done
}

k3s_table() {
	K3S_SERVERS=$1 K3S_AGENTS=$2 K3S_TABLE=''
	for k3s_node in $CLUSTER_NODES; do
		k3s_roles=base.nodes
		case " $1 " in *" $k3s_node "*) k3s_roles=$k3s_roles,k3s.servers ;; esac
		case " $2 " in *" $k3s_node "*) k3s_roles=$k3s_roles,k3s.agents ;; esac
		[ "$k3s_roles" != base.nodes ] || continue
		k3s_fact=$(in_node "$k3s_node" 'test -d /var/lib/rancher/k3s/server/db/etcd/member && echo etcd')
		K3S_TABLE="$K3S_TABLE$k3s_node	$k3s_node	$(cat "$TMP/address.$k3s_node")	$k3s_roles	arch=x86_64${k3s_fact:+	k3s_server=$k3s_fact}"
		[ "$k3s_node" != "${K3S_GPU-}" ] || K3S_TABLE="$K3S_TABLE	gpu_count=2	gpu_0=nvidia H100-SXM5 0000:01:00.0 nvidia	gpu_1=nvidia H100-SXM5 0000:02:00.0 nvidia"
		K3S_TABLE="$K3S_TABLE
"
	done
}

k3s_text() {
	k3s_node=$1 k3s_function=$2 k3s_step=$3
	shift 3
	k3s_roles=''
	case " $K3S_SERVERS " in *" $k3s_node "*) k3s_roles=servers ;; esac
	case " $K3S_AGENTS " in *" $k3s_node "*) k3s_roles="$k3s_roles agents" ;; esac
	sh "$SRC/tests/stacks/step.sh" "$k3s_function" "$SRC/stacks/k3s" "$k3s_step" NP_NODE="$k3s_node" NP_HOST="$k3s_node" NP_ADDRESS="$(cat "$TMP/address.$k3s_node")" \
		NP_ROLES="$k3s_roles" NP_TABLE="${K3S_TABLE%?}" NP_UPLOAD=/run/k3s-upload NP_UPLOAD_ID="$K3S_ID" S_bundle="$K3S_BUNDLE" S_version_k3s="$K3S_VERSION" \
		S_cluster_cidr=10.42.0.0/16 S_service_cidr=10.43.0.0/16 S_disable='traefik servicelb' S_wait=60 S_drain_seconds=20 S_disruption=10 S_drain=yes \
		S_labels=agents S_labels_agents='pool=gpu team=a' "${K3S_SET[@]}" "$@"
}
# Its status is the function's.
k3s_step() {
	OUT=$TMP/out.$1.$3
	k3s_text "$@" | in_node_stdin "$1" 'sh -s' >"$OUT" || true
	awk -F '\t' -v at="$TMP/given." '$2 == "give" { print $4 | ("base64 -d >" at $3) }' "$OUT"
	cp "$TMP/.ssh.$1" "$OUT.log" 2>/dev/null
	[ "$(awk -F '\t' '$2 == "done" { print $3 }' "$OUT")" = 0 ]
}
said() { awk -F '\t' -v w="$1" '$2 == w { print $3 }' "$OUT"; }
k3s_show() { cut -f 2- "$OUT" | sed 's/^/# /' | cut -c1-400; tail -n 30 "$OUT.log" | sed 's/^/# log: /'; }

# One step as the engine does it: check, apply where it differs, check again.
k3s_want() {
	k3s_want_node=$1 k3s_want_step=$2
	shift 2
	k3s_step "$k3s_want_node" check "$k3s_want_step" "$@" || { echo "# $k3s_want_node $k3s_want_step: check"; k3s_show; return 1; }
	if [ -z "$(said differs)" ]; then
		case $k3s_want_step in first | agent-token) ;; *) return 0 ;; esac
	else
		said differs | sed "s/^/$k3s_want_node $k3s_want_step: /" >>"$TMP/changes.$k3s_want_node"
	fi
	k3s_step "$k3s_want_node" apply "$k3s_want_step" "$@" || { echo "# $k3s_want_node $k3s_want_step: apply"; k3s_show; return 1; }
	k3s_step "$k3s_want_node" check "$k3s_want_step" "$@" || return 1
	[ -z "$(said differs)" ] || { echo "# $k3s_want_node $k3s_want_step: still differs"; k3s_show; return 1; }
}
k3s_each() {
	k3s_jobs='' k3s_rc=0
	for k3s_at in $1; do
		(for k3s_one in $2; do
			k3s_take=''
			case $k3s_one in agent) k3s_take=$TMP/given.k3s-agent-token ;; server) k3s_take=$TMP/given.k3s-token ;; esac
			k3s_want "$k3s_at" "$k3s_one" ${k3s_take:+NP_TAKEN="$k3s_take"} || exit 1
		done) >"$TMP/each.$k3s_at" 2>&1 &
		k3s_jobs="$k3s_jobs $!"
	done
	for k3s_job in $k3s_jobs; do wait "$k3s_job" || k3s_rc=1; done
	for k3s_at in $1; do cat "$TMP/each.$k3s_at"; done
	return $k3s_rc
}
k3s_converge() {
	rm -f "$TMP"/changes.*
	k3s_first=${K3S_SERVERS%% *}
	k3s_each "$K3S_SERVERS $K3S_AGENTS" 'gate files registries conf' && k3s_each "$k3s_first" 'first agent-token' || return 1
	for k3s_server in $K3S_SERVERS; do k3s_each "$k3s_server" server || return 1; done
	# Agents and the one that drains them, side by side.
	if [ -n "$K3S_AGENTS" ]; then
		k3s_want "$k3s_first" turn >"$TMP/turn" 2>&1 &
		k3s_turn=$!
		k3s_each "$K3S_AGENTS" agent
		k3s_rc=$?
		wait $k3s_turn || { cat "$TMP/turn"; return 1; }
		[ $k3s_rc = 0 ] || return 1
	fi
	k3s_each "$k3s_first" nodes
}
k3s_changes() { cat "$TMP"/changes.* 2>/dev/null; }
k3s_verify() {
	k3s_bad=''
	for k3s_node in $K3S_SERVERS $K3S_AGENTS; do
		k3s_steps='files conf'
		case " $K3S_SERVERS " in *" $k3s_node "*) k3s_steps="$k3s_steps server" ;; *) k3s_steps="$k3s_steps agent" ;; esac
		[ "$k3s_node" != "${K3S_SERVERS%% *}" ] || k3s_steps="$k3s_steps nodes pods"
		for k3s_s in $k3s_steps; do k3s_step "$k3s_node" verify "$k3s_s" || { echo "# $k3s_node $k3s_s: verify"; k3s_show; k3s_bad=1; }; done
	done
	[ -z "$k3s_bad" ]
}
kubectl_on() { k3s_node=$1; shift; in_node "$k3s_node" "k3s kubectl $*"; }
