#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod admin reputation: whose commits count, what they are worth, and that nobody gets others' commits.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/v2.sh"
need git python3
v2_start
boss() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@" </dev/null; }
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
# Scores count weeks: none begins while this runs.
left=$((604800 - ($(date +%s) - 4 * 86400) % 604800))
[ $left -gt 180 ] || sleep $left
NOW=$(date +%s)
git init -q "$TMP/repo"
commit() { # ADDRESS DAYS-AGO [COUNT]
	for commit_i in $(seq "${3-1}"); do
		GIT_AUTHOR_NAME="A <b" GIT_AUTHOR_EMAIL=$1 GIT_AUTHOR_DATE="@$NOW +0000" GIT_COMMITTER_DATE="@$((NOW - $2 * 86400)) +0200" \
			git -C "$TMP/repo" commit -q --allow-empty -m "$1 $2 $commit_i"
	done
}
for week in $(seq 0 30); do
	commit Ada@Example.org $((7 * week))
	commit ada@home.example $((7 * week)) 2
done
commit bo@example.org 0 40
commit stranger@example.org 3 5
commit bo@example.org -400 # of the future
git -C "$TMP/repo" checkout -q -b side HEAD~3
commit ada@home.example 9
git -C "$TMP/repo" checkout -q -
GIT_AUTHOR_EMAIL=bo@example.org GIT_AUTHOR_NAME=b git -C "$TMP/repo" merge -q --no-ff -m merge side

# The formula as nanopod-reputation(7) has it, by somebody else: ADDRESS… on standard output.
score() {
	git -C "$TMP/repo" log --all --no-merges --format='%ae %ct' | python3 -c '
import sys, datetime, collections, math
now = datetime.datetime.fromtimestamp(int(sys.argv[1]), datetime.timezone.utc)
mine = set(a.lower() for a in sys.argv[2:])
days = collections.Counter()
for line in sys.stdin:
    mail, at = line.split()
    at = datetime.datetime.fromtimestamp(int(at), datetime.timezone.utc)
    if mail.lower() in mine and at <= now + datetime.timedelta(seconds=60):
        days[at.date()] += 1
weeks = collections.Counter()
monday = lambda d: d - datetime.timedelta(days=d.weekday())
for day, n in days.items():
    weeks[monday(day)] += min(n, 3)
s = sum(math.sqrt(n) * 2 ** (-((monday(now.date()) - w).days / 7) / 26) for w, n in weeks.items())
print("%.2f" % (math.floor(10000 * s / (s + 20)) / 100))' "$NOW" "$@"
}
run_is 3 "nobody's addresses" boss reputation acme --commits "$TMP/repo"
like "$err" "admin facts ACCOUNT git_emails=" "says how to set them"
boss facts acme git_emails=ada@example.org,ada@home.example >"$TMP/.out"
boss facts stranger git_emails=BO@example.org >"$TMP/.out"
run_is 0 "looked at" boss reputation acme stranger --commits "$TMP/repo" --dry-run -o json
is "$(jq -r '.[0].score' <<<"$out")" "$(score ada@example.org ada@home.example)" "the score of the one who is there each week"
is "$(jq -r '.[1].score' <<<"$out")" "$(score bo@example.org)" "and of the one with a heap"
is "$(jq -r 'if (.[0].score | tonumber) > 50 and (.[1].score | tonumber) < 10 then "yes" else "\(.)" end' <<<"$out")" yes \
	"weeks win, a heap does not"
is "$(jq -c '.[1] | [.weeks, .counted, .commits]' <<<"$out")" '["1","3","41"]' "three of its forty count, and none of the future"
run_is 0 "for people" boss reputation acme stranger --commits "$TMP/repo" --dry-run
like "$err" "by nobody of these accounts; nothing was written down" "a dry run writes nothing"
is "$(operator GET /np/v1/accounts/acme/facts | jq -c '.facts | keys')" '["git_emails"]' "indeed"
run_is 0 "for good" boss reputation acme stranger --commits "$TMP/repo"
is "$(operator GET /np/v1/accounts/acme/facts | jq -r .facts.reputation_score.value)" "$(score ada@example.org ada@home.example)" \
	"a fact has the score"
is "$(operator GET /np/v1/accounts/acme/facts | jq -r '.facts | .reputation_formula.value + " " + (.reputation_weeks.value | tonumber >= 31 | tostring)')" "1 true" \
	"the formula and what it was computed from"

# ---- Perceval --------------------------------------------------------------------------------------------------------
# As "perceval git --json-line" 1.5.0 writes them.
perceval() {
	git -C "$TMP/repo" log --all --format='%H%x09%an <%ae>%x09%cd%x09%P' --date=default | python3 -c '
import sys, json
for line in sys.stdin:
    h, author, date, parents = line.rstrip("\n").split("\t")
    print(json.dumps({"backend_name": "Git", "category": "commit", "uuid": h, "origin": "x", "updated_on": 1.0, "data": {"commit": h,
        "Author": author, "AuthorDate": date, "CommitDate": date, "parents": parents.split(), "refs": [], "files": [], "message": "m"}}))'
}
perceval >"$TMP/commits.jsonl"
run_is 0 "Perceval's lines" boss reputation acme stranger --commits "$TMP/commits.jsonl" --dry-run -o json
is "$(jq -c '[.[].score]' <<<"$out")" "[\"$(score ada@example.org ada@home.example)\",\"$(score bo@example.org)\"]" "give the same scores"
run_is 0 "twice the same" boss reputation acme --commits "$TMP/commits.jsonl" --commits "$TMP/repo" --dry-run -o json
is "$(jq -r '.[0].score' <<<"$out")" "$(score ada@example.org ada@home.example)" "commits that two sources have count once"
PERCEVAL=${NANOPOD_PERCEVAL:-$(command -v perceval)}
if [ -x "$PERCEVAL" ]; then
	"$PERCEVAL" git --json-line "$TMP/repo" --git-path "$TMP/mirror" >"$TMP/real.jsonl" 2>"$TMP/perceval.err"
	run_is 0 "what Perceval itself wrote" boss reputation acme stranger --commits "$TMP/real.jsonl" --dry-run -o json
	is "$(jq -c '[.[].score]' <<<"$out")" "[\"$(score ada@example.org ada@home.example)\",\"$(score bo@example.org)\"]" "too"
fi

# ---- What is wrong ----------------------------------------------------------------------------------------------------
boss facts stranger git_emails=ada@HOME.example >"$TMP/.out"
run_is 5 "an address of two accounts" boss reputation acme stranger --commits "$TMP/repo"
run_is 2 "nothing to read" boss reputation acme
run_is 1 "a file that is not there" boss reputation acme --commits "$TMP/none"
run_is 1 "a folder that is no clone" boss reputation acme --commits "$TMP"
{ head -2 "$TMP/commits.jsonl"; echo '{"category":"commit","data":{'; } >"$TMP/cut.jsonl"
run_is 1 "a line that is cut off" boss reputation acme --commits "$TMP/cut.jsonl"
like "$err" "cut.jsonl': line 3: " "is named"
echo '{"category":"commit","data":{"commit":"a","Author":"a <ada@example.org>","CommitDate":"yesterday"}}' >"$TMP/date.jsonl"
run_is 1 "a date that is none" boss reputation acme --commits "$TMP/date.jsonl"
printf '{"category":"issue","data":{}}\n\n' >"$TMP/other.jsonl"
run_is 0 "other items of Perceval" boss reputation acme --commits "$TMP/other.jsonl" -o json --dry-run
is "$(jq -r '.[0].score' <<<"$out")" 0.00 "are no commits"
done_testing
