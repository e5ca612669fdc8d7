#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inventories of other programs: which hosts and groups they have, and how a host is reached by what they say.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
F=$SRC/tests/fixtures/inventory
# has FILE EXPRESSION: the hosts, in one line
has() { "$NANOPOD" hosts --ssh-config none --inventory "$F/$1" "$2" 2>"$TMP/.err" | tr '\n' ' ' | sed 's/ $//'; }
# way FILE HOST: address, port and user
way() { "$NANOPOD" hosts --ssh-config none -o json --inventory "$F/$1" "$2" | tr -d ' \n' | sed 's/.*"address":"\([^"]*\)".*"user":"\([^"]*\)".*"port":\([0-9]*\).*/\1 \3 \2/'; }

is "$(has hosts.ini @webservers)" "foo.example.com www01.example.com www02.example.com www03.example.com" "Ansible, INI: a group with a range"
is "$(has hosts.ini @atlanta)" "foo.example.com www01.example.com www02.example.com www03.example.com one.example.com two.example.com" "children"
is "$(has hosts.ini @all | wc -w) $(has hosts.ini @ungrouped)" "7 mail.example.com" "all, and those without a group"
is "$(way hosts.ini foo.example.com)" "127.0.0.9 2222 deploy" "variables of a host"
like "$("$NANOPOD" hosts --ssh-config none --agent none --inventory "$F/hosts.ini" foo.example.com --fields identities)" "/keys/my key" "its key file, in quotes"
is "$(has hosts.yaml @east)" "foo.example.com bar.example.com one.example.com" "Ansible, YAML"
is "$(way hosts.yaml foo.example.com)" "127.0.0.9 2222 deploy" "its variables"
is "$(has list.sh @group001)" "host001 host002 host003" "a script's JSON"
is "$(way list.sh host001 | cut -d' ' -f1-2)" "127.0.0.8 2200" "its variables"
is "$(has terraform.json @workers) $(has terraform.json @bastion)" "10.0.0.1 10.0.0.2 bastion.example.com" "Terraform's output"
is "$(has terraform.json @named) $(way terraform.json gpu-1 | cut -d' ' -f1)" "gpu-0 gpu-1 10.0.0.4" "and a map of names"
is "$(has terraform-show.json @aws_instance) $(way terraform-show.json web | cut -d' ' -f1)" "web aws_instance.web-1 203.0.113.1" \
	"Terraform's state: machines of one name are two hosts"
is "$(has terraform-show.json @all) $(has terraform-show.json @node)" "web aws_instance.web-1 gpu-a gpu-b gpu-a gpu-b" \
	"modules count, addresses that are no machines and data do not"
is "$(way terraform-show.json aws_instance.web-1 | cut -d' ' -f1) $(way terraform-show.json gpu-a | cut -d' ' -f1)" "10.0.0.2 203.0.113.20" \
	"a private address where it has no public one"
is "$(has kubectl.json @all) $(has kubectl.json @control-plane) $(has kubectl.json @worker)" \
	"control-0 gpu-0.example.com named control-0 gpu-0.example.com" "Kubernetes: nodes, and roles as groups"
is "$(has kubectl.json @zone_eu-1a) $(has kubectl.json @accelerator_h100) $(has kubectl.json @arch_amd64)" \
	"gpu-0.example.com gpu-0.example.com control-0 gpu-0.example.com" "and labels"
is "$(for h in control-0 gpu-0.example.com named; do way kubectl.json $h | cut -d' ' -f1; done | tr '\n' ' ')" \
	"10.0.0.10 203.0.113.11 named.example.com " "ExternalIP, else InternalIP, else Hostname"
is "$(has local.cfg @oss) $(has local.cfg @gpu)" "example4 example5 example6 example156 example157 example158 example159" "ClusterShell's groups"
is "$(has roles.yaml @io)" "example2 example4 example5 example6" "and those of groups.d"
is "$(has sinfo @debug) $(has sinfo @gpu)" "linux01 linux02 gpu03" "sinfo -N: partitions"
is "$(has nodelist @all)" "linux01 linux02 linux03 linux07" "a list of nodes"
is "$(has etc-hosts @all)" "localhost foo.example.org ip6-localhost" "/etc/hosts"
is "$(way etc-hosts foo | cut -d' ' -f1)" "192.168.1.10" "and its aliases"
is "$(has hosts.ini '@all,-@dbservers' | wc -w)" 5 "groups are left out as ever"

