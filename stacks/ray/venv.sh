# SPDX-License-Identifier: Apache-2.0
# Installs from a folder of wheels (given, or in the airgap folder) or from an index, never a mix of both.
venv_want() { printf '%s %s %s\n' "$S_package" "$S_version_ray" "${NP_UPLOAD_ID-}"; }
venv_is() { [ -x "$RAY_HOME/bin/ray" ] && venv_want | cmp -s - "$RAY_HOME/nanopod"; }

venv_wheels() {
	for venv_folder in "${NP_UPLOAD-}" "${NP_AIRGAP:+$NP_AIRGAP/ray}" "${NP_AIRGAP:+$NP_AIRGAP/files}"; do
		[ -n "$venv_folder" ] && [ -n "$(find "$venv_folder" -name '*.whl' 2>/dev/null | head -n 1)" ] || continue
		find "$venv_folder" -name '*.whl' -printf '%h\n' | sort -u
		return 0
	done
}

# The index URL may have a password, so it goes into the environment, not into argv that all can read.
venv_install() {
	venv_links=$(venv_wheels)
	set --
	if [ -n "$venv_links" ]; then
		set -- --no-index
		for venv_folder in $venv_links; do set -- "$@" --find-links "$venv_folder"; done
	elif [ -n "${S_index-}" ]; then
		PIP_INDEX_URL=$S_index
		export PIP_INDEX_URL
	elif [ -n "$NP_AIRGAP" ]; then
		np_hint "put Ray's wheels into a folder: --set ray.wheels=FOLDER"
		np_fail "there are no wheels of Ray in the airgap folder"
		return 1
	fi
	PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 "$RAY_HOME.new/bin/python3" -m pip install --no-color "$@" "$S_package==$S_version_ray" || {
		np_hint "the last lines of the log say which package is missing; Python here is $(python3 -V 2>&1)"
		np_fail "'$S_package==$S_version_ray' cannot be installed"
		return 1
	}
}

# Builds in another folder and moves it, so that nobody uses half an environment. Its scripts get the final path of Python.
venv_build() {
	rm -rf "$RAY_HOME.new"
	python3 -m venv "$RAY_HOME.new" || { np_fail "cannot make a Python environment in '$RAY_HOME.new'$(np_disk /opt)"; return 1; }
	venv_install || { rm -rf "$RAY_HOME.new"; return 1; }
	grep -rlI --null "$RAY_HOME.new" "$RAY_HOME.new/bin" "$RAY_HOME.new/pyvenv.cfg" | xargs -0 -r sed -i "s|$RAY_HOME.new|$RAY_HOME|g"
	venv_want >"$RAY_HOME.new/nanopod"
	rm -rf "$RAY_HOME.old"
	[ ! -e "$RAY_HOME" ] || mv "$RAY_HOME" "$RAY_HOME.old"
	mv "$RAY_HOME.new" "$RAY_HOME" && rm -rf "$RAY_HOME.old"
	np_did "install $S_package $S_version_ray"
	for venv_unit in ray-head ray-worker; do
		! np_active $venv_unit || { np_control restart $venv_unit && np_did "restart $venv_unit"; }
	done
}

want() {
	ray_plain || return 0
	np_packages python3-venv
	np_group ray 64032
	np_user ray 64032 "$RAY_DATA"
	np_dir "$RAY_DATA" 0750 ray:ray
	! venv_is || return 0
	np_changing || { np_differs "install $S_package $S_version_ray"; return 0; }
	[ -z "$np_failed" ] || return 1
	np_trace "$RAY_HOME" "$RAY_HOME.new"
	venv_build
}
verify() {
	ray_plain || return 0
	if "$RAY_HOME/bin/ray" --version 2>/dev/null | grep -qwF "$S_version_ray"; then np_ok "Ray $S_version_ray is installed"; else np_bad "Ray $S_version_ray is not in '$RAY_HOME'"; fi
}

undo() { np_aside "$RAY_DATA" "what was written in Ray's home"; }
