# SPDX-License-Identifier: Apache-2.0
# Times of the benches beside it, and how they are told. After tap.sh (bash).
TIMES=$TMP/times   # lines "NODES TOOL WHAT WALL CPU CONNECTIONS"
: >"$TIMES"

# timed COMMAND…: TIMED_WALL and TIMED_CPU, of it and of what it waited for, in seconds.
timed() {
	TIMEFORMAT='%R %U %S'
	{ time "$@" >"$TMP/timed.out" 2>&1; timed_rc=$?; } 2>"$TMP/timed"
	read -r TIMED_WALL timed_user timed_system < <(tail -n 1 "$TMP/timed")
	TIMED_CPU=$(awk -v u="$timed_user" -v s="$timed_system" 'BEGIN { print u + s }')
	cat "$TMP/timed.out"
	return $timed_rc
}
keep() { echo "$1 $2 $3 $TIMED_WALL $TIMED_CPU $4" >>"$TIMES"; }

# Medians, and how many times as much each of the others takes.
times_tell() {
	awk '
		function median(list,	n, v, i, j, t) {
			n = split(list, v, " ")
			for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
			return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		!($2 in known) { known[$2] = 1; name[++tools] = $2 }
		{ key = $1 " " $3; if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
		  for (i = 4; i <= 6; i++) { at = key " " $2 " " i; all[at] = all[at] " " $i }; runs[key, $2]++ }
		END {
			printf "%-6s %-7s %-8s %4s %10s %10s %12s\n", "nodes", "run", "tool", "n", "wall, s", "CPU, s", "connections"
			for (k = 1; k <= keys; k++) {
				split(order[k], part, " ")
				split("", m)
				for (t = 1; t <= tools; t++) {
					tool = name[t]
					if (!((order[k] " " tool " 4") in all)) continue
					for (i = 4; i <= 6; i++) m[tool, i] = median(all[order[k] " " tool " " i])
					printf "%-6s %-7s %-8s %4d %10.2f %10.2f %12d\n", part[1], part[2], tool, runs[order[k], tool], m[tool, 4], m[tool, 5], m[tool, 6]
				}
				for (t = 1; t <= tools; t++) {
					tool = name[t]
					if (tool == "nanopod" || !(("nanopod", 4) in m) || !((tool, 4) in m)) continue
					want = part[2] == "first" ? 2 : tool == "ansible" ? 20 : 10
					wall = m[tool, 4] / (m["nanopod", 4] + 0.0001)
					cpu = m[tool, 5] / (m["nanopod", 5] + 0.0001)
					said = (wall >= want) ? "reached" : "NOT reached"
					printf "       %-7s %s takes %.1f times the wall time, %.1f times the CPU; to reach: %d times: %s\n", "", tool, wall, cpu, want, said
				}
			}
		}' "$TIMES"
}
