# SPDX-License-Identifier: Apache-2.0
. "$folder/common/charts.inc"
bundle_chart node-feature-discovery "$(bundle_version nfd)" "$(bundle_repo repo-nfd)"
bundle_chart cert-manager "$(bundle_version cert-manager)" "$(bundle_repo repo-cert-manager)"
bundle_chart gpu-operator "$(bundle_version nvidia)" "$(bundle_repo repo-nvidia)"
bundle_chart gpu-operator-charts "$(bundle_version amd)" "$(bundle_repo repo-amd)"
bundle_chart intel-device-plugins-operator "$(bundle_version intel)" "$(bundle_repo repo-intel)"
bundle_chart intel-device-plugins-gpu "$(bundle_version intel)" "$(bundle_repo repo-intel)"
bundle_say "this bundle lacks the images of these charts: add archives of them (.tar, .tar.gz, .tar.zst) with '--from FOLDER', or name a mirror in k3s.registries"
