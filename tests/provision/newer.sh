# SPDX-License-Identifier: Apache-2.0
# newer_repo FROM TO SUFFIX PATTERN: a package folder with copies of those packages of folder FROM whose names fit the pattern
# (of grep -E), each a version later: VERSION and SUFFIX, which they need of each other, too. Needs dpkg-deb.
newer_repo() {
	mkdir -p "$2/debs" || return
	for newer_deb in "$1"/debs/*.deb; do
		newer_name=${newer_deb##*/}
		printf '%s\n' "${newer_name%%_*}" | grep -qxE "$4" || continue
		rm -rf "$2/open"
		dpkg-deb -R "$newer_deb" "$2/open" &&
			sed -i -E "s/^(Version: .*)/\1$3/; /^(Pre-)?Depends:/s/\(= ([^)]*)\)/(= \1$3)/g" "$2/open/DEBIAN/control" &&
			dpkg-deb -Znone --root-owner-group -b "$2/open" "$2/debs/${newer_name}" >/dev/null || return
	done
	rm -rf "$2/open"
	(
		cd "$2/debs" || exit
		for newer_deb in *.deb; do
			dpkg-deb -f "$newer_deb"
			printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$newer_deb" "$(stat -c %s "$newer_deb")" "$(sha256sum <"$newer_deb" | cut -d ' ' -f 1)"
		done >Packages
		{ sed '/^SHA256/,$d' "$1/debs/Release"; printf 'SHA256:\n %s %s Packages\n' "$(sha256sum <Packages | cut -d ' ' -f 1)" "$(stat -c %s Packages)"; } >Release
		cd .. && cp "$1/bundle" . && find . -type f ! -name SHA256SUMS -exec sha256sum {} + >"$2.sums" && mv "$2.sums" SHA256SUMS
	)
}
