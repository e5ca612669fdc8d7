# SPDX-License-Identifier: Apache-2.0
# bash completion for nanopod: asks the program, so it knows what the program knows.

_nanopod() {
	local cur line rest= reply IFS=$'\n'
	local -a words

	# What bash parts at ':', '=' and '@' is put together again: they are in hosts and options.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		local cword
		_get_comp_words_by_ref -n ':=@' -w words -i cword
		words=("${words[@]:1:cword}")
	else
		IFS=$' \t' read -r -a words <<<"${COMP_LINE:0:COMP_POINT}"
		[[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && words+=("")
		words=("${words[@]:1}")
	fi
	cur=${words[${#words[@]} - 1]}

	COMPREPLY=()
	reply=$(nanopod complete -- "${words[@]}" 2>/dev/null) || return 0
	while IFS= read -r line; do
		case $line in
		:*) rest=$line ;;
		?*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done <<<"$reply"

	case $rest in
	:files) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${cur#--*=}") ;;
	:dirs) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "${cur#--*=}") ;;
	:programs) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$cur") ;;
	esac
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:/=] ]] && compopt -o nospace 2>/dev/null

	# bash replaces only what comes after the last ':', '=' or '@' in its own list of breaks.
	local i breaks=${COMP_WORDBREAKS//[^:=@]/} head=
	for ((i = 0; i < ${#breaks}; i++)); do
		[[ $cur == *"${breaks:i:1}"* && ${#cur} -gt 0 ]] || continue
		line=${cur%"${cur##*"${breaks:i:1}"}"}
		((${#line} > ${#head})) && head=$line
	done
	if [[ -n $head ]]; then
		for i in "${!COMPREPLY[@]}"; do
			COMPREPLY[i]=${COMPREPLY[i]#"$head"}
		done
	fi
}

complete -F _nanopod nanopod
