#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is offered, asked directly and through each shell as it really completes.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$TMP/bin" "$HOME/.ssh" "$TMP/work" && cd "$TMP/work" || exit 99
printf '#!/bin/sh\nexec "%s" "$@"\n' "$NANOPOD" >"$TMP/bin/nanopod" && chmod +x "$TMP/bin/nanopod"
PATH=$TMP/bin:$PATH
cat >"$HOME/.ssh/config" <<'EOF'
Host web1 web2 *.example !bad
	HostName 127.0.0.1
Include extra
EOF
printf 'Host = extra1\n' >"$HOME/.ssh/extra"
cat >"$HOME/.ssh/known_hosts" <<'EOF'
known1,10.0.0.1 ssh-ed25519 AAAA
[known2]:2222 ssh-ed25519 AAAA
|1|hash=|hash= ssh-ed25519 AAAA
@revoked bad1 ssh-ed25519 AAAA
*.pattern ssh-ed25519 AAAA
EOF
mkdir -p "$HOME/.config/nanopod"
printf 'groups: {lab: "l[1-4]"}\nprofiles: {prod: {user: ops}}\n' >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
touch afile; mkdir adir

# offers WORD…: the words offered, in one line
offers() { nanopod complete -- "$@" 2>/dev/null | cut -f1 | tr '\n' ' ' | sed 's/ $//'; }

is "$(offers vers)" version "a command"
like "$(offers '')" 'run ssh cp .*hosts keep shell .*config doctor completion help version' "all commands"
unlike "$(offers '')" 'complete( |$)' "but the hidden one"
is "$(offers completion '')" "bash zsh fish" "the words of a positional"
is "$(offers completion bash '')" "" "nothing where nothing fits"
is "$(offers hosts -o j)" "json jsonl" "formats of the command"
is "$(offers run -o '')" "text jsonl json yaml" "which differ"
is "$(offers run --host-key=s)" "--host-key=strict" "values after an equals sign"
is "$(offers run --host-key '')" "ask strict accept-new" "values in the next word"
like "$(offers run --)" '--fanout.*--user.*--profile' "options, own and shared"
is "$(offers run -w '')" "@lab web1 web2 extra1 known1 10.0.0.1 known2:2222" "hosts: groups, ssh_config with Include, known_hosts"
is "$(offers run -w web1,w)" "web1,web1 web1,web2" "after a comma"
is "$(offers run -w root@k)" "root@known1 root@known2:2222" "after a user"
is "$(offers run -w 'n[1,2')" "" "not within a range"
is "$(offers cp we)" "web1: web2: :files" "hosts with a colon, or files"
is "$(offers cp -r web1:/x '')" "@lab: web1: web2: extra1: known1: 10.0.0.1: known2:2222: :files" "and again"
is "$(offers ssh web1 '')" ":programs" "a program on a host"
is "$(offers run -w web1 -- ls '')" ":files" "its arguments"
is "$(offers run -w web1 ls -)" ":files" "which are no options of ours"
is "$(offers --profile '')" "prod" "profiles, before the command"
is "$(offers --profile prod ver)" "version" "a command after an option with argument"
is "$(offers config get fan)" "fanout" "settings"
is "$(offers config get groups.)" "groups.lab" "groups as settings"
is "$(offers help do)" "doctor" "commands as words"
is "$(offers help exit)" "exit-codes" "topics of help"
is "$(offers keep '')" "status stop" "what 'keep' does"
is "$(offers run --save '')" ":dirs" "directories"
is "$(offers nonsense '')" ":files" "files for what is not known"
is "$(offers)" "$(offers '')" "no words at all is an empty one"
is "$(offers run -vbw we)" "web1 web2" "the argument of a cluster of letters"
is "$(offers run -vbwwe)" "" "but not within it"
printf 'fanout: [broken\n' >"$HOME/.config/nanopod/config.yaml"
is "$(offers run -w web)" "web1 web2" "broken settings do not hinder"
printf 'ssh-config: none\n' >"$HOME/.config/nanopod/config.yaml"
is "$(offers run -w we)" "" "settings count"
printf 'groups: {lab: "l[1-4]"}\n' >"$HOME/.config/nanopod/config.yaml"

for shell in bash zsh fish; do
	run_is 0 "completion $shell" "$NANOPOD" completion $shell
	case $shell in zsh) file=_nanopod ;; *) file=nanopod.$shell ;; esac
	is "$out" "$(cat "$SRC/completions/$file")" "is the $shell script that is installed"
done
run_is 2 "an unknown shell is refused" "$NANOPOD" completion tcsh
like "$err" "'tcsh' is not one of bash\|zsh\|fish" "with those that are known"

# ---- bash ----
# in_bash LINE [breaks]: what bash would put in place of the last word
in_bash() {
	bash --norc --noprofile -c '
		eval "$(nanopod completion bash)"
		COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2
		_nanopod
		printf "%s\n" "${COMPREPLY[@]}"' - "$1" "${2-}" | tr '\n' ' ' | sed 's/ $//'
}
if have bash; then
	is "$(in_bash 'nanopod vers')" version "bash: a command"
	is "$(in_bash 'nanopod run -w we')" "web1 web2" "bash: hosts"
	is "$(in_bash 'nanopod run --host-key=s')" "--host-key=strict" "bash: a value"
	is "$(in_bash 'nanopod run --host-key=s' '=:@')" "strict" "bash: only what follows a break is replaced"
	is "$(in_bash 'nanopod run -w root@we' '=:@')" "web1 web2" "bash: after a user"
	is "$(in_bash 'nanopod run -w @l' '=:@')" "lab" "bash: a group"
	is "$(in_bash 'nanopod cp af')" "afile" "bash: files"
	touch 'zb c' 'z*'
	like "$(in_bash 'nanopod cp z')" '^(z\* zb c|zb c z\*)$' "bash: files with odd names"
	rm 'zb c' 'z*'
	is "$(in_bash 'nanopod run --save a')" "adir" "bash: directories only"
	like "$(in_bash 'nanopod ssh web1 bas')" '(^| )bash( |$)' "bash: programs"
	is "$(in_bash 'nanopod cp -r web1:/x ' | tr ' ' '\n' | grep -c .)" 9 "bash: an empty word has all hosts and files"
