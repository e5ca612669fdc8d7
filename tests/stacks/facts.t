#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stacks/common/facts.sh: on this machine, and of devices on trees of other machines (tests/fixtures/sysfs).
. "$(dirname "$0")/../lib/tap.sh"
facts=$SRC/stacks/common/facts.sh

for shell in dash 'busybox sh' 'bash --posix'; do
	$shell -c : 2>/dev/null || continue
	status=0
	NP_PACKAGES='bash no-such-package' $shell <"$facts" >"$TMP/said" 2>"$TMP/err" || status=$?
	is $status 0 "$shell: it never fails"
	is "$(awk '!/^[a-z][a-z0-9_]*=[^[:cntrl:]]+$/ || length > 4096' "$TMP/said")" "" "$shell: KEY=VALUE, all of them"
	is "$(cut -d = -f 1 "$TMP/said" | sort | uniq -d)" "" "$shell: each key once"
	for key in hostname kernel arch cpus sockets cores threads memory_mb disk_free_mb cgroup root dpkg gpu_count rdma_count route init os_id; do
		grep -q "^$key=." "$TMP/said" || fail "$shell: $key"
	done
	is "$(cut -d = -f 1 "$TMP/said" | sed 's/_[0-9]*$//; s/^\(candidate\|installed\)_.*/\1_PKG/' | sort -u | while read -r key; do grep -q "^#.*\b$key" "$facts" || echo "$key"; done)" "" "$shell: every key is explained in its head"
	is "$(awk -F = '{ v[$1] = $2 } END { print v["sockets"] * v["cores"] * v["threads"] - v["cpus"] }' "$TMP/said")" 0 "$shell: sockets, cores and threads make the processors"
done

# What its host sold is what a node has, whatever the kernel shows.
printf 'cpus=1\nmemory_mb=100\ndisk_mb=5\nrm=$(x)\n' >"$TMP/resources"
is "$(NP_RESOURCES=$TMP/resources sh "$facts" | grep -E '^(cpus|sockets|cores|threads|memory_mb)=' | tr '\n' ' ')" \
	"memory_mb=100 cpus=1 sockets=1 cores=1 threads=1 " "a node of 1 processor and 100 MiB is no larger"
printf 'boot_id=868a63de-ed70\n' >"$TMP/resources"
is "$(NP_RESOURCES=$TMP/resources sh "$facts" | grep '^boot_id=')" boot_id=868a63de-ed70 "the kernel of a node is its machine's"
is "$(NP_RESOURCES=/dev/null sh "$facts" | grep '^boot_id=')" "boot_id=$(cat /proc/sys/kernel/random/boot_id)" "else its own"
printf 'cpus=9999\nmemory_mb=999999999\n' >"$TMP/resources"
is "$(NP_RESOURCES=$TMP/resources sh "$facts" | grep -E '^(cpus|memory_mb)=')" \
	"$(NP_RESOURCES=/dev/null sh "$facts" | grep -E '^(cpus|memory_mb)=')" "nor larger than the machine"

if unshare -Ur true 2>/dev/null; then
	is "$(unshare -Ur sh "$facts" | grep -E '^(user_namespace|cgroup_devices)=' | sort | tr '\n' ' ' | sed 's/cgroup_devices=no //')" "user_namespace=yes " \
		"a user namespace, where devices cannot be denied"
fi

# NFS: what the kernel has, or can load.
printf 'nodev\tnfsd\n\text4\n' >"$TMP/filesystems"
mkdir "$TMP/bin" && printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/modprobe" && chmod +x "$TMP/bin/modprobe"
sed "s|^LC_ALL=C PATH=|&$TMP/bin:|" "$facts" >"$TMP/facts.sh"
is "$(NP_FILESYSTEMS=$TMP/filesystems sh "$TMP/facts.sh" | grep '^nfs_' | tr '\n' ' ')" "nfs_server=yes nfs_client=no " \
	"a kernel that serves NFS and does not mount it"
is "$(NP_GATES='cgroup nfs' sh "$TMP/facts.sh" | grep -c '^nfs_\|^fuse=')" 2 "what no stack asks for is not looked at"
mkdir "$TMP/dev"
fuse() { NP_DEV=$TMP/dev NP_GATES=fuse NP_FILESYSTEMS=$TMP/filesystems sh "$TMP/facts.sh" | grep '^fuse='; }
is "$(fuse)" fuse=no "neither the device of FUSE, nor its module"
: >"$TMP/dev/fuse"
is "$(fuse)" fuse=yes "a device that can be opened"
rm "$TMP/dev/fuse" && mkdir "$TMP/dev/fuse"
is "$(fuse)" fuse=no "one that cannot"
default() { sed "s|/proc/net/route|$TMP/route|; s|^LC_ALL=C PATH=|&$TMP/bin:|" "$facts" >"$TMP/facts.sh"; sh "$TMP/facts.sh" | grep '^route='; }
printf '#!/bin/sh\n' >"$TMP/bin/ip" && chmod +x "$TMP/bin/ip"
printf 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t0002000A\t0\t0001\t0\t0\t0\t00FFFFFF\n' >"$TMP/route"
is "$(default)" route=no "no default route in the kernel's table"
printf 'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n' >>"$TMP/route"
is "$(default)" route=yes "one in it, without ip(8)"
is "$(taskset -c 0 sh "$facts" | grep '^cpus=')" cpus=1 "processors that it may use"

