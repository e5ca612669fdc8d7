# SPDX-License-Identifier: Apache-2.0
# For tests/bench/fanout: one file over a long, thin path (tests/bench/farpath.c): $FAR_MS there and back, $FAR_MBITS
# million bits a second. Plain HTTP by curl over the same path is what the path carries.

far_ms=${FAR_MS:-88} far_mbits=${FAR_MBITS:-200} far_mb=${FAR_MB:-100}
far_tools=${FAR_TOOLS:-http ours ours4 scp sftp rsync curl}
far_functions='far_ours far_ours4 far_scp far_sftp far_rsync far_curl far_http'

# Each copies $tmp/far.big there (put) or $tmp/at/from here (get).
far_ours() {
	local at=127.0.0.1
	local do=(env HOME="$tmp/home" "$NANOPOD" cp -l "$user" -i "$tmp/id" --port "$port" --ssh-config none
		--known-hosts "$tmp/known_far" ${FAR_OPTIONS-})
	if [ "$1" = put ]; then "${do[@]}" "$tmp/far.big" "$at:$tmp/at/to"; else "${do[@]}" "$at:$tmp/at/from" "$tmp/back"; fi
}

# Over four connections.
far_ours4() { FAR_OPTIONS="${FAR_OPTIONS-} --streams 4" far_ours "$@"; }

far_scp() {
	local do=(scp -q -F "$tmp/ssh_config") at=127.0.0.1
	if [ "$1" = put ]; then "${do[@]}" "$tmp/far.big" "$at:$tmp/at/to"; else "${do[@]}" "$at:$tmp/at/from" "$tmp/back"; fi
}

far_sftp() {
	local words="get $tmp/at/from $tmp/back"
	[ "$1" = get ] || words="put $tmp/far.big $tmp/at/to"
	printf '%s\n' "$words" | sftp -q -b - -F "$tmp/ssh_config" 127.0.0.1
}

far_rsync() {
	local do=(rsync -e "ssh -F $tmp/ssh_config") at=127.0.0.1
	if [ "$1" = put ]; then "${do[@]}" "$tmp/far.big" "$at:$tmp/at/to"; else "${do[@]}" "$at:$tmp/at/from" "$tmp/back"; fi
}

far_curl() {
	local do=(curl -sS -k -u "$user:" --key "$tmp/id" --pubkey "$tmp/id.pub") at=sftp://127.0.0.1:$port$tmp/at
	if [ "$1" = put ]; then "${do[@]}" -T "$tmp/far.big" "$at/to"; else "${do[@]}" -o "$tmp/back" "$at/from"; fi
}

far_http() {
	local at=http://127.0.0.1:$http
	if [ "$1" = put ]; then curl -sS -o "$tmp/answer" -T "$tmp/far.big" "$at/to"; else curl -sS -o "$tmp/back" "$at/from"; fi
}

far_turn() {
	local way tool size=$far_mb
	for way in put get; do
		for tool in "$@"; do
			[ "${tool%4}" != ours ] || wanted ours || continue
			have "$tool" || case $tool in ours*|http) ;; *) continue ;; esac
			key="far 1 $size ${tool/ours/nanopod}-$way"
			limit=60 one far 1 "$size" "${tool/ours/nanopod}-$way" "far_$tool" $way || continue
			[ $way = get ] && same "$tmp/far.big" "$tmp/back" || same "$tmp/far.big" "$tmp/at/to"
		done
	done
}

section_far() {
	local r direct
	farpath=$(find_built tests/bench/farpath) || { say "tests/bench/farpath is not built"; return; }
	mkdir -p "$tmp/at"
	head -c "$((far_mb * 1000000))" /dev/urandom >"$tmp/far.big"
	ln "$tmp/far.big" "$tmp/at/from"
	start_sshd
	direct=$port
	python3 "$here/peers/httpd.py" "$tmp/http.port" "$tmp/at" &
	pids="$pids $!"
	wait_for [ -s "$tmp/http.port" ]
	"$farpath" "$tmp/far.ports" "$far_ms" "$far_mbits" "127.$net.0.1:$direct" "127.0.0.1:$(cat "$tmp/http.port")" &
	pids="$pids $!"
	wait_for [ -s "$tmp/far.ports" ]
	{ read -r port; read -r http; } <"$tmp/far.ports"
	settings
	printf '[127.0.0.1]:%d %s\n' "$port" "$(cut -d' ' -f1,2 "$tmp/host.pub")" >"$tmp/known_far"
	for ((r = 0; r < runs; r++)); do far_turn $far_tools; done
	port=$direct
	stop_server
	rm -f "$tmp/far.big" "$tmp/at/from"
}

table_far() {
	awk -v shell="$(shell_cost)" '
	BEGIN { split(shell, s, " ") }
	$1 != "far" { next }
	{ order[++n] = $4; rate[$4] = $3 / ($5 - s[1]); cpu[$4] = $6 - s[2]; if ($10) bad[$4] = 1 }
	END {
		for (i = 1; i <= n; i++) {
			k = order[i]; way = k; sub(/.*-/, "", way)
			if (k in bad) printf "| %s | failed | | |\n", k
			else printf "| %s | %.1f | %.2f | %.2f |\n", k, rate[k], rate[k] / rate["http-" way], cpu[k]
		}
	}' "$tmp/medians"
}

head_far='| tool | MB/s | / HTTP | CPU s |
|---|--:|--:|--:|'
