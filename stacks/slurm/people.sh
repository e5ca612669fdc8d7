# SPDX-License-Identifier: Apache-2.0
# The people of the cluster file (stack 'users') and the accounts of the settings, in Slurm's database: who shares the
# cluster how. Whoever left the file keeps his usage there, for the day he comes back.

file=$NP_STATE/people
told=$NP_STATE/slurm-people

manage() { timeout 60 sacctmgr -n -P "$@"; }
# setting accounts|qos NAME WORD: what those maps have of one.
setting() { eval "printf '%s\n' \"\${S_$1_$(printf '%s' "$2" | tr -c 'A-Za-z0-9\n' _)_$3-}\""; }
# Each line with '-' for what is empty, because `read` takes several tabs for one.
filled() { awk -F '\t' -v OFS='\t' -v n="$1" '{ for (i = 1; i <= n; i++) if ($i == "") $i = "-"; print }'; }

# "KIND NAME PARENT SHARES LIMITS" a line (tabs): accounts before those whose parent they are, then users.
wanted() {
	{
		for name in ${S_accounts-}; do
			parent=$(setting accounts "$name" parent)
			printf 'account\t%s\t%s\t%s\t%s\n' "$name" "${parent:-root}" "$(setting accounts "$name" shares)" "$(setting accounts "$name" limits)"
		done
		[ ! -r $file ] || cut -f 2 $file | sort -u | while IFS= read -r name; do
			case " ${S_accounts-} " in *" $name "*) ;; *) printf 'account\t%s\troot\t\t\n' "$name" ;; esac
		done
	} | awk -F '\t' '
		{ line[$2] = $0; parent[$2] = $3; order[++n] = $2 }
		function put(name, depth) {
			if (!(name in line) || name in done || depth > 50) return
			put(parent[name], depth + 1)
			if (!(name in done)) { done[name] = 1; print line[name] }
		}
		END { for (i = 1; i <= n; i++) put(order[i], 0) }'
	[ ! -r $file ] || awk -F '\t' '{ printf "user\t%s\t%s\t%s\t%s\n", $1, $2, $3, $4 }' $file
}

qos_wanted() {
	for name in ${S_qos-}; do printf '%s\t%s\t%s\n' "$name" "$(setting qos "$name" priority)" "$(setting qos "$name" limits)"; done
}

# "KIND NAME PARENT LIMITS" of all, as they were told last: what the file has no more is taken back in the database, too.
limits_wanted() {
	wanted | awk -F '\t' -v OFS='\t' '{ print $1, $2, $1 == "user" ? $3 : "", $5 }'
	qos_wanted | awk -F '\t' -v OFS='\t' '{ print "qos", $1, "", $3 }'
}
# lifted KIND NAME PARENT LIMITS: "GrpTRES=cpu=-1 MaxJobs=-1" for those that it had.
lifted() {
	[ -r $told.limits ] || return 0
	awk -F '\t' -v kind="$1" -v name="$2" -v parent="$3" -v now="$4" '
		function keys(text, have,	i, k, n, m, word, part, key, rest) {
			n = split(text, word, " ")
			for (i = 1; i <= n; i++) {
				key = rest = word[i]
				sub(/=.*/, "", key)
				rest = substr(rest, length(key) + 2)
				if (!index(rest, "=")) { have[key]; continue }
				m = split(rest, part, ",")
				for (k = 1; k <= m; k++) { sub(/=.*/, "", part[k]); have[key "=" part[k]] }
			}
		}
		$1 == kind && $2 == name && $3 == parent { keys($4, had) }
		END { keys(now, has); for (key in had) if (!(key in has)) print key "=-1" }' $told.limits | sort | tr '\n' ' '
}

# What the database has: "account|user|shares|parent".
there() { manage show assoc "cluster=$NP_CLUSTER" format=account,user,share,parentname; }

