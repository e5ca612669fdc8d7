#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SWEEP_HOSTS: how many hosts share this machine's /proc (20).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
SWEEP_HOSTS=${SWEEP_HOSTS:-20}
export SWEEP_HOSTS
# A machine so busy that a tenth of a second takes longer: while the file exists, every sleep does.
mkdir "$TMP/slow"
printf '#!/bin/sh\n[ ! -e "%s/busy" ] || set -- 0.6\nexec %s "$@"\n' "$TMP" "$(command -v sleep)" >"$TMP/slow/sleep"
# While the other files exist: the next look at the processes comes late; the script is another program.
printf '#!/bin/sh\n[ ! -e "%s/late" ] || { rm "%s/late"; %s 3; }\nexec %s "$@"\n' "$TMP" "$TMP" "$(command -v sleep)" \
	"$(command -v xargs)" >"$TMP/slow/xargs"
cat >"$TMP/slow/sh" <<END
#!/bin/sh
[ ! -e "$TMP/hostile" ] || { printf 'left %0200d\n' 0 | tr 0 A; exit; }
while [ -e "$TMP/endless" ]; do echo . || exit; sleep 0.1; done
exec $(command -v sh) "\$@"
END
chmod 755 "$TMP/slow/sleep" "$TMP/slow/xargs" "$TMP/slow/sh"
SSHD_EXTRA="SetEnv PATH=$TMP/slow:$PATH SHLVL=3"
sshd_up "$SWEEP_HOSTS"
drive sweep
