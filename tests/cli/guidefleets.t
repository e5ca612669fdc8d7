#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What doc/fleets.md tells people to type works when it is typed, line by line, on eight hosts that share nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/sshd.sh"
. "$SRC/tests/lib/treehosts.sh"
. "$SRC/tests/lib/guide.sh"
treehosts_up 8 || exit 1
mkdir -m 700 "$HOME/.ssh" && cp "$SSHD_CONFIG" "$HOME/.ssh/config"
at_exit 'nanopod keep stop >/dev/null 2>&1'
mkdir "$GUIDE/conf" "$GUIDE/per-host" "$GUIDE/back"
head -c 3000000 /dev/urandom >"$GUIDE/app.tar"
echo setting >"$GUIDE/conf/app.yaml"
for n in 1 2 3 4 5 6 7 8; do echo "for n$n" >"$GUIDE/per-host/n$n.txt"; done

guide_run doc/fleets.md
# And it did what the page says.
is "$(cat "$TREE"/n*/home/app.tar | sha256sum)" "$(for n in 1 2 3 4 5 6 7 8; do cat "$GUIDE/app.tar"; done | sha256sum)" \
	"each host has the file"
is "$(cat "$TREE/n3/home/mine.txt")" "for n3" "and its own"
is "$(ls "$GUIDE/back" | wc -l)" 8 "what was fetched lies in a folder for each host"
is "$(cat "$GUIDE"/out/*.stdout | grep -c Linux)" 8 "what was saved is there for each host"
none_kept() { [ "$(nanopod keep -o json)" = "[]" ]; }
ok "and no connection stays open" wait_for 20 none_kept
done_testing
