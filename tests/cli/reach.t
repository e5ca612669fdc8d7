#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nodes for other programs: ssh_config that the real ssh takes, inventories of Ansible and ClusterShell.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
need ssh
nodes_up 2
# A blank and a percent sign on the way to the files.
XDG_CACHE_HOME="$TMP/a b%c"
export XDG_CACHE_HOME
mkdir "$XDG_CACHE_HOME"

# ---- ssh-config ----
run_is 0 "ssh-config RESERVATION" "$NANOPOD" ssh-config $WHERE train
cp "$TMP/.out" "$TMP/config"
is "$(grep -c '^Host train-[01]$' "$TMP/config")" 2 "has a block for each node"
run_is 0 "the real ssh" ssh -n -F "$TMP/config" -o IdentityAgent=none train-0 echo there
is "$out" there "reaches a node by it"
is "$(ssh -n -F "$TMP/config" -o IdentityAgent=none train-1 'echo $SSH_CONNECTION' | cut -d' ' -f3)" "$(sshd_address 2)" "and the other one"
if have rsync; then
	echo text >"$TMP/file"
	run_is 0 "rsync" rsync -e "ssh -F $TMP/config -o IdentityAgent=none" "$TMP/file" "train-0:$TMP/sent"
	is "$(cat "$TMP/sent")" text "copies by it"
fi
OTHER=$(cut -d' ' -f2 "$SSHD_KEY.pub")
node_runs train-1 2 "$OTHER"
"$NANOPOD" ssh-config $WHERE train-1 >"$TMP/config.wrong"
run ssh -n -F "$TMP/config.wrong" -o IdentityAgent=none train-1 touch "$TMP/was-there"
is "$status" 255 "a server with another key than the market says"
not_ok "is refused" test -e "$TMP/was-there"
node_runs train-1 2
run_is 0 "a plain host" "$NANOPOD" ssh-config -F "$SSHD_CONFIG" --known-hosts none "$SSHD_USER@n1:2222"
like "$out" "^Host n1" "is named without user and port"
like "$out" "^    Port 2222" "which have their own lines"
unlike "$out" "HostKeyAlias" "and nothing is pinned"
run_is 2 "no name" "$NANOPOD" ssh-config
like "$err" "name a reservation, a node or hosts" "is refused with what to type"
run_is 3 "a reservation that is none" "$NANOPOD" ssh-config -r trian
like "$err" "did you mean 'train'" "with the nearest"
for verb in ssh-config inventory; do
	run_is 3 "$verb of what is no reservation, node or host" "$NANOPOD" $verb -F none trian
	like "$err" "no reservation, node or host 'trian'; did you mean 'train(-0)?'" "names the nearest"
	run_is 0 "$verb of a host that other machines may know" "$NANOPOD" $verb -F none n9
done

# ---- inventory ----
run_is 0 "inventory" "$NANOPOD" inventory $WHERE train
is "$(printf '%s\n' "$out" | head -n 1)" "[train]" "has the reservation as a group"
like "$out" "^train-0 ansible_host=$(sshd_address 1) ansible_port=$SSHD_PORT ansible_user=$SSHD_USER" "and the way to each host"
run_is 0 "inventory --json" "$NANOPOD" inventory $WHERE --json train n9
is "$(printf '%s' "$out" | jq -c '[.train.hosts, .ungrouped.hosts]')" '[["train-0","train-1"],["n9"]]' "has groups"
is "$(printf '%s' "$out" | jq -r '._meta.hostvars."train-1" | [.ansible_host, .ansible_port, .ansible_user] | join(" ")')" \
	"$(sshd_address 2) $SSHD_PORT $SSHD_USER" "and what Ansible calls the way"
args=$(printf '%s' "$out" | jq -r '._meta.hostvars."train-1".ansible_ssh_common_args')
eval "set -- $args"
run_is 0 "ssh with those arguments" ssh -n -F none "$@" -i "$SSHD_KEY" -o IdentityAgent=none -p "$SSHD_PORT" "$SSHD_USER@$(sshd_address 2)" echo there
is "$out" there "finds the key pinned"
if have ansible; then
	"$NANOPOD" inventory $WHERE train >"$TMP/hosts.ini"
	run_is 0 "the real Ansible" env ANSIBLE_HOST_KEY_CHECKING=1 ansible -i "$TMP/hosts.ini" train -m raw -a 'echo there'
fi
run_is 0 "inventory --clush" "$NANOPOD" inventory $WHERE --clush train n9
is "$out" "all: train-[0-1],n9
train: train-[0-1]" "has groups"
is "$("$NANOPOD" inventory $WHERE --clush train -x train-1 | tail -n 1)" "train: train-0" "-x leaves nodes out of a reservation"
run_is 2 "two kinds at once" "$NANOPOD" inventory --clush --json train
like "$err" "exclude each other" "are refused"

# ---- Nodes that are not up ----
"$NANOPOD" buy -t h100 -n 1 -d 2h -p 1.80 --name late --ssh-key "$SSHD_KEY.pub" -y >"$TMP/.bought" 2>&1
clock $((NOW + 121))
run_is 10 "a node that is pending" "$NANOPOD" inventory $WHERE --clush train late
like "$err" "left out 'late-0': pending" "is named and left out"
unlike "$out" "late" "(of all groups)"
run_is 0 "with --only-ready" "$NANOPOD" ssh-config $WHERE -r train -r late --only-ready
run_is 5 "alone" "$NANOPOD" ssh-config $WHERE late

# ---- A market that lies ----
have python3 || done_testing
cat >"$TMP/liar.py" <<'PY'
import http.server, json, sys, urllib.request
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ask = urllib.request.Request(sys.argv[1] + self.path, headers={"Authorization": self.headers["Authorization"]})
        text = urllib.request.urlopen(ask).read()
        if self.path.startswith("/np/v1/nodes"):
            said = json.loads(text)
            for node in said["data"]:
                node.update(json.load(open(sys.argv[2] + "/lie")))
            text = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
open(sys.argv[2] + "/liar.new", "w").write(str(server.server_port))
__import__("os").rename(sys.argv[2] + "/liar.new", sys.argv[2] + "/liar.port")
server.serve_forever()
PY
python3 "$TMP/liar.py" "$NANOPOD_URL" "$TMP" & LIAR=$!
at_exit "kill $LIAR 2>/dev/null"
wait_for 20 test -s "$TMP/liar.port"
NANOPOD_URL=http://127.0.0.1:$(cat "$TMP/liar.port")
printf '%s\n' '{"id":"x\n    ProxyCommand touch was-here"}' >"$TMP/lie"
for form in ssh-config inventory; do
	run "$NANOPOD" $form $WHERE -r train
	is "$status" 1 "$form of an id with a newline"
	like "$err" "is no id of a node" "is refused"
	unlike "$out" "ProxyCommand" "and nothing of it is printed"
done
printf '%s\n' '{"reservation":{"id":"train","name":"x]\nlocalhost ansible_connection=local\n[y"}}' >"$TMP/lie"
run_is 10 "a reservation with a newline (one node is pending)" "$NANOPOD" inventory $WHERE -r train
unlike "$out" "ansible_connection" "is no group"
like "$out" "^train-0 ansible_host=" "its nodes are there"
done_testing
