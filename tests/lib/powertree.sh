# SPDX-License-Identifier: Apache-2.0
# A machine's sys and proc for tests of power limits, after tap.sh:
#     powertree DIR N            N cards of AMD (0000:01:00.0 …) that take 75 to 350 W and have 300 W, and a processor
#                                without a limit, which counts as 128 W
#     powertree_cap DIR I        the limit of card I in watts; powertree_cap DIR I WATTS: somebody else sets it
#     powertree_refuses DIR I    it shows its limit and cannot be set; powertree_obeys DIR I: it can again

# powertree_nvidia DIR         one of NVIDIA instead, of tests/lib/fakenvml and fakecuda: 10 to 600 W, and has 450 W
# powertree_nvidia_cap DIR     its limit in milliwatts, where somebody set one

powertree_nvidia() {
	powertree "$1" 0
	powertree_at=$(powertree_card "$1" 0)
	mkdir -p "$powertree_at" "$1/lib" "$1/state"
	echo 0x10de >"$powertree_at/vendor"
	echo 0x2684 >"$powertree_at/device"
	echo 0x030000 >"$powertree_at/class"
	ln -s ../../../bus/pci/drivers/nvidia "$powertree_at/driver"
	ln -s "$BUILD/tests/lib/.libs/fakenvml.so" "$1/lib/libnvidia-ml.so.1"
	ln -s "$BUILD/tests/lib/.libs/fakecuda.so" "$1/lib/libcuda.so.1"
	FAKE_NVML_STATE=$1/state
	export FAKE_NVML_STATE
}
powertree_nvidia_cap() { cat "$1/state/limit-0" 2>/dev/null; }

powertree_card() { printf '%s/sys/bus/pci/devices/0000:0%d:00.0' "$1" $(($2 + 1)); }

powertree() {
	mkdir -p "$1/proc" "$1/sys/devices/system/cpu"
	printf 'processor\t: 0\nmodel name\t: AMD Ryzen 7 7700X 8-Core Processor\n' >"$1/proc/cpuinfo"
	echo 0-15 >"$1/sys/devices/system/cpu/online"
	powertree_i=0
	while [ $powertree_i -lt "$2" ]; do
		powertree_at=$(powertree_card "$1" $powertree_i)
		mkdir -p "$powertree_at/hwmon/hwmon3"
		echo 0x1002 >"$powertree_at/vendor"
		echo 0x744c >"$powertree_at/device"
		echo 0x030000 >"$powertree_at/class"
		ln -s ../../../bus/pci/drivers/amdgpu "$powertree_at/driver"
		echo 300000000 >"$powertree_at/hwmon/hwmon3/power1_cap"
		echo 300000000 >"$powertree_at/hwmon/hwmon3/power1_cap_default"
		echo 350000000 >"$powertree_at/hwmon/hwmon3/power1_cap_max"
		echo 75000000 >"$powertree_at/hwmon/hwmon3/power1_cap_min"
		echo 40000000 >"$powertree_at/hwmon/hwmon3/power1_average"
		powertree_i=$((powertree_i + 1))
	done
}

powertree_cap() {
	powertree_at=$(powertree_card "$1" "$2")/hwmon/hwmon3/power1_cap
	[ -z "${3-}" ] || echo "${3}000000" >"$powertree_at"
	echo $(($(cat "$powertree_at") / 1000000))
}

# Nobody writes through a link there, not even root.
powertree_refuses() {
	powertree_at=$(powertree_card "$1" "$2")/hwmon/hwmon3
	mv "$powertree_at/power1_cap" "$powertree_at/.cap" && ln -s .cap "$powertree_at/power1_cap"
}
powertree_obeys() {
	powertree_at=$(powertree_card "$1" "$2")/hwmon/hwmon3
	rm "$powertree_at/power1_cap" && mv "$powertree_at/.cap" "$powertree_at/power1_cap"
}
