#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
need openssl
sshd_up 2
# Keys that only openssl can use, as it stands for a token or a key service, which sshd accepts.
openssl genpkey -algorithm ed25519 -out "$TMP/ed25519.pem"
{
	printf '\0\0\0\013ssh-ed25519\0\0\0 '
	openssl pkey -in "$TMP/ed25519.pem" -pubout -outform DER | tail -c 32
} | base64 -w0 | sed 's/^/ssh-ed25519 /; s/$/ token/' >"$TMP/ed25519.pub"
for kind in rsa ecdsa; do
	ssh-keygen -q -m PEM -t $kind -N '' -C token -f "$TMP/$kind.pem"
	mv "$TMP/$kind.pem.pub" "$TMP/$kind.pub"
done
for kind in ed25519 rsa ecdsa; do
	sed -e '$a\' "$TMP/$kind.pub" >>"$SSHD_DIR/authorized_keys"
done
sed '/IdentityFile/d; /KnownHosts/d; /StrictHost/d' "$SSHD_CONFIG" >"$TMP/config"
drive decide
