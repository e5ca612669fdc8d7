# SPDX-License-Identifier: Apache-2.0
# A node as it is now, a line a thing, sorted: run on the node by picture() of tests/lib/cluster.sh. Left out is what comes
# and goes by itself: caches, logs, seeds, stamps, and the backups that dpkg, apt and passwd keep of their own files.
export LC_ALL=C
began=" $(ps -eo pid= | xargs) "
dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Status}\n' | sort
sed 's/^\([^:]*:[^:]*\):\([^:]*:[^:]*\).*:\([^:]*:[^:]*\)$/user \1:\2 \3/' /etc/passwd | sort
sed 's/^/group /' /etc/group | sort
cut -d: -f1,2 /etc/shadow | sed 's/^\([^:]*\):\(.\{0,2\}\).*/shadow \1 \2/' | sort
systemctl list-unit-files --no-legend --no-pager 2>/dev/null | awk '$1 !~ /^session-/ { print "unit-file", $1, $2 }' | sort
systemctl list-units --no-legend --no-pager --plain --state=active,failed --type=service,socket,timer,path,mount 2>/dev/null |
	awk '$1 !~ /^(user|session|run-user|systemd-tmpfiles-clean|apt-daily|e2scrub|fstrim|dpkg-db-backup|systemd-timedated|systemd-hostnamed|systemd-update-utmp|systemd-ask-password)/ { print "unit", $1, $3, $4 }' | sort
find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /dev -o -path /tmp -o -path /var/tmp -o -path /var/cache -o -path /var/log \
	-o -path /var/lib/apt -o -path /var/lib/systemd -o -path /var/lib/dpkg/info -o -path /var/lib/dpkg/triggers -o -path /var/lib/ucf \
	-o -path /root/.cache -o -path /mnt -o -path /var/backups -o -path /var/lib/dbus -o -path /var/lib/pam \) -prune -o \
	! -path '/var/lib/dpkg/*' ! -name '*.pyc' ! -name __pycache__ ! -path /etc/ld.so.cache ! -path '/etc/*-' ! -path /etc/.pwd.lock \
	! -path /etc/mtab ! -path /etc/passwd ! -path /etc/group ! -path /etc/shadow ! -path /etc/gshadow ! -path /etc/subuid ! -path /etc/subgid \
	-printf '%y %m %U:%G %s %T@ %p -> %l\n' >/run/picture.$$
# What packages brought below /usr is told by its time and size, everything else by its contents.
awk '{ sub(/ -> $/, "") } $1 != "f" { if ($1 == "d" || $1 == "l") $4 = "-" } $1 != "f" || $6 !~ /^\/usr\// || $6 ~ /^\/usr\/local\// { $5 = "-" } { print "file", $0 }' \
	/run/picture.$$ | sort
sed -n 's/^f [^ ]* [^ ]* [^ ]* [^ ]* \(.*\) -> $/\1/p' /run/picture.$$ | grep -v '^/usr/[^l]\|^/usr/li' | tr '\n' '\0' | xargs -0 -r sha256sum |
	sed 's/^/sum /' | sort -k 3
rm -f /run/picture.$$
# Processes that were there when the picture was begun, too: others come and go.
ps -eo pid=,ppid=,stat=,user:20=,args= | awk -v began="$began" 'index(began, " " $1 " ") && $2 != 2 && $3 !~ /^Z/ && $0 !~ /sshd:|systemd --user|\(sd-pam\)|sh -c|bash -c|systemctl|ask-password|agetty|systemd-timedated|systemd-hostnamed|systemd-localed/ { $1 = $2 = $3 = ""; print "process" $0 }' | sort
# What is left of somebody between boots; a folder of locks is, as they cannot be taken away safely.
ls /run /tmp /var/tmp /var/log 2>/dev/null | grep -E 'munge|slurm|nanopod-|mysql|mariadb|prometheus|k3s|ray' | grep -vx nanopod-lock | sed 's/^/left /'
:
