# SPDX-License-Identifier: Apache-2.0
# Generated once, on the head.
token_random() { od -An -tx1 -N 32 /dev/urandom | tr -d ' \n'; }
check() {
	ray_plain || return 0
	if [ ! -s "$RAY_TOKEN" ]; then np_differs "make Ray's token"; return 0; fi
	[ "$(np_about "$RAY_TOKEN")" = "400 ray:ray" ] || np_differs "make $RAY_TOKEN 0400 ray:ray"
	np_give_hash ray-token "$(np_hash "$RAY_TOKEN")"
}
apply() {
	ray_plain || { np_give ray-token </dev/null; return; }
	if [ -s "$RAY_TOKEN" ]; then chown ray:ray "$RAY_TOKEN" && chmod 0400 "$RAY_TOKEN"; else
		addon_put token_random "$RAY_TOKEN" 0400 ray:ray secret || return 1
	fi
	np_give_hash ray-token "$(np_hash "$RAY_TOKEN")"
	np_give ray-token <"$RAY_TOKEN"
}
