#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What newcomers type wrongly, who come from gh, kubectl, ssh, pdsh, clush, sf or aws: each sentence names the cause
# and what to type next.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
cd "$TMP" || exit 99
mkdir -p "$HOME/.config/nanopod" folder
echo text >file
printf 'ssh-config: none\nknown-hosts: none\nidentity: [%s]\nhost-key: strict\nagent: none\nconnect-timeout: 20s\n' \
	"$SSHD_KEY" >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
"$NANOPOD" nodes -q >known
market GET '/v2/orders?limit=200' | jq -c '[.data[].id]' >before

# A line: what is typed, the exit status, what the sentence must match.
set -f
while IFS='	' read -r line want pattern; do
	# shellcheck disable=SC2086
	run timeout -k 5 60 "$NANOPOD" $line
	is "$status" "$want" "$line: $want"
	like "$(printf '%s' "$err" | tr '\n' ' ')" "^nanopod: .*$pattern" "$line: says why and what to type"
	unlike "$err" "[.]\$|[Ii]nvalid|[Ee]rror:|[Ss]omething" "$line: in the words of all sentences"
done <<'END'
create -t h100	2	'create': no such command; 'nanopod buy' buys nodes
get nodes	2	'get': no such command; 'nanopod nodes' lists your nodes
describe train	2	'describe': no such command; 'nanopod show NAME'
delete train	2	'nanopod release NAME' gives nodes back
kill train	2	'nanopod release NAME' gives nodes back
exec -it train-0 -- bash	2	'nanopod ssh NODE -- COMMAND' runs it on one host
port-forward train-0 8888	2	'nanopod tunnel NODE PORT'
apply -f x.yaml	2	'nanopod provision FILE.yaml'
auth login	2	'nanopod login' signs in
instances list	2	'nanopod nodes' lists your nodes
quote -t h100	2	'nanopod price -t TYPE' shows prices
rsync folder train-0:	2	'nanopod cp -r -u FOLDER HOST:PATH'
scp file train-0:/tmp	2	'nanopod cp FILE HOST:PATH' copies
byu -t h100	2	did you mean 'nanopod buy'
nodes list	3	no running or pending node 'list'; 'nanopod nodes' alone lists your nodes
config view	2	no such action; available: list, get, set
buy	2	--price is required, e.g. -p 2.10 .*'nanopod price' shows what it costs now
buy h100	2	unexpected argument 'h100' .did you mean -t h100
buy -t h100 -p 2 -y	2	--duration is required, e.g. -d 24h
buy -t h100 -d 24 -p 2 -y	2	'24' has no unit: try 90m, 24h
buy -t h100 -d 90s -p 2 -y	2	not a whole number of minutes; '--round up' makes it 2m
buy -t h100 -d 24h -p two -y	2	'two' is not a price: .*such as 2.10
buy -t h100 -d 24h -p	2	-p requires an argument .DOLLARS.; 'nanopod buy --help'
buy -t h100 -d 24h -p 0.10 -y	6	costs more than the limit; 'nanopod buy -t h100 -d 24h -y -p 1.80' would fill
buy -t h100 -n 50 -d 24h -p 9 -y	6	not enough is on sale .*; 'nanopod buy .* -n [0-9]+' would fill
buy -t h100 -n 0 -d 24h -p 9 -y	2	'0' is not between 1 and 1024
buy -t richmnd -d 24h -p 9 -y	3	no type '.*'; did you mean 'richmond'
buy -t h100 --count 2 -d 24h	2	no such option; '-n N' is the number of nodes
buy -t h100 -d 24h -p 2.10	2	not a terminal; '-y' answers yes
buy -t h100 -d 24h -p 2.10 -s yesterday -y	2	yesterday
extend train 4h	2	--duration is required, e.g. -d 24h
extend nope -d 1h -p 2 -y	3	no reservation 'nope'; .*'nanopod reservations' lists
extend train -d 1h -p 0.1 -y	6	costs more than the limit; 'nanopod extend .*' would fill
sell train	2	--price is required, e.g. -p 2.10
sell train -n 9 -p 1 -y	5	cannot sell 9 nodes of 'train': it has 2
release tarin -y	3	no reservation 'tarin'; did you mean 'train'
cancel train	2	it is a reservation, and has no open order; 'nanopod orders' lists yours
show nope	3	'nanopod reservations' and 'nanopod orders --all' list yours
wait nope	3	'nanopod reservations' and 'nanopod nodes' list yours
ssh n1:/tmp	2	a name cannot have '/'; 'nanopod cp' takes HOST:PATH, other commands HOST
ssh	2	an argument is missing: HOST; usage: nanopod ssh
ssh train	2	a reservation of 2 nodes, and ssh takes one; .*'nanopod run -r train -- COMMAND'
ssh train-0 -L 8080:localhost:80	2	options stand before HOST; 'nanopod tunnel HOST PORT'
ssh -i nokey train-0 true	2	cannot read 'nokey': No such file
ssh train-0:99999	2	a port is a number from 1 to 65535; forms are name, user@name
ssh nobody@train-0 true	255	cannot sign in as 'nobody': .*'-l USER' names another user
run uptime	2	no hosts given; nanopod run -w .* -- COMMAND
run -w train-0	2	no command given; nanopod run -w
run -w n[2-1] uptime	2	the range '2-1' runs backwards; 'nanopod help hosts'
run -w @nogroup uptime	3	no group '@nogroup'; 'nanopod config' shows the groups
run -g train uptime	2	'-w @GROUP' or '-r RESERVATION' chooses a group
run -r train --timeout 10 -- uptime	2	'10' has no unit: try 90s, 15m
run --sudo -r train uptime	2	'--become' runs the command with sudo
cp file	2	an argument is missing: TARGET; usage: nanopod cp
cp file train-0	2	a place on a host has a colon: 'nanopod cp FILE HOST:/dir/'
cp folder train-0:/tmp	2	'folder' is a directory; '-r' copies it
cp nofile train-0:/tmp	3	cannot read 'nofile': No such file
cp train-0:/nope .	3	cannot read '/nope' on the host: no such file
tunnel train-0	2	'nanopod tunnel HOST 8888' forwards its port
logs	2	no node given; 'nanopod logs NODE'
ls --json	2	no such option; '-o json' prints JSON
ls -o tabel	2	'tabel' is not one of table.wide.*did you mean 'table'
ls --fields nope	2	no such field; '--fields=' lists the fields
local	3	no local market; 'nanopod local start' creates one
provision	2	no cluster given; 'nanopod provision -r RESERVATION slurm'
provision train slurm	2	unexpected argument 'slurm'; 'nanopod provision -r train slurm'
provision -r train nostack	3	no stack 'nostack'; 'nanopod provision stacks' lists them
config set colour blue	2	no such setting; did you mean 'color'
help nope	2	no such command; 'nanopod help' lists the commands
completion powershell	2	'powershell' is not one of bash.zsh.fish
token create	2	an argument is missing: NAME; usage: nanopod token create NAME
events --since yesterday	2	did you mean '--since-seq'
replace nope-0 -y	3	no running or pending node 'nope-0'; 'nanopod nodes --all'
kubeconfig nope	3	no cluster 'nope' here; 'nanopod provision list'
END
set +f
ok "(the table was read)" [ "$tap_count" -gt 200 ]
market GET '/v2/orders?limit=200' | jq -c '[.data[].id]' >after
is "$(market GET '/v2/pools?limit=200' | jq -r '.data[].name')" train "and nothing was bought"
done_testing
