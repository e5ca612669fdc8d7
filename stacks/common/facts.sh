# SPDX-License-Identifier: Apache-2.0
# Prints facts of a node as "KEY=VALUE" lines. Runs as the signed-in user, not as root; never fails, changes nothing.
# NP_PACKAGES: the packages whose versions to report. NP_GATES: the gates that stacks ask for; unset: all. A key with an unknown value is left out.
#
# hostname machine_id os_id os_version os_codename arch kernel   boot_id (one of all nodes that share a kernel)
# init systemd|sysv|none   ssh_port   hostkey (sshd's, ed25519)
# cgroup v1|v2|hybrid|none   cgroup_write yes|no (as root a group could be made; where NP_GATES has cgroup)
# cgroup_devices yes|no (devices can be denied to a group)   user_namespace yes|no (its root is not the machine's)
# cpus sockets cores threads (cores a socket, threads a core)   memory_mb swap_mb   disk_free_mb (least of /, /var, /usr/local)
# address (by which others reach it)   route yes|no (a default route)   mtu (of its interface)   resolves yes|no (its own name)
# root root|sudo|sudo-password|none
# dpkg free|held|broken   dpkg_holder "PID NAME"   candidate_PKG installed_PKG (with _ for what is no letter or digit)
# gpu_count (on PCI)   gpu_N "VENDOR MODEL PCI DRIVER"   gpu_usable (with a device node of their driver)   nouveau yes|no
# rdma_count   rdma_N "DEVICE PORT STATE RATE LINK"   secure_boot yes|no|unknown   headers yes|no
# nfs_server nfs_client fuse yes|no: the kernel can serve and mount NFS; programs can be file systems (of NP_GATES alone)
# shared (the id of the file system at /shared)
# steps "STACK.STEP STACK.STEP …" begun or done here for NP_CLUSTER   cluster: another cluster with steps here
# other_slurm other_k3s other_kubernetes: found, but not installed by nanopod   k3s_server etcd

LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset LANG LANGUAGE

say() { [ -z "$2" ] || printf '%s=%s\n' "$1" "$2"; }
# first FILE: reads its first line into $text.
first() { text=; { IFS= read -r text <"$1"; } 2>/dev/null; }
# ask KEY COMMAND…: says whether the command succeeds.
ask() { asked=$1; shift; if "$@" >/dev/null 2>&1; then say "$asked" yes; else say "$asked" no; fi; }
# facts_gate NAME: whether a stack asks for it.
facts_gate() { case " ${NP_GATES-$1} " in *" $1 "*) ;; *) return 1 ;; esac; }
may() { if [ "$user" = 0 ]; then "$@"; elif [ "$root" = sudo ]; then sudo -k -n "$@"; else return 1; fi; }

facts_system() {
	first /proc/sys/kernel/hostname; name=$text; say hostname "$name"
	first /etc/machine-id; say machine_id "$text"
	first /etc/ssh/ssh_host_ed25519_key.pub
	case $text in "ssh-ed25519 AAAA"*) text=${text#* }; say hostkey "ssh-ed25519 ${text%% *}" ;; esac
	(
		. /etc/os-release
		say os_id "${ID-}"; say os_version "${VERSION_ID-}"; say os_codename "${VERSION_CODENAME-}"
	) 2>/dev/null
	first /proc/sys/kernel/osrelease; say kernel "$text"
	ask headers test -d "/lib/modules/$text/build"
	first /proc/sys/kernel/arch; say arch "${text:-$(uname -m)}"
	if [ -d /run/systemd/system ]; then say init systemd
	elif [ -x /sbin/init ] && [ -d /etc/rc2.d ] && first /proc/1/comm && [ "$text" = init ]; then say init sysv
	else say init none
	fi
	if [ -d /sys/firmware/efi ]; then say secure_boot "$(facts_secure_boot)"; else say secure_boot no; fi
}

