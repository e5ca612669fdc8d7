# SPDX-License-Identifier: Apache-2.0
want() { printf '%s on %s\n' "$S_word" "$NP_HOST" | np_file /etc/tiny.conf 0644 root:root; }
verify() { if [ -s /etc/tiny.conf ]; then np_ok "the file is there"; else np_bad "the file is not there"; fi; }