# unpack TREE: lines PATH<tab>CONTENT, with one {a,b} in the path and @ for it.
unpack() {
	rm -rf "$TMP/tree"
	awk -F '\t' -v root="$TMP/tree" '
		function put(path, text) {
			full = root "/" path
			if (path ~ /\/$/) { print "mkdir -p \"" full "\""; return }
			dir = full; sub("/[^/]*$", "", dir)
			if (text ~ /^-> /) print "mkdir -p \"" dir "\" && ln -sfn \"" substr(text, 4) "\" \"" full "\""
			else { gsub(/\\n/, "\n", text); gsub(/[\\"$`]/, "\\\\&", text); print "mkdir -p \"" dir "\" && printf \"%s\\n\" \"" text "\" >\"" full "\"" }
		}
		/^#/ || !NF { next }
		{
			if (match($1, /\{[^}]*\}/)) {
				n = split(substr($1, RSTART + 1, RLENGTH - 2), word, ","); head = substr($1, 1, RSTART - 1); tail = substr($1, RSTART + RLENGTH)
				for (i = 1; i <= n; i++) { text = $2; gsub(/@/, word[i], text); put(head word[i] tail, text) }
			} else put($1, $2)
		}' "$SRC/tests/fixtures/sysfs/$1.tree" | sh
	NP_SYS=$TMP/tree/sys NP_DEV=$TMP/tree/dev sh <"$facts" 2>/dev/null | grep -E '^(gpu|rdma|nouveau)' >"$TMP/said"
}
said() { sed -n "s/^$1=//p" "$TMP/said"; }

unpack cpu-only
is "$(said gpu_count)" 0 "cpu-only: no GPU, though there is a display of the board"
unpack h100-sxm8
is "$(said gpu_count)" 8 "h100-sxm8: eight"
like "$(said gpu_0)" '^nvidia h100 0000:1b:00.0 (nvidia|none)$' "h100-sxm8: vendor, model, place, driver"
is "$(said gpu_8)" "" "h100-sxm8: switches and network cards are none"
unpack mi300x8
is "$(said gpu_count)" 8 "mi300x8: eight"
like "$(said gpu_7)" '^amd mi300x 0000:' "mi300x8: model"
unpack rtx4090x2
like "$(said gpu_1)" '^nvidia rtx4090 ' "rtx4090x2: model"
unpack arc-a770x2
like "$(said gpu_count) $(said gpu_1)" '^2 intel ' "arc-a770x2: two"

# Which steps were done there, for whom.
mkdir -p "$TMP/steps"
echo "done 1700000000 train" >"$TMP/steps/slurm.users"
echo "begun train" >"$TMP/steps/slurm.worker"
echo "S_x=''" >"$TMP/steps/slurm.worker.set"
printf 'n1\th1\n' >"$TMP/steps/slurm.worker.table"
: >"$TMP/steps/slurm.worker.owed"
echo "done 1700000000 other" >"$TMP/steps/toy.one"
steps_of() { sed "s|/var/lib/nanopod/steps|$TMP/steps|" "$facts" | NP_CLUSTER=$1 sh 2>/dev/null | grep -E '^(steps|cluster)=' | tr '\n' ' '; }
is "$(steps_of train)" "steps=slurm.users slurm.worker cluster=other " "steps of this cluster, and that another one is here too"
is "$(steps_of third)" "cluster=other " "none of this one"
rm "$TMP/steps"/*
is "$(steps_of train)" "" "none at all"

# Its own name: a name server that does not answer is asked where its file does not know it, and not waited for.
host=$(cat /proc/sys/kernel/hostname)
printf '#!/bin/sh\n: >%s\nexec sleep 600\n' "$TMP/asked" >"$TMP/ask"
resolves() {
	rm -f "$TMP/asked"
	printf '%s\n' "$1" >"$TMP/hosts"
	sed "s|</etc/hosts|<$TMP/hosts|; s|getent hosts|sh $TMP/ask|" "$facts" | sh 2>/dev/null | sed -n 's/^resolves=//p'
	[ ! -e "$TMP/asked" ] || echo asked
}
is "$(resolves "127.0.0.1 localhost
127.0.1.1	$host.example	$host")" "yes" "its own file knows its name: nobody is asked"
began=$(date +%s)
is "$(resolves "127.0.0.1 localhost
#127.0.1.1 $host
127.0.1.1 not$host $host.example # $host" | tr '\n' ' ')" "asked " "a name in a comment, or a part of another, is none"
ok "a name server that does not answer is not waited for" [ $(($(date +%s) - began)) -lt 300 ]

# Device nodes of the driver are what makes one usable.
mkdir -p "$TMP/dev/dri" "$TMP/sys/bus/pci/devices" "$TMP/sys/bus/pci/drivers/nvidia"
for n in 1 2; do
	at=$TMP/sys/bus/pci/devices/0000:0$n:00.0
	mkdir -p "$at"
	echo 0x030200 >"$at/class"; echo 0x10de >"$at/vendor"; echo 0x2330 >"$at/device"
	ln -s ../../drivers/nvidia "$at/driver"
done
: >"$TMP/dev/nvidia0"
NP_SYS=$TMP/sys NP_DEV=$TMP/dev sh <"$facts" 2>/dev/null >"$TMP/said"
is "$(said gpu_count) $(said gpu_usable) $(said gpu_1)" "2 1 nvidia h100 0000:02:00.0 nvidia" "one of two can be used"
done_testing
