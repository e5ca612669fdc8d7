# SPDX-License-Identifier: Apache-2.0
# Ports of one test alone (bash): $PORTS is the first of 40, below those that the kernel hands out, so that leftovers of a
# killed run do not collide, and below those of sshd.sh. The test and what it started hold the lock of a slot.
mkdir -p -m 1777 /tmp/nanopod-test-ports
for ((ports_slot = $$ % 200; ; ports_slot = (ports_slot + 1) % 200)); do
	{ exec {ports_held}>"/tmp/nanopod-test-ports/$ports_slot"; } 2>/dev/null || continue
	flock -n "$ports_held" && break
	exec {ports_held}>&-
done
PORTS=$((12000 + ports_slot * 40))
