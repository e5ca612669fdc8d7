#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where homes are: in /shared only if that is one file system on all members. What the machine says of it is a double's;
# tests/daemon/shared-ns.t has the folder itself, tests/provision/people.t the stack on nodes.
. "$(dirname "$0")/../lib/tap.sh"
mounted=yes type=ext2/ext3 id=abc rows=''
mountpoint() { [ $mounted = yes ]; }
stat() { case $3 in %T) echo "$type" ;; %i) echo "$id" ;; esac; }
np_rows() { printf "$rows"; }
. "$SRC/stacks/users/people.sh"
rows='1\tn1\t10.0.0.1\tx\tshared=abc\n2\tn2\t10.0.0.2\tx\tshared=abc\n'
is "$(homes)" /shared/home "one disk below all members"
rows='1\tn1\t10.0.0.1\tx\tshared=abc\n2\tn2\t10.0.0.2\tx\tshared=abd\n'
is "$(homes)" /home "a disk on each of two machines is not shared"
rows='1\tn1\t10.0.0.1\tx\tshared=abc\n2\tn2\t10.0.0.2\tx\n'
is "$(homes)" /home "nor is one that a member lacks"
type=nfs
is "$(homes)" /shared/home "a network's is"
mounted=no
is "$(homes)" /home "without one, each has its own"
S_home=/data/people/
is "$(homes)" /data/people "unless the cluster file says where"
done_testing
