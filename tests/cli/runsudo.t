#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run --become with the real sudo and sshd of a Debian image, in a namespace of this test's own.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

image=$TEST_IMAGES/debian-12/root
[ "$(id -u)" -eq 0 ] || skip_all "only root makes a namespace with another root directory"
[ -x "$image/usr/bin/sudo" ] && [ -x "$image/usr/sbin/sshd" ] ||
	skip_all "no image with sudo in '$TEST_IMAGES': './quickstart check' makes one"
need unshare
cat >"$TMP/sshd-there" <<'END'
#!/bin/bash -e
case $1 in -t) exec "$SSHD_HERE" "$@" ;; esac
exec unshare -m bash -e -c '
	mount -t tmpfs none "$TMP/over"
	mkdir "$TMP/over/up" "$TMP/over/work" "$TMP/over/root"
	mount -t overlay overlay -o "lowerdir=$IMAGE,upperdir=$TMP/over/up,workdir=$TMP/over/work" "$TMP/over/root"
	cd "$TMP/over/root"
	mount --rbind /proc proc; mount --rbind /dev dev
	mkdir -p "./$TMP/sshd1" run/sshd; chmod 755 "./$TMP" "./$TMP/sshd1"
	cp "$TMP"/sshd1/{host,host.pub,authorized_keys,sshd_config} "./$TMP/sshd1/"
	chroot . useradd -m -s /bin/bash bob
	echo "bob:$PASSWORD" | chroot . chpasswd
	printf "%s\n" "bob ALL=(ALL) ALL" >etc/sudoers.d/bob; chmod 440 etc/sudoers.d/bob
	echo "127.0.0.1 localhost $(hostname)" >etc/hosts
	exec chroot . /usr/sbin/sshd "$@"' sshd "$@"
END
chmod +x "$TMP/sshd-there"; mkdir "$TMP/over"
export SSHD_HERE=$SSHD IMAGE=$image PASSWORD='it'\''s "right" $x'
SSHD=$TMP/sshd-there
sshd_up 2 || { fail "sshd is up"; done_testing; }
unset PASSWORD
cd "$TMP" || exit 99
(umask 077; printf '%s\n' 'it'\''s "right" $x' >right; echo wrong >wrong)
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" -l bob -w 'n[1-2]' "$@"; }
sudo_there() { nanopod_run --become --become-password-file right "$@"; }

run nanopod_run -b -- id -un
is "$out" "$(printf -- '---- n[1-2] (2 hosts)\nbob')" "bob signs in"
run sudo_there -q -- true
is "$status" 0 "with the password"
run sudo_there --no-label -- 'echo "$(id -un)" "$(cat)" over'
is "$status $out" "0 $(printf 'root  over\nroot  over')" "root, with an empty input"
unlike "$err" "nanopod-[0-9a-f]" "no mark shows"
run sudo_there --no-label -w n1 --become-user games -- 'echo "$(id -un) $HOME"; exit 5'
is "$out" "$(printf 'games /usr/games\ngames /usr/games')" "--become-user, with that user's home"
is "$status" 10 "and the command's status"
printf '#!/bin/bash\nid -un; echo "$1"; cat\n' >script
run sudo_there -b --script script -- 'a b'
is "$out" "$(printf -- '---- n[1-2] (2 hosts)\nroot\na b')" "a script"
run nanopod_run --become --become-password-file wrong -- id -un
is "$status $out" "10 " "a wrong password: nothing runs"
like "$err" "sudo refused the password: exit status 1 \(2\): n\[1-2\]" "and that is said"
is "$(printf '%s\n' "$err" | grep -c 'n[12]!')" 0 "once, for all hosts"
run setsid -w timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -l bob -w n1 --become -- id -un
is "$status $out" "1 " "without a password"
like "$err" "sudo wants a password" "likewise"
run sudo_there -q --no-label -- 'echo "bob ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/bob'
run setsid -w timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -l bob -w n1 --become --no-label -- 'id -un; cat'
is "$status $out" "0 root" "NOPASSWD needs none"
run sudo_there --no-label -- 'id -un; cat'
is "$status $out" "0 $(printf 'root\nroot')" "and a given one is not left over for the command"
done_testing