facts_secure_boot() {
	for file in /sys/firmware/efi/efivars/SecureBoot-*; do
		[ -r "$file" ] || continue
		case $(od -An -tu1 -j4 -N1 "$file" 2>/dev/null) in *1) echo yes ;; *) echo no ;; esac
		return
	done
	echo unknown
}

facts_root() {
	user='' root=none
	# Read /proc with the shell alone, without starting programs.
	{ while read -r key text more; do [ "$key" != Uid: ] || { user=${more%%[!0-9]*}; break; }; done </proc/self/status; } 2>/dev/null
	[ -n "$user" ] || user=$(id -u)
	if [ "$user" = 0 ]; then root=root
	elif ! command -v sudo >/dev/null; then root=none
	elif sudo -k -n true 2>/dev/null; then root=sudo
	else
		# Without a terminal, sudo tells why it refuses.
		case $(sudo -k -n true 2>&1) in *assword*) root=sudo-password ;; esac
	fi
	say root $root
}

facts_group() { mkdir "$at/nanopod.$$" && rmdir "$at/nanopod.$$"; }
facts_cgroup() {
	cgroup=none at=
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then cgroup=v2 at=/sys/fs/cgroup
	elif [ -d /sys/fs/cgroup/cpuset ] && [ -d /sys/fs/cgroup/memory ]; then
		cgroup=v1 at=/sys/fs/cgroup/cpuset
		if [ -e /sys/fs/cgroup/unified/cgroup.controllers ] && first /sys/fs/cgroup/unified/cgroup.controllers && [ -n "$text" ]; then cgroup=hybrid; fi
	fi
	say cgroup $cgroup
	first /proc/self/uid_map
	case $text in ''|*4294967295) inside=no ;; *) inside=yes ;; esac
	say user_namespace $inside
	[ -n "$at" ] || return 0
	# The kernel takes programs that deny devices from the machine's root alone.
	case $inside in yes) say cgroup_devices no ;; *) say cgroup_devices yes ;; esac
	facts_gate cgroup || return 0
	if [ "$user" = 0 ]; then ask cgroup_write facts_group; else ask cgroup_write may sh -c "mkdir $at/nanopod.$$ && rmdir $at/nanopod.$$"; fi
}

# Reads the kernel's tables with one program: processors, memory, disks, and who holds locks (it takes none itself).
facts_machine() {
	# The host of a node tells what was sold, whatever the kernel shows of the machine below.
	sold_cpus=0 sold_memory=0
	first /proc/sys/kernel/random/boot_id; boot=$text
	while IFS='=' read -r key value; do
		case $key=${value:-x} in
		*[!a-z_0-9=-]*) ;;
		cpus=*) sold_cpus=$value ;;
		memory_mb=*) sold_memory=$value ;;
		boot_id=*) boot=$value ;;
		esac
	done 2>/dev/null <"${NP_RESOURCES:-/etc/nanopod/resources}"
	say boot_id "$boot"
	set -- /proc/self/status /proc/cpuinfo /proc/meminfo
	[ ! -r /proc/locks ] || set -- "$@" /proc/locks
	df -Pk / /var /usr/local 2>/dev/null | awk -v sold_cpus="$sold_cpus" -v sold="$sold_memory" '
		# A container sees all processors even if it may use only some.
		FILENAME == "/proc/self/status" {
			if (/^Cpus_allowed_list:/) for (i = split($2, range, ","); i > 0; i--) { split(range[i], end, "-"); allowed += (end[2] == "" ? end[1] : end[2]) - end[1] + 1 }
			next
		}
		FILENAME == "/proc/cpuinfo" {
			n = index($0, ":"); value = substr($0, n + 2)
			if (/^processor/) cpus++
			else if (/^physical id/) { package = value; if (!(package in seen)) { seen[package] = 1; sockets++ } }
			else if (/^core id/) { if (!((package, value) in core)) { core[package, value] = 1; cores++ } }
			next
		}
		FILENAME == "/proc/meminfo" {
			if (/^MemTotal/) { memory = int($2 / 1024); if (sold > 0 && sold < memory) memory = sold; printf "memory_mb=%d\n", memory }
			if (/^SwapTotal/) printf "swap_mb=%d\n", $2 / 1024
			next
		}
		FILENAME == "/proc/locks" { n = split($6, at, ":"); if ($2 != "FLOCK" && $5 + 0 > 0) held = held " " $5 ":" at[n]; next }
		FNR > 1 && (!disks++ || $4 < least) { least = $4 }
		END {
			if (sold_cpus > 0 && (!allowed || allowed > sold_cpus)) allowed = sold_cpus
			if (!sockets) sockets = 1
			if (!cores) cores = cpus
			if (allowed > 0 && allowed < cpus) { cpus = cores = allowed; sockets = 1 }
			if (cpus % cores || cores % sockets) { sockets = 1; cores = cpus }
			printf "cpus=%d\nsockets=%d\ncores=%d\nthreads=%d\n", cpus, sockets, cores / sockets, cpus / cores
			if (disks) printf "disk_free_mb=%d\n", least / 1024
			printf "held=%s", held
		}' "$@" -
}