# ---- Our own groups of ClusterShell, read again ----
mkdir -p "$TMP/clush/groups.d"
"$NANOPOD" inventory --clush --ssh-config none --inventory "$F/local.cfg" 'example[4-6]' 'n[01-12,20]' x.example.com >"$TMP/clush/groups.d/local.cfg"
is "$("$NANOPOD" hosts --ssh-config none --inventory "$TMP/clush/groups.d/local.cfg" @all | tr '\n' ' ')" \
	"$("$NANOPOD" hosts --ssh-config none 'example[4-6]' 'n[01-12,20]' x.example.com | tr '\n' ' ')" "inventory --clush is read back by --inventory"
cat >"$TMP/clush/groups.conf" <<'END'
[Main]
default: local
[local]
map: sed -n 's/^$GROUP:\(.*\)/\1/p' $CFGDIR/groups.d/local.cfg
all: sed -n 's/^all:\(.*\)/\1/p' $CFGDIR/groups.d/local.cfg
list: sed -n 's/^\([0-9A-Za-z_-]*\):.*/\1/p' $CFGDIR/groups.d/local.cfg
END
if command -v nodeset >/dev/null; then
	is "$(nodeset --groupsconf="$TMP/clush/groups.conf" -e -S '\n' @all 2>&1 | sort)" \
		"$("$NANOPOD" hosts --ssh-config none 'example[4-6]' 'n[01-12,20]' x.example.com | sort)" "and by ClusterShell's nodeset"
else
	skip "nodeset of ClusterShell is not installed"
fi

printf 'h ansible_host=-oProxyCommand=x\n' >"$TMP/bad"
run_is 2 "an option as an address" "$NANOPOD" hosts --inventory "$TMP/bad" h
like "$err" "line 1: '-oProxyCommand=x' is no address, of host 'h'" "is refused with its line"
printf 'a\nh ansible_port=x\n' >"$TMP/bad"
run_is 2 "a port that is none" "$NANOPOD" hosts --inventory "$TMP/bad" h
like "$err" "line 2: 'x' is no port" "too"
printf 'a b: [\n' >"$TMP/bad.yaml"
run_is 2 "YAML that is none" "$NANOPOD" hosts --inventory "$TMP/bad.yaml" h
printf '#!/bin/sh\nexit 3\n' >"$TMP/script"; chmod +x "$TMP/script"
run_is 2 "a script that fails" "$NANOPOD" hosts --inventory "$TMP/script" h
like "$err" "script --list' failed" "is told"
# json_bad TEXT SENTENCE NAME: that JSON is refused with the sentence.
json_bad() {
	printf '%s' "$1" >"$TMP/bad"
	run_is 2 "$3" "$NANOPOD" hosts --inventory "$TMP/bad" h
	like "$err" "$2" "is refused"
}
node='"apiVersion":"v1","kind":"Node"'
json_bad "$(head -c 900 "$F/kubectl.json")" "its JSON is cut off" "a list of nodes that is cut off"
json_bad "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":7}" "'items' is no list" "items of a wrong type"
json_bad "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}]}" "has no nodes; 'kubectl get nodes -o json'" "a list of pods"
json_bad "{$node,\"metadata\":{\"name\":[]}}" "a node has no metadata.name" "a name of a wrong type"
json_bad "{$node,\"metadata\":{\"name\":\"a\"},\"status\":{\"addresses\":{}}}" "node 'a' has no address" "addresses of a wrong type"
json_bad "{$node,\"metadata\":{\"name\":\"n[1-9]\"},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}" \
	"'n.1-9.' is no name of a host" "a range as a node's name"
json_bad "{$node,\"metadata\":{\"name\":\"a\"},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"-oProxyCommand=x\"}]}}" \
	"'-oProxyCommand=x' is no address" "an option as a node's address"
