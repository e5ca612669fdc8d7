# SPDX-License-Identifier: Apache-2.0

check() { [ ! -e /etc/slurm/slurm.conf ] || np_give_hash slurm-conf "$(np_hash /etc/slurm/slurm.conf)"; }
apply() { np_give slurm-conf </etc/slurm/slurm.conf; }