# The source address of the default route; without one, that of this connection. The device is the address' own.
facts_network() {
	[ -z "${SSH_CONNECTION-}" ] || { set -- $SSH_CONNECTION; ssh_address=$3; say ssh_port "$4"; }
	address='' device=''
	facts_default
	[ -n "$route" ] || route=$(ip -o -6 route show default 2>/dev/null)
	if [ -n "$route" ]; then
		say route yes
		facts_way "$(ip -o route get 192.0.2.1 2>/dev/null)"
		[ -n "$address" ] || facts_way "$(ip -o -6 route get 2001:db8::1 2>/dev/null)"
	else
		say route no
	fi
	[ -n "$address" ] || address=${ssh_address-}
	[ -n "$address" ] || address=$(ip -o addr show scope global 2>/dev/null | awk '{ sub("/.*", "", $4); print $4; exit }')
	say address "$address"
	[ -n "$device" ] || device=$(ip -o addr show 2>/dev/null | awk -v a="$address" '{ b = $4; sub("/.*", "", b) } b == a { print $2; exit }')
	[ -z "$device" ] || { first "/sys/class/net/${device%@*}/mtu"; say mtu "$text"; }
	facts_resolves
}
# Sets $route to the device of a default route of IPv4, from the kernel's table: ip(8) is a program more to start.
facts_default() {
	while read -r route text gateway flags more; do
		set -- $more
		case $text:${4-}:$flags in 00000000:00000000:00*) return ;; esac
	done </proc/net/route
	route=$(ip -o route show default)
} 2>/dev/null
# /etc/hosts usually knows the name. A dead name server would take too long, so then the value stays unknown.
facts_resolves() {
	{ while read -r text more; do
		case "$text ${more%%#*} " in '#'*) ;; *[[:space:]]"$name"[[:space:]]*) say resolves yes; return ;; esac
	done </etc/hosts; } 2>/dev/null
	timeout 3 getent hosts "$name" >/dev/null 2>&1
	case $? in 0) say resolves yes ;; 124) ;; *) say resolves no ;; esac
}
facts_way() {
	# shellcheck disable=SC2086
	set -- $1
	while [ $# -gt 1 ]; do
		case $1 in src) address=$2 ;; dev) device=$2 ;; esac
		shift
	done
}

# Who has a lock of dpkg, among those who have any ($held: "PID:INODE …").
facts_holder() {
	holder=''
	[ -n "$held" ] || return 0
	for inode in $(stat -c %i /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock 2>/dev/null); do
		case "$held " in *":$inode "*) holder=${held%%":$inode "*} holder=${holder##* } ;; esac
	done
}
facts_dpkg() {
	facts_holder
	if [ -n "$holder" ]; then
		first "/proc/$holder/comm"; say dpkg held; say dpkg_holder "$holder $text"
	elif [ -e /var/lib/dpkg/updates/0000 ] || grep -qE '^Status: [a-z]+ [a-z]+ (unpacked|half-configured|half-installed|triggers-awaited|triggers-pending)' /var/lib/dpkg/status 2>/dev/null; then
		say dpkg broken
	else
		say dpkg free
	fi
}

