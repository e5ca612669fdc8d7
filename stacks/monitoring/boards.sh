# SPDX-License-Identifier: Apache-2.0
# More boards for Grafana, of a folder of the user's: those of the market and its machines, say.
BOARDS=/var/lib/nanopod-dashboards/more

boards() {
	[ -n "${S_boards-}" ] && ! addon_on_k3s || return 0
	if [ "$NP_MODE" = check ]; then
		[ -d "$BOARDS" ] || np_differs "copy the boards of '$S_boards'"
	elif [ -n "$(find "$NP_UPLOAD" -name '*.json' -type f 2>/dev/null | head -n 1)" ]; then
		np_dir "$BOARDS" 0755 root:root
		rm -f "$BOARDS"/*.json
		for boards_file in $(find "$NP_UPLOAD" -name '*.json' -type f -exec basename {} \;); do
			np_file "$BOARDS/$boards_file" 0644 root:root secret <"$(find "$NP_UPLOAD" -name "$boards_file" -type f | head -n 1)" || return 1
		done
	else
		[ -d "$BOARDS" ] || { np_fail "'$S_boards' has no board (*.json)"; return 1; }
	fi
	[ -z "${NP_UPLOAD_ID-}" ] || addon_put "echo $NP_UPLOAD_ID" "$NP_STATE/brought/boards" 0644 root:root
}
check() { boards; }
apply() { boards; }
