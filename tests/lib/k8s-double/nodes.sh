# SPDX-License-Identifier: Apache-2.0
# Nodes that may run containers (bash, after tap.sh): a booted Debian each, on the image in $TEST_IMAGES, in a network and
# control groups of its own, with the rights that containerd wants. The driver ns rightly gives its nodes less. The hub that
# joins them is a network namespace too: this machine gets no address, and they have no way out.
#     k8s_nodes N             k1 … kN, answering by SSH. NODES_WAY: connect options, for what runs `from_hub`
#     from_hub COMMAND…       where the nodes are reached
#     in_node NODE COMMAND    by SSH, as root; in_node_stdin: with this standard input
#     k8s_restart NODE        as a power cut and a boot; returns when it has booted
#     picture NODE            as cluster.sh
#     k8s_down                also at the end by itself

K8S_NAME=nanopod-k8s-$$ K8S_NET=10.79.0 K8S_ROOM=$TMP/k8s K8S_UP=''
K8S_GROUPS=$(awk '$3 ~ /^cgroup2?$/ && $2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/mounts)

k8s_nodes() {
	mkdir -p "$K8S_ROOM"
	at_exit k8s_down
	ip netns add "$K8S_NAME" && ip -n "$K8S_NAME" link set lo up && ip -n "$K8S_NAME" link add br0 type bridge &&
		ip -n "$K8S_NAME" addr add "$K8S_NET.1/24" dev br0 && ip -n "$K8S_NAME" link set br0 up || skip_all "no network namespace can be made here"
	ssh-keygen -q -t ed25519 -N '' -C test -f "$TMP/key"
	: >"$TMP/known"
	: >"$TMP/ssh_config"
	# shellcheck disable=SC2034 # of whom sources this
	NODES_WAY=(--ssh-config "$TMP/ssh_config" --agent none -l root)
	for ((k8s_i = 1; k8s_i <= $1; k8s_i++)); do k8s_node "$k8s_i"; done
	for ((k8s_i = 1; k8s_i <= $1; k8s_i++)); do
		wait_for 60 in_node "k$k8s_i" true || { fail "(k$k8s_i answers)"; tail -n 20 "$K8S_ROOM/k$k8s_i/log" | sed 's/^/# /'; done_testing; }
		wait_for 60 k8s_booted "k$k8s_i" || { fail "(k$k8s_i has booted)"; in_node "k$k8s_i" 'systemctl --failed' | sed 's/^/# /'; done_testing; }
	done
}
k8s_booted() { [ "$(in_node "$1" 'systemctl is-system-running')" = running ]; }

# k8s_node NUMBER [HOSTNAME]
k8s_node() {
	k8s_own=$K8S_NAME-k$1 k8s_at=$K8S_ROOM/k$1 k8s_root=$K8S_ROOM/k$1/root
	mkdir -p "$k8s_at/upper" "$k8s_at/work" "$k8s_root"
	K8S_UP="$K8S_UP k$1"
	ip netns add "$k8s_own" && ip -n "$k8s_own" link set lo up && ip -n "$K8S_NAME" link add "v$1" type veth peer name eth0 netns "$k8s_own" &&
		ip -n "$K8S_NAME" link set "v$1" master br0 up && ip -n "$k8s_own" addr add "$K8S_NET.$((10 + $1))/24" dev eth0 &&
		ip -n "$k8s_own" link set eth0 up && ip -n "$k8s_own" route add default via "$K8S_NET.1" || skip_all "no network namespace can be made here"
	mount -t overlay overlay -o "lowerdir=$TEST_IMAGES/debian-12/root,upperdir=$k8s_at/upper,workdir=$k8s_at/work" "$k8s_root" || skip_all "no overlay can be mounted here"
	install -d -m 700 "$k8s_root/root/.ssh"
	cp "$TMP/key.pub" "$k8s_root/root/.ssh/authorized_keys"
	echo "${2:-k$1}" >"$k8s_root/etc/hostname"
	ssh-keygen -q -A -f "$k8s_root" >/dev/null
	printf '%s %s\n' "$K8S_NET.$((10 + $1))" "$(cut -d' ' -f1,2 "$k8s_root/etc/ssh/ssh_host_ed25519_key.pub")" >>"$TMP/known"
	cat >>"$TMP/ssh_config" <<-END
		Host k$1
			HostName $K8S_NET.$((10 + $1))
			IdentityFile $TMP/key
			IdentitiesOnly yes
			UserKnownHostsFile $TMP/known
			GlobalKnownHostsFile none
			StrictHostKeyChecking yes
			LogLevel ERROR
	END
	k8s_prepare
	k8s_boot "$1"
}

# What the manager of the containers' groups and kubelet must be able to write. Numbers of the kernel that all share are
# shown as kubelet wants them, in files of the node's own, and are not changed.
k8s_prepare() {
	cat >"$k8s_root/etc/systemd/system/k8s-test.service" <<-'U'
		[Unit]
		DefaultDependencies=no
		Before=sysinit.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/etc/k8s-test
	U
	cat >"$k8s_root/etc/k8s-test" <<-'S'
		#!/bin/sh
		for c in memory cpuset devices freezer cpu cpuacct pids blkio; do [ ! -d /sys/fs/cgroup/$c ] || mount -o remount,bind,rw /sys/fs/cgroup/$c; done
		mkdir -p /run/k8s-test/proc
		mount -t proc proc /run/k8s-test/proc && mount --bind /run/k8s-test/proc/sys/net /proc/sys/net
		for pair in kernel/panic=10 kernel/panic_on_oops=1 vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
			file=/run/k8s-test/$(echo "${pair%%=*}" | tr / _)
			echo "${pair#*=}" >"$file"
			mount --bind "$file" "/proc/sys/${pair%%=*}"
		done
		umount /run/k8s-test/proc
		exit 0
	S
	chmod 755 "$k8s_root/etc/k8s-test"
	mkdir -p "$k8s_root/etc/systemd/system/sysinit.target.wants"
	ln -sf ../k8s-test.service "$k8s_root/etc/systemd/system/sysinit.target.wants/k8s-test.service"
	[ -z "${TEST_K3S-}" ] || k8s_prepare_k3s
}
# Without CAP_SYS_RESOURCE nobody may lower oom_score_adj, which containerd has to know: by the template that K3s takes.
k8s_prepare_k3s() {
	printf "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n" >"$k8s_root/etc/k8s-test.toml"
	cat >"$k8s_root/etc/k8s-test-oom" <<-'S'
		#!/bin/sh
		mkdir -p /var/lib/rancher/k3s/agent/etc/containerd
		printf 'imports = ["/etc/k8s-test.toml"]\n{{ template "base" . }}\n' >/var/lib/rancher/k3s/agent/etc/containerd/config-v3.toml.tmpl
	S
	chmod 755 "$k8s_root/etc/k8s-test-oom"
	for k8s_unit in k3s k3s-agent; do
		mkdir -p "$k8s_root/etc/systemd/system/$k8s_unit.service.d"
		printf '[Service]\nExecStartPre=/etc/k8s-test-oom\n' >"$k8s_root/etc/systemd/system/$k8s_unit.service.d/test.conf"
	done
}

# It enters its own group in each hierarchy before it becomes nspawn: else the managers of all nodes share one.
k8s_boot() {
	for k8s_group in $K8S_GROUPS; do
		mkdir -p "$k8s_group/$k8s_own" 2>/dev/null || continue
		[ ! -e "$k8s_group/$k8s_own/cpuset.cpus" ] || { cat "$k8s_group/cpuset.cpus" >"$k8s_group/$k8s_own/cpuset.cpus"; cat "$k8s_group/cpuset.mems" >"$k8s_group/$k8s_own/cpuset.mems"; } 2>/dev/null
	done
	# shellcheck disable=SC2016 # in the other shell
	setsid bash -c 'for group in $2; do [ ! -e "$group/$1/cgroup.procs" ] || echo $$ >"$group/$1/cgroup.procs"; done; shift 2; exec systemd-nspawn "$@"' _ \
		"$k8s_own" "$K8S_GROUPS" --quiet --boot --directory="$k8s_root" --machine="$k8s_own" --hostname="$(cat "$k8s_root/etc/hostname")" --register=no --keep-unit --settings=no \
		--network-namespace-path="/run/netns/$k8s_own" --resolv-conf=off --timezone=off --link-journal=no --console=pipe --capability=all \
		--system-call-filter=@known --bind=/dev/kmsg >"$k8s_at/log" 2>&1 </dev/null 8>&- &
	disown
}

# All in its groups are ours.
k8s_pids() {
	for k8s_group in $K8S_GROUPS; do
		[ ! -d "$k8s_group/$1" ] || find "$k8s_group/$1" -name cgroup.procs -exec cat {} + 2>/dev/null
	done | sort -un
}
k8s_gone() {
	k8s_left=$(k8s_pids "$1")
	[ -n "$k8s_left" ] || return 0
	# shellcheck disable=SC2086 # numbers
	kill -9 $k8s_left 2>/dev/null
	return 1
}
k8s_clear() {
	k8s_here=0
	for k8s_group in $K8S_GROUPS; do
		[ -d "$k8s_group/$1" ] || continue
		find "$k8s_group/$1" -depth -type d -exec rmdir {} + 2>/dev/null
		[ ! -d "$k8s_group/$1" ] || k8s_here=1
	done
	return $k8s_here
}
# k8s_restart NODE: as a power cut and a boot. Its links go as they would; the one to the hub is its network card.
k8s_restart() {
	k8s_own=$K8S_NAME-$1 k8s_at=$K8S_ROOM/$1 k8s_root=$K8S_ROOM/$1/root
	wait_for 20 k8s_gone "$k8s_own" && wait_for 20 k8s_clear "$k8s_own" || return 1
	for k8s_link in cni0 flannel.1; do ip -n "$k8s_own" link del "$k8s_link" 2>/dev/null; done
	k8s_boot "${1#k}"
	wait_for 60 in_node "$1" true && wait_for 60 k8s_booted "$1"
}
k8s_down() {
	for k8s_n in $K8S_UP; do
		wait_for 20 k8s_gone "$K8S_NAME-$k8s_n"
		mountpoint -q "$K8S_ROOM/$k8s_n/root" && { umount -R "$K8S_ROOM/$k8s_n/root" 2>/dev/null || umount -R -l "$K8S_ROOM/$k8s_n/root"; }
		ip netns del "$K8S_NAME-$k8s_n" 2>/dev/null
		wait_for 20 k8s_clear "$K8S_NAME-$k8s_n"
	done
	K8S_UP=''
	ip netns del "$K8S_NAME" 2>/dev/null
}

from_hub() { ip netns exec "$K8S_NAME" "$@"; }
in_node() { in_node_stdin "$@" </dev/null; }
in_node_stdin() { from_hub ssh -F "$TMP/ssh_config" -o BatchMode=yes -o ConnectTimeout=5 "root@$1" "$2" 2>"$TMP/.ssh.$1"; }
picture() { in_node "$1" "$(cat "$SRC/tests/provision/picture.sh")"; }