facts_packages() {
	[ -n "${NP_PACKAGES-}" ] || return 0
	apt-cache policy $NP_PACKAGES 2>/dev/null | awk '
		/^[a-z0-9]/ { name = $1; sub(/:$/, "", name); gsub(/[^a-zA-Z0-9]/, "_", name); name = tolower(name) }
		$1 == "Installed:" && $2 != "(none)" { print "installed_" name "=" $2 }
		$1 == "Candidate:" && $2 != "(none)" { print "candidate_" name "=" $2 }'
}

# ---- Devices -----------------------------------------------------------------------------------------------------
# Short names of well-known models; others get their PCI number.
gpu_model() {
	case $1 in
	nvidia)
		case $2 in
		2330|2331|2321|2322|2324|2336|2339|233a|2342) echo h100 ;; 2335) echo h200 ;; 2348) echo gh200 ;;
		2901|2920|2941) echo b200 ;; 3182) echo b300 ;; 29bb|2bb5) echo rtx6000 ;;
		20b0|20b1|20b2|20b3|20b5|20f1|20f3) echo a100 ;; 20b7) echo a30 ;; 2235) echo a40 ;; 2236) echo a10 ;; 2237) echo a10g ;;
		26b5) echo l40 ;; 26b9) echo l40s ;; 27b8) echo l4 ;; 1db1|1db4|1db5|1db6) echo v100 ;; 1eb8) echo t4 ;;
		2684) echo rtx4090 ;; 2204) echo rtx3090 ;; 2b85) echo rtx5090 ;; *) echo "$2" ;;
		esac ;;
	amd)
		case $2 in
		74a0) echo mi300a ;; 74a1|74b5) echo mi300x ;; 74a5) echo mi325x ;; 75a0|75b0) echo mi350x ;; 75a3|75b3) echo mi355x ;;
		7408|740c) echo mi250x ;; 740f) echo mi210 ;; 738c|738e) echo mi100 ;; *) echo "$2" ;;
		esac ;;
	intel) case $2 in 0bd5|0bda|0bd9|0bdb) echo max ;; 56c0|56c1) echo flex ;; *) echo "$2" ;; esac ;;
	esac
}

# PCI class 03 is a display. Other vendors' chips are for server management; graphics in a processor do not count either.
# AMD's Instinct have class 12, processing accelerators.
facts_gpu() {
	sys=${NP_SYS-/sys} dev=${NP_DEV-/dev}
	count=0 usable=0 nvidia=0
	for device in "$sys"/bus/pci/devices/*; do
		first "$device/class"
		class=$text
		first "$device/vendor"
		case $class:$text in 0x0300*|0x0302*|0x0380*|0x1200*:0x1002) ;; *) continue ;; esac
		case $text in 0x10de) vendor=nvidia ;; 0x1002) vendor=amd ;; 0x8086) vendor=intel ;; *) continue ;; esac
		first "$device/device"; id=${text#0x}
		model=$(gpu_model $vendor "$id")
		# An unnamed device of Intel or AMD on bus 0 is in the processor or on the board.
		case $vendor:${device##*/}:$model in intel:0000:00:*:"$id"|amd:0000:00:*:"$id") continue ;; esac
		driver=none
		[ ! -e "$device/driver" ] || { driver=$(readlink "$device/driver"); driver=${driver##*/}; }
		say gpu_$count "$vendor $model ${device##*/} $driver"
		case $driver in
		nvidia) [ ! -e "$dev/nvidia$nvidia" ] || usable=$((usable + 1)) ;;
		amdgpu|xe|i915) for node in "$device"/drm/renderD*; do [ ! -e "$dev/dri/${node##*/}" ] || usable=$((usable + 1)); done ;;
		esac
		[ $vendor != nvidia ] || nvidia=$((nvidia + 1))
		count=$((count + 1))
	done
	say gpu_count $count
	[ $count = 0 ] || say gpu_usable $usable
	ask nouveau test -d "$sys/module/nouveau"
}

