#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod kubeconfig on a real node, with a stand-in for K3s that has its kubeconfig: fetched, its server rewritten, merged
# into files as they lie about. What merging does to stranger files: tests/unit/provision/kubemerge.c.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
need jq ssh
. "$SRC/tests/lib/cluster.sh"

# A stand-in: a stack of K3s' name whose server step has the function, and a file as K3s writes it.
NANOPOD_STACKS=$TMP/stacks
export NANOPOD_STACKS
mkdir -p "$NANOPOD_STACKS/k3s"
cp -r "$SRC/stacks/common" "$SRC/stacks/base" "$NANOPOD_STACKS/"
cat >"$NANOPOD_STACKS/k3s/stack.yaml" <<'END'
stack: k3s
about: a stand-in for K3s
roles:
  servers: {min: 1, max: 7, default: first, help: the API}
  agents: {min: 0, default: rest, help: pods}
steps:
  - {name: server, help: the API, roles: [servers]}
END
cat >"$NANOPOD_STACKS/k3s/server.sh" <<'END'
want() {
	np_dir /etc/toyk3s 0700 root:root
	np_file /etc/toyk3s/k3s.yaml 0600 root:root secret <<'.'
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0E=
    server: https://127.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
preferences: {}
users:
- name: default
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: dmVyeXNlY3JldGtleQ==
.
}
kubeconfig() { np_give kubeconfig </etc/toyk3s/k3s.yaml; }
END
cluster_nodes 2
np() { "$NANOPOD" "$@" "${CLUSTER_WAY[@]}" </dev/null; }
kube() { np kubeconfig train "$@"; }
run_is 0 "a cluster" np provision -r train k3s -y
address=$(node_address train-1)

run_is 0 "--print" kube --print
like "$out" "server: \"https://" "prints it"
like "$out" "client-key-data: \"dmVyeXNlY3JldGtleQ==\"" "with the key"
unlike "$out" "server: \"https://127" "its server is not what K3s wrote"
like "$out" "tls-server-name: \"127.0.0.1\"" "and the certificate is asked for that"
ok "no file was made" test ! -e "$HOME/.kube"

run_is 0 "into no file" kube
like "$err" "kubectl --context train" "says how it is used"
is "$(stat -c %a "$HOME/.kube/config" "$HOME/.kube")" "600
700" "made for its owner alone"
like "$(cat "$HOME/.kube/config")" "^current-context: \"train\"" "the current context"
like "$(cat "$HOME/.kube/config")" "https://($address|localhost|[0-9.]+):6443" "the node's address"
cp "$HOME/.kube/config" "$TMP/first"
run_is 0 "once more" kube
ok "changes nothing" cmp "$TMP/first" "$HOME/.kube/config"

mkdir "$TMP/dir"
cat >"$TMP/dir/real" <<'END'
# work
apiVersion: v1
kind: Config
preferences: {}
current-context: prod
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://1234.gr7.eu-central-1.eks.amazonaws.com
  name: arn:aws:eks:eu-central-1:123:cluster/prod
contexts:
- context:
    cluster: arn:aws:eks:eu-central-1:123:cluster/prod
    user: arn:aws:eks:eu-central-1:123:cluster/prod
  name: prod
users:
- name: arn:aws:eks:eu-central-1:123:cluster/prod
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args: [--region, eu-central-1, eks, get-token]
      command: aws
      interactiveMode: IfAvailable
END
ln -s real "$TMP/dir/link"
cp "$TMP/dir/real" "$TMP/before"
KUBECONFIG=$TMP/dir/link:/nowhere run_is 0 "into one that has others" kube
ok "a link stays one" test -L "$TMP/dir/link"
is "$(diff "$TMP/before" "$TMP/dir/real" | grep -c '^<')" 0 "every line of it is there"
like "$(cat "$TMP/dir/real")" "^current-context: prod" "and its current context"
is "$(grep -c nanopod-train "$TMP/dir/real")" 4 "with the new entries"
run_is 5 "another's context" kube --context prod -o "$TMP/dir/real"
like "$err" "--context NAME" "is refused, with what to type"
cp "$TMP/dir/real" "$TMP/before"
: >"$TMP/dir/real.lock"
run_is 5 "while kubectl changes it" kube -o "$TMP/dir/real"
rm "$TMP/dir/real.lock"
echo '{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "a", "cluster": {"server": "b"}}]}' >"$TMP/json"
cp "$TMP/json" "$TMP/json.before"
run_is 1 "one in JSON" kube -o "$TMP/json"
like "$err" "--print" "is refused, with what to type"
ok "and is as it was" cmp "$TMP/json" "$TMP/json.before"
run_is 2 "a context that is none" kube --context 'a b'
run_is 3 "a cluster that is none" np kubeconfig trian
is "$(grep -rl dmVyeXNl "$HOME/.local" 2>/dev/null)" "" "the key is in no journal and no log"
done_testing