want() {
	new=$({ wanted; qos_wanted; } | np_sum)
	if ! np_changing && ! np_active slurmdbd; then np_differs "tell Slurm about $(people)"; return; fi
	np_rooms || return 1
	there >"$np_room/there" || { np_fail "sacctmgr does not answer: $(manage show cluster 2>&1 | tail -n 1)"; return 1; }
	if [ "$(cat $told 2>/dev/null)" = "$new" ] && [ -z "$(lacks)" ]; then return; fi
	np_changing || { np_differs "tell Slurm about $(people)"; return 0; }
	np_ledger file $told absent && np_ledger file $told.limits absent || return 1
	qos_wanted | filled 3 | while IFS=$np_tab read -r name priority limits; do
		case $priority in -) priority=0 ;; esac
		[ -n "$(manage show qos "$name" format=name)" ] || set_ add qos "$name" || return
		# shellcheck disable=SC2046,SC2086 # words
		set_ modify qos "$name" set "priority=$priority" ${limits#-} $(lifted qos "$name" '' "${limits#-}") || return
	done || return
	wanted | filled 5 >"$np_room/wanted"
	while IFS=$np_tab read -r kind name parent shares limits; do
		tell "$kind" "$name" "$parent" "${shares#-}" "${limits#-}" || return
	done <"$np_room/wanted"
	limits_wanted >$told.limits.new && mv -f $told.limits.new $told.limits || return 1
	printf '%s\n' "$new" >$told.new && mv -f $told.new $told && np_did "tell Slurm about $(people)"
}
# shellcheck disable=SC2046 # words
people() { set -- $(cut -f 1 $file 2>/dev/null); case $# in 0) echo "its accounts" ;; 1) echo "$1" ;; *) echo "$# users" ;; esac; }

# A wanted line whose association or shares are not there.
lacks() {
	wanted | awk -F '\t' 'NR == FNR { split($0, at, "|"); have[at[1] "|" at[2]] = at[3]; above[at[1] "|" at[2]] = at[4]; next }
		{ key = $1 == "user" ? $3 "|" $2 : $2 "|" }
		!(key in have) || have[key] != ($4 == "" ? 1 : $4) || $1 == "account" && above[key] != $3 { print key; exit }' "$np_room/there" -
}

# "Nothing modified" is no failure.
set_() {
	said=$(timeout 60 sacctmgr -i "$@" 2>&1 </dev/null) && return
	case $said in *"Nothing "*|*"nothing "*|*"already exist"*) return 0 ;; esac
	np_fail "sacctmgr $*: $(printf '%s\n' "$said" | grep -v '^ *$' | tail -n 1)"
}

tell() {
	case $1 in
	account)
		grep -q "^$2||" "$np_room/there" || set_ add account "$2" "cluster=$NP_CLUSTER" "parent=$3" || return
		# One that is what it should be already makes sacctmgr change nothing of the rest.
		grep -q "^$2||.*|$3\$" "$np_room/there" || ! grep -q "^$2||" "$np_room/there" ||
			set_ modify account "$2" set "parent=$3" where "cluster=$NP_CLUSTER" || return
		# shellcheck disable=SC2046,SC2086 # words
		set_ modify account "$2" set "fairshare=${4:-1}" $5 $(lifted account "$2" '' "$5") where "cluster=$NP_CLUSTER" ;;
	user)
		grep -q "^$3|$2|" "$np_room/there" || set_ add user "$2" "cluster=$NP_CLUSTER" "account=$3" "fairshare=${4:-1}" || return
		set_ modify user "$2" set "defaultaccount=$3" where "cluster=$NP_CLUSTER" || return
		# An account that he left, and where he would go on otherwise.
		awk -F '|' -v name="$2" -v now="$3" '$2 == name && $1 != now { print $1 }' "$np_room/there" | while IFS= read -r old; do
			set_ delete user "$2" where "cluster=$NP_CLUSTER" "account=$old" || return
		done || return
		# shellcheck disable=SC2046,SC2086
		set_ modify user "$2" set "fairshare=${4:-1}" $5 $(lifted user "$2" "$3" "$5") where "cluster=$NP_CLUSTER" "account=$3" ;;
	esac
}

verify() {
	np_rooms || return 1
	there >"$np_room/there" || { np_bad "sacctmgr does not answer"; return; }
	lack=$(lacks)
	if [ -z "$lack" ]; then np_ok "Slurm knows $(people)"; else np_bad "Slurm does not know '$lack' (account|user) as the cluster file has it"; fi
}