facts_rdma() {
	count=0
	for port in "${NP_SYS-/sys}"/class/infiniband/*/ports/*; do
		[ -r "$port/state" ] || continue
		device=${port%/ports/*}
		first "$port/state"; state=${text##*: }
		first "$port/rate"; rate=${text%% *}
		first "$port/link_layer"
		say rdma_$count "${device##*/} ${port##*/} $state $rate $text"
		count=$((count + 1))
	done
	say rdma_count $count
}

# A kernel has a file system already, or its modules are here to load.
facts_filesystem() {
	case $filesystems in *" $1 "*) return ;; esac
	! command -v modprobe >/dev/null || modprobe -n -q "$2"
}
# A container may have the device without being allowed to open it.
facts_fuse() { if [ -e "${NP_DEV-/dev}/fuse" ]; then (: <>"${NP_DEV-/dev}/fuse"); else facts_filesystem fuse fuse; fi; }
facts_mounts() {
	filesystems=' '
	{ while read -r text more; do filesystems="$filesystems$text $more "; done <"${NP_FILESYSTEMS-/proc/filesystems}"; } 2>/dev/null
	! facts_gate nfs || { ask nfs_server facts_filesystem nfsd nfsd; ask nfs_client facts_filesystem nfs4 nfs; }
	! facts_gate fuse || ask fuse facts_fuse
	[ ! -d /shared ] || ! mountpoint -q /shared 2>/dev/null || say shared "$(stat -f -c %i /shared 2>/dev/null)"
}

# Markers of steps: "done TIME CLUSTER", "begun CLUSTER".
facts_steps() {
	names='' other=''
	for file in /var/lib/nanopod/steps/*.*; do
		case $file in *.owed|*.set|*.table|*.took|*.new) continue ;; esac
		[ ! -r "$file" ] || first "$file"
		[ -r "$file" ] && [ -n "$text" ] || continue
		case ${NP_CLUSTER:-${text##* }} in
		"${text##* }") [ ${#names} -gt 3900 ] || names="$names ${file##*/}" ;;
		*) other=${text##* } ;;
		esac
	done
	say steps "${names# }"
	say cluster "$other"
}

# Files named in the undo ledgers, which belong to root, are ours; all others are somebody else's.
facts_others() {
	ours=' '
	for file in /var/lib/nanopod/undo/*; do ours="$ours${file##*/} "; done
	case $ours in *" slurm "*) ;; *)
		for name in slurmctld slurmd slurmdbd; do
			if command -v $name >/dev/null; then say other_slurm "$(command -v $name)"; break; fi
		done ;;
	esac
	case $ours in *" k3s "*) ;; *)
		if command -v k3s >/dev/null; then say other_k3s "$(command -v k3s)"
		elif [ -e /etc/rancher/k3s/k3s.yaml ]; then say other_k3s /etc/rancher/k3s/k3s.yaml
		fi
		for name in kubelet kubeadm rke2 microk8s k0s; do
			if command -v $name >/dev/null; then say other_kubernetes "$(command -v $name)"; break; fi
		done ;;
	esac
	! may test -d /var/lib/rancher/k3s/server/db/etcd/member 2>/dev/null || say k3s_server etcd
}

facts_root
facts_system
facts_cgroup
machine=$(facts_machine)
held=${machine##*held=}
printf '%s' "${machine%held=*}"
facts_network
facts_dpkg
facts_packages
facts_gpu
facts_rdma
facts_mounts
facts_steps
facts_others
exit 0
