# SPDX-License-Identifier: Apache-2.0
want() { echo last | np_file /etc/tiny.last 0644 root:root; }
