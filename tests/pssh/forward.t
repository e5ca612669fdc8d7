#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
need ssh ssh-agent ssh-add

SSHD_EXTRA='AllowAgentForwarding no'
sshd_up 1 r
FORWARD_REFUSES=$TMP/refuses FORWARD_CONFIG=$TMP/forward_config FORWARD_HOP=$TMP/hop_config
grep -Ev 'IdentityFile|IdentitiesOnly|IdentityAgent' "$SSHD_CONFIG" >"$FORWARD_REFUSES"
SSHD_EXTRA=
sshd_up 40
# No identity but the agent's: here, and on a host that goes on to the next one.
grep -Ev 'IdentityFile|IdentitiesOnly|IdentityAgent' "$SSHD_CONFIG" >"$FORWARD_CONFIG"
{ printf 'IdentityFile none\nBatchMode yes\n'; cat "$FORWARD_CONFIG"; } >"$FORWARD_HOP"
FORWARD_OTHER=$TMP/sshd1/id
cat "$FORWARD_OTHER.pub" >>"$SSHD_DIR/authorized_keys"

# Agents by their sockets: 'all' has the key; 'short' too, and a host ends it; 'bound' has it for n2 alone.
agent_up() {
	eval "$(ssh-agent -a "$TMP/$1")" >/dev/null
	at_exit "kill $SSH_AGENT_PID 2>/dev/null"
}
agent_up all
ssh-add -q "$SSHD_KEY" "$FORWARD_OTHER" 2>/dev/null
agent_up bound
ssh-add -q -H "$SSHD_KNOWN" -h "[$SSHD_NET.2]:$SSHD_PORT" "$SSHD_KEY" 2>/dev/null && FORWARD_BOUND=$TMP/bound
agent_up short
ssh-add -q "$SSHD_KEY" 2>/dev/null
FORWARD_ALL=$TMP/all FORWARD_SHORT=$TMP/short FORWARD_SHORT_PID=$SSH_AGENT_PID
FORWARD_PRINT=$(ssh-keygen -lf "$SSHD_KEY.pub" | cut -d' ' -f2)
unset SSH_AUTH_SOCK SSH_AGENT_PID
export FORWARD_OTHER FORWARD_REFUSES FORWARD_CONFIG FORWARD_HOP FORWARD_BOUND FORWARD_ALL FORWARD_SHORT FORWARD_SHORT_PID FORWARD_PRINT
drive forward
