# SPDX-License-Identifier: Apache-2.0
# What a script of a stack would write, without a node: after tap.sh.
#     addon_table LINE…            the members: "NAME ADDRESS ROLE,ROLE [key=value …]", blanks in values as '+'
#     addon STACK STEP FUNCTION [VAR=VALUE…]    what that function prints; fd 3 is thrown away. The node is the first
#     addon_node NAME              the node is that one from now on
ADDON_TABLE='' ADDON_NODE=''

addon_table() {
	ADDON_TABLE=$(for addon_line; do
		printf '%s\n' "$addon_line" | awk '{ printf "%s\t%s\t%s\t%s", $1, $1, $2, $3; for (i = 4; i <= NF; i++) { gsub(/\+/, " ", $i); printf "\t%s", $i } print "" }'
	done)
	ADDON_NODE=$(printf '%s\n' "$ADDON_TABLE" | head -n 1 | cut -f 1)
}
addon_node() { ADDON_NODE=$1; }

# addon_text STACK STEP: the includes, the script.
addon_text() {
	for addon_part in $(sed -n "s/.*name: $2[,}].*include: \[\([^]]*\)\].*/\1/p" "$SRC/stacks/$1/stack.yaml" | tr ',' ' '); do
		if [ -e "$SRC/stacks/$1/$addon_part" ]; then cat "$SRC/stacks/$1/$addon_part"; else cat "$SRC/stacks/common/$addon_part"; fi
	done
	cat "$SRC/stacks/$1/$2.sh"
}

# The stack's own defaults, as the engine would set them.
addon_defaults() {
	sed -n "s/^  \([a-z0-9-]*\): {type: [^{}]*default: \('[^']*'\|[^,}']*\).*/\1 \2/p" "$SRC/stacks/$1/stack.yaml" |
		while read -r addon_key addon_value; do printf "S_%s=%s\n" "$(printf '%s' "$addon_key" | tr - _)" "${addon_value:-''}"; done
	awk '/^versions:/ { inside = 1; next } /^[^ ]/ { inside = 0 } inside { sub(/:/, ""); gsub(/-/, "_", $1); printf "S_version_%s=%s\n", $1, $2 }' "$SRC/stacks/$1/stack.yaml"
}

addon_quote() { printf "'%s'" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")"; }

addon() {
	addon_stack=$1 addon_step=$2 addon_function=$3
	shift 3
	{
		cat "$SRC/stacks/common/lib.sh"
		printf 'exec 4>&1 1>"$ADDON_OUT"\n'
		printf 'NP_CLUSTER=test NP_STACK=%s NP_STEP=%s NP_AIRGAP= NP_UPLOAD= NP_UPLOAD_ID= NP_MODE=check np_room="$ADDON_OUT.room"\n' "$addon_stack" "$addon_step"
		printf 'NP_TABLE=%s\n' "$(addon_quote "$ADDON_TABLE")"
		printf 'NP_NODE=%s NP_HOST=%s NP_ADDRESS=%s NP_ROLES=%s\n' "$ADDON_NODE" "$ADDON_NODE" \
			"$(printf '%s\n' "$ADDON_TABLE" | awk -F '\t' -v n="$ADDON_NODE" '$1 == n { print $3 }')" \
			"$(addon_quote "$(printf '%s\n' "$ADDON_TABLE" | awk -F '\t' -v n="$ADDON_NODE" -v s="$addon_stack." '$1 == n { k = split($4, r, ","); for (i = 1; i <= k; i++) if (index(r[i], s) == 1) print substr(r[i], length(s) + 1) }' | tr '\n' ' ')")"
		addon_defaults "$addon_stack"
		for addon_pair; do printf '%s=%s\n' "${addon_pair%%=*}" "$(addon_quote "${addon_pair#*=}")"; done
		addon_text "$addon_stack" "$addon_step"
		printf '%s\n' "$addon_function"
	} >"$TMP/.addon"
	ADDON_OUT=$TMP/.addon.out dash "$TMP/.addon" >"$TMP/.addon.records" 2>"$TMP/.addon.err" </dev/null
	addon_status=$?
	cat "$TMP/.addon.out"
	return $addon_status
}

# What it said on descriptor 3, without RS.
addon_records() { tr -d '\036' <"$TMP/.addon.records"; }
