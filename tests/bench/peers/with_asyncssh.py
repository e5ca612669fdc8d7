# SPDX-License-Identifier: Apache-2.0
# A command on many hosts by asyncssh: with_asyncssh.py KEY KNOWN_HOSTS USER PORT AT_ONCE HOSTS_FILE COMMAND
import asyncio
import sys

import asyncssh

key, known, user, port, at_once, hosts, command = sys.argv[1:]
light = dict(kex_algs=["curve25519-sha256"], encryption_algs=["aes128-ctr"], mac_algs=["hmac-sha2-256"],
             server_host_key_algs=["ssh-ed25519"])


async def one(host, options, gate):
    async with gate, asyncssh.connect(host, options=options) as link:
        return (await link.run(command)).exit_status


async def main():
    # Files are read once, not for each host.
    options = asyncssh.SSHClientConnectionOptions(
        username=user, port=int(port), client_keys=[asyncssh.read_private_key(key)], agent_path=None, config=None,
        known_hosts=asyncssh.read_known_hosts(known), **light)
    gate = asyncio.Semaphore(int(at_once))
    with open(hosts) as names:
        statuses = await asyncio.gather(*[one(name.strip(), options, gate) for name in names])
    return max(statuses)


sys.exit(asyncio.run(main()))
