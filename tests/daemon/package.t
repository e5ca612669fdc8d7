#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make deb` built, as an administrator meets it: lintian has no complaint, and in a Debian of its own, booted by
# systemd-nspawn, the packages are installed, the services run (package.sh), a node outlives the agent, and a purge leaves
# nothing. Minutes, and packages of a Debian mirror: only with NANOPOD_TEST_LONG=yes, after `make deb`, as root.
long=${NANOPOD_TEST_LONG-}
. "$(dirname "$0")/../lib/tap.sh"
[ "$long" = yes ] || skip_all "it takes minutes: 'make deb && make check TESTS=tests/daemon/package.t NANOPOD_TEST_LONG=yes'"
[ "$(id -u)" -eq 0 ] || skip_all "it needs root"
ls "$BUILD"/deb/*.changes >/dev/null 2>&1 || skip_all "no packages: 'make deb' builds them ('apt install debhelper')"
need mmdebstrap systemd-nspawn dpkg-deb

if have lintian; then
	is "$(lintian --fail-on error,warning "$BUILD"/deb/*.changes 2>&1 | grep -v '^running with root')" "" "lintian has no complaint"
else
	skip "lintian is not installed; 'apt install lintian' installs it"
fi
mkdir "$TMP/debs"
for package in nanopod nanopod-marketd nanopod-agentd libpssh0 libpssh-dev; do
	ok "package $package is built" cp "$BUILD/deb/${package}_"*.deb "$TMP/debs"
done
is "$(dpkg-deb -f "$TMP"/debs/libpssh-dev_*.deb Depends)" \
	"libpssh0 (= $(dpkg-deb -f "$TMP"/debs/libpssh0_*.deb Version))" "the header goes with its library"
is "$(dpkg-deb -I "$TMP"/debs/nanopod-marketd_*.deb conffiles)" /etc/nanopod/marketd.conf "the market's options are a conffile"

# All that they need comes from the mirror, by their own Depends.
ok "they install in a bare Debian" mmdebstrap --quiet --variant=apt --include=systemd-sysv,dbus,procps,curl \
	--customize-hook="mkdir \"\$1/debs\" && cp $TMP/debs/*.deb \"\$1/debs\"" \
	--customize-hook='chroot "$1" sh -c "apt-get install -qq -y --no-install-recommends /debs/*.deb"' \
	bookworm "$TMP/root" || done_testing
cp "$(dirname "$0")/package.sh" "$TMP/root/root/package.sh"
printf '[Service]\nType=oneshot\nExecStart=bash /root/package.sh\nExecStopPost=systemctl poweroff --force\n' \
	>"$TMP/root/etc/systemd/system/package.service"
mkdir -p "$TMP/root/etc/systemd/system/multi-user.target.wants"
ln -s ../package.service "$TMP/root/etc/systemd/system/multi-user.target.wants/"
timeout 280 systemd-nspawn --quiet --register=no --keep-unit --private-network --boot -D "$TMP/root" \
	</dev/null >"$TMP/boot.log" 2>&1
while read -r how text; do
	case $how in
	good) pass "$text" ;;
	bad) fail "$text" ;;
	*) printf '%s %s\n' "$how" "$text" ;;
	esac
done <"$TMP/root/root/said"
is "$(grep -c '^good' "$TMP/root/root/said")" "$(grep -c 'say [$][?]' "$(dirname "$0")/package.sh")" \
	"it came to its end" || tail -n 20 "$TMP/root/root/output" "$TMP/boot.log" | sed 's/^/# /'
done_testing