else
	skip "bash is not installed"
fi

# ---- zsh ----
# in_zsh TYPED: types it in a terminal, then Tab and Enter, and prints the words that nanopod got
in_zsh() {
	cat >"$TMP/zsh.in" <<-'EOF'
		zmodload zsh/zpty
		zpty z "TERM=dumb PS1= zsh -f -i"
		zpty -w z 'unsetopt zle_bracketed_paste prompt_cr prompt_sp; autoload -U compinit; compinit -u -D; eval "$(nanopod completion zsh)"'
		zpty -w z "nanopod_got() { print -r -- \"GOT:\${(j:|:)@}:END\"; }; compdef _nanopod nanopod_got; bindkey '^I' expand-or-complete; print RE''ADY"
		zpty -r -m z line '*READY*'
		zpty -w -n z "nanopod_got $1"$'\t\n'
		zpty -r -m z line '*GOT:*:END*'
		print -r -- ${${line##*GOT:}%%:END*}
	EOF
	timeout 60 zsh -f "$TMP/zsh.in" "$1" 2>&1
}
if have zsh && have timeout; then
	is "$(in_zsh 'vers')" version "zsh: a command"
	is "$(in_zsh 'run --host-key acc')" 'run|--host-key|accept-new' "zsh: a value"
	is "$(in_zsh 'run --host-key=acc')" 'run|--host-key=accept-new' "zsh: a value after an equals sign"
	is "$(in_zsh 'run -w root@ext')" 'run|-w|root@extra1' "zsh: a host after a user"
	is "$(in_zsh 'cp af')" 'cp|afile' "zsh: a file"
	is "$(in_zsh 'cp ext')" 'cp|extra1:' "zsh: a host with a colon, and no blank"
	is "$(in_zsh 'run --save a')" 'run|--save|adir' "zsh: directories only"
else
	skip "zsh is not installed"
fi

# ---- fish ----
in_fish() { fish --no-config -c 'nanopod completion fish | source; complete -C "$argv[1]"' "$1" 2>&1 | cut -f1 | tr '\n' ' ' | sed 's/ $//'; }
if have fish; then
	is "$(in_fish 'nanopod vers')" version "fish: a command"
	is "$(in_fish 'nanopod run --host-key s')" strict "fish: a value"
	is "$(in_fish 'nanopod run --host-key=s')" --host-key=strict "fish: a value after an equals sign"
	is "$(in_fish 'nanopod run -w we')" "web1 web2" "fish: hosts"
	is "$(in_fish 'nanopod cp af')" afile "fish: files"
	is "$(in_fish 'nanopod run --save a')" adir/ "fish: directories"
	is "$(in_fish 'nanopod completion ')" "bash fish zsh" "fish: an empty word"
else
	skip "fish is not installed"
fi

# ---- Words that came later, by each shell ----
# later SHELL LINE…: a line is what is typed, '=', what it becomes (bash and fish: what they offer)
later() {
	shell=$1; shift
	have "$shell" || { skip "$shell is not installed"; return; }
	for line; do
		typed=${line%%=*} want=${line#*=}
		case $shell in
		zsh) is "$(in_zsh "$typed")" "$want" "zsh: $typed" ;;
		*) is "$("in_$shell" "nanopod $typed")" "${want##*|}" "$shell: $typed" ;;
		esac
	done
}
for shell in bash zsh fish; do
	have "$shell" && have timeout || { skip "$shell is not installed"; continue; }
	later $shell 'wai=wait' 'ssh-c=ssh-config' 'inven=inventory' 'run --inv=run|--inventory' \
		'run --become-u=run|--become-user' 'run --vi=run|--via' 'cp --stre=cp|--streams' \
		'inventory --cl=inventory|--clush' 'wait --for end=wait|--for|ended' 'run --inventory af=run|--inventory|afile' \
		'ssh-config --only=ssh-config|--only-ready'
done

# ---- speed: within 200 ms of processor time, which a loaded machine does not change much ----
awk 'BEGIN { for (i = 0; i < 5000; i++) print "host" i " ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPl" i }' >"$HOME/.ssh/known_hosts"
best=9999
for try in 1 2 3 4 5; do
	took=$(bash -c 'TIMEFORMAT="%3U %3S"; time "$@" >"$0"' "$TMP/offered" "$NANOPOD" complete -- run -w host499 2>&1 |
		awk 'END { printf "%d", ($1 + $2) * 1000 }')
	[ "$took" -lt $best ] && best=$took
done
is "$(wc -l <"$TMP/offered" | tr -d ' ')" 11 "5000 known hosts: those that fit"
ok "within 200 ms (took $best)" [ "$best" -le 200 -a "$best" -gt 0 ]

done_testing