json_bad '{"format_version":"1.2","planned_values":{"root_module":{}}}' "it is a plan of Terraform" "a plan of Terraform"
json_bad '{"format_version":"1.0","values":[]}' "has no resources" "a state of a wrong type"
deep=$(awk 'BEGIN { for (i = 0; i < 5000; i++) printf "{\"child_modules\":["; for (i = 0; i < 5000; i++) printf "]}" }')
json_bad "{\"format_version\":\"1.0\",\"values\":{\"root_module\":$deep}}" "more than 32 levels deep" "modules without end"
head -c 17000000 /dev/zero | tr '\0' ' ' >"$TMP/huge"
run_is 2 "a file of 17 MB" "$NANOPOD" hosts --inventory "$TMP/huge" h
like "$err" "cannot read '.*huge': .*large" "is refused"
awk 'BEGIN { printf "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
	for (i = 0; i < 3000; i++) printf "%s{\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\",\"annotations\":{\"x\":\"%1000s\"}},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.%d.%d\"}]}}", i ? "," : "", i, "", i / 250, i % 250
	print "]}" }' >"$TMP/many"
is "$("$NANOPOD" hosts --ssh-config none --inventory "$TMP/many" @all | wc -l)" 3000 "3000 nodes in 3 MB are read"
printf 'a\n"" x\n' >"$TMP/bad"
run_is 2 "an empty name" "$NANOPOD" hosts --inventory "$TMP/bad" a
like "$err" "line 2: a name is empty" "is refused"
{ printf 'io:'; printf ' n%d' $(seq 200); echo; } >"$TMP/long"
is "$("$NANOPOD" hosts --ssh-config none --inventory "$TMP/long" @io | wc -l)" 200 "no word of a long line is lost"
{ printf 'io:'; printf ' n%d' $(seq 2000); echo; } >"$TMP/long"
run_is 2 "a line that is too long" "$NANOPOD" hosts --inventory "$TMP/long" @io
like "$err" "line 1: it has more than 1024 words" "is refused"
printf 'all:\n  hosts:\n    h[08:10]:\n      ansible_port: 2222\n' >"$TMP/range.yaml"
is "$("$NANOPOD" hosts --ssh-config none --inventory "$TMP/range.yaml" -o csv --fields host,port @all | tr '\n' ' ')" \
	"host,port h08,2222 h09,2222 h10,2222 " "ranges of YAML have their variables"
printf '#!/bin/sh\ncat >&2\necho "{\\"all\\": {\\"hosts\\": [\\"a\\"]}}"\n' >"$TMP/script"
run_is 0 "a script" sh -c 'echo for the hosts | "$NANOPOD" hosts --ssh-config none --inventory "$TMP/script" @all'
is "$out $err" "a " "gets no standard input, which may be for the hosts"
run_is 2 "a file that is not there" "$NANOPOD" hosts --inventory "$TMP/nothing" h

sshd_up 2 || { fail "sshd is up"; done_testing; }
printf '[web]\na ansible_host=%s ansible_port=%s ansible_user=%s ansible_ssh_private_key_file=%s\n' "$(sshd_address 1)" "$SSHD_PORT" "$SSHD_USER" "$SSHD_KEY" >"$TMP/real"
printf '[a]:%s %s\n' "$SSHD_PORT" "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$TMP/known"
run_is 0 "run -w @group" "$NANOPOD" run --ssh-config none --known-hosts "$TMP/known" --agent none --inventory "$TMP/real" -w @web -- echo there
is "$out" "a: there" "reaches a host by its variables"
sed "s/$(sshd_address 1)/$(sshd_address 2)/" "$TMP/real" >"$TMP/other"
where='echo $SSH_CONNECTION | cut -d" " -f3'
printf "%s '%s'\n" "run --" "$where" "run --inventory $TMP/other -w @web --" "$where" "run --" "$where" >"$TMP/lines"
"$NANOPOD" shell --ssh-config none --known-hosts "$TMP/known" --agent none --inventory "$TMP/real" -w @web <"$TMP/lines" >"$TMP/.out" 2>&1
is "$(cat "$TMP/.out")" "$(printf 'a: %s\n' "$(sshd_address 1)" "$(sshd_address 2)" "$(sshd_address 1)")" \
	"the shell, too, and a line's own inventory is that line's alone"
done_testing
