#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What doc/clusters.md tells people to type works when it is typed, line by line: real Slurm on three fresh nodes.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/lib/guide.sh"
cluster_repo slurm
cluster_nodes 3

# The nodes have no way out, so packages come from a folder; and who types has the market's keys alone.
guide_sed="s,^nanopod provision.* slurm,& --name train --set slurm.accounting=no --airgap $CLUSTER_REPO,; s,^nanopod [a-z]*,& ${CLUSTER_WAY[*]},"
guide_run doc/clusters.md
done_testing
