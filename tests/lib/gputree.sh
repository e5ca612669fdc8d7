# SPDX-License-Identifier: Apache-2.0
# A machine's sys and proc with GPUs of NVIDIA that are files, after tap.sh and agentd.sh:
#     gputree BUS…      in $ROOT: this machine's processors and memory, an RTX 4090 at 0000:BUS:00.0 each, and a stand-in
#                       for NVIDIA's library; its driver leaves and takes a GPU as it is told ($FAKE_BUS)
#     put FILE TEXT     a file of it

ROOT=$TMP/root
export FAKE_NVML=good FAKE_NVML_STATE=$TMP/state FAKE_BUS=$ROOT
put() { mkdir -p "$(dirname "$ROOT/$1")" && printf '%s\n' "$2" >"$ROOT/$1"; }

gputree() {
	mkdir -p "$FAKE_NVML_STATE" "$ROOT/lib" "$ROOT/sys/bus/pci/drivers/nvidia"
	for gputree_file in proc/cpuinfo proc/meminfo proc/sys/kernel/osrelease sys/devices/system/cpu/online; do
		put $gputree_file "$(cat /$gputree_file)"
	done
	gputree_minor=0
	for gputree_bus; do
		gputree_at=sys/bus/pci/devices/0000:$gputree_bus:00.0
		put $gputree_at/vendor 0x10de; put $gputree_at/device 0x2684; put $gputree_at/class 0x030000
		ln -s ../../drivers/nvidia "$ROOT/$gputree_at/driver"
		: >"$ROOT/$gputree_at/reset"
		put proc/driver/nvidia/gpus/0000:$gputree_bus:00.0/information \
			"$(printf 'Model: \t NVIDIA GeForce RTX 4090\nDevice Minor: \t %d' $gputree_minor)"
		gputree_minor=$((gputree_minor + 1))
	done
	ln -s "$BUILD/tests/lib/.libs/fakenvml.so" "$ROOT/lib/libnvidia-ml.so.1"
	: >"$ROOT/sys/bus/pci/drivers/nvidia/unbind"
	: >"$ROOT/sys/bus/pci/drivers/nvidia/bind"
}
