# SPDX-License-Identifier: Apache-2.0
# For tests/bench/fanout --data FOLDER: what the tables and charts of doc/performance.md are made of. A file there has the
# page's columns, by tabs, and when and on which machine each row was measured. Rows of this run replace those of an
# earlier one with the same first cells, others stay.

data_when() {
	printf '%s, %s cores of %s, load %s, medians of %s' "$(date -u +%F)" "$(nproc)" \
		"$(sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo)" "$(cut -d' ' -f1 /proc/loadavg)" "$1"
}

# data_merge FILE CELLS: rows on standard input, into the file. The first CELLS cells tell which rows replace which.
data_merge() {
	awk -F '\t' -v cells="$2" '
	function key(    i, k) { k = "/"; for (i = 1; i <= cells; i++) k = k "\t" $i; return k }
	FNR == NR { k = key(); fresh[k] = fresh[k] $0 "\n"; if (!(k in seen)) { order[++n] = k; seen[k] = 1 }; next }
	/^#/ || !headed { print; headed += !/^#/; next }
	{ k = key(); if (!(k in seen)) { print; next }; printf "%s", fresh[k]; fresh[k] = "" }
	END { for (i = 1; i <= n; i++) printf "%s", fresh[order[i]] }' - "$1" >"$1.new" && mv "$1.new" "$1"
}

data_names='
	function name(t) {
		return t == "xargs-ssh" ? "xargs -P ssh" : t == "ssh-ControlMaster" ? "ssh, ControlMaster" : t == "pdsh" ? "pdsh -R ssh" : t
	}
	function number(x) { return sprintf(x < 10 ? "%.2f" : "%.1f", x) }
	function many(n) { return n >= 1000 ? sprintf("%d,%03d", n / 1000, n % 1000) : n }'

# data_run SECTION SERVER: `true` on many hosts.
data_run() {
	awk -v want="$1" -v server="$2" -v shell="$(shell_cost)" -v when="$(data_when "$runs")" "$data_names"'
	BEGIN { split(shell, s, " ") }
	$1 == want && !$10 {
		id = $2 " " $3; wall = $5 - s[1]; cpu = ($6 - s[2]) * 1000 / $2
		if ($4 == "bareloop") { bare_wall[id] = wall; bare_cpu[id] = cpu; next }
		n++; at[n] = id; hosts[n] = many($2) ", " many($3); tool[n] = name($4); w[n] = wall; c[n] = cpu
	}
	END {
		for (i = 1; i <= n; i++)
			if (at[i] in bare_cpu)
				printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", hosts[i], server, tool[i], number(c[i]), number(c[i] / bare_cpu[at[i]]), number(w[i]), number(w[i] / bare_wall[at[i]]), when
	}' "$tmp/medians" | sort -t "$(printf '\t')" -s -k 1,1 -k 4,4g
}

# `true` cold beside peers of other languages: all of them, or none.
data_languages() {
	awk -v shell="$(shell_cost)" -v when="$(data_when 5)" "$data_names"'
	BEGIN { split(shell, s, " ") }
	$1 != "peers" || $4 == "bareloop" || $10 { next }
	{ c = ($6 - s[2]) * 1000 }
	$2 == 1 { alone[$4] = c; next }
	{ n++; tool[n] = $4; wall[n] = $5 - s[1]; each[n] = c / $2; more[n] = (c - alone[$4]) / ($2 - 1); if ($4 == "nanopod") us = n }
	END {
		for (i = 1; us && i <= n; i++)
			printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name(tool[i]), number(each[i]), number(each[i] / each[us]), number(more[i]), number(more[i] / more[us]), number(wall[i]), when
	}' "$tmp/medians"
}

write_data() {
	if grep -q '^light ' "$results"; then data_run light light | data_merge "$data/run.tsv" 2; fi
	if grep -q '^sshd ' "$results"; then data_run sshd OpenSSH | data_merge "$data/run.tsv" 2; fi
	if grep -q '^peers ' "$results"; then data_languages | data_merge "$data/languages.tsv" 0; fi
}
