# SPDX-License-Identifier: Apache-2.0
# A command on many hosts by parallel-ssh (PyPI): with_parallel_ssh.py KEY USER PORT AT_ONCE HOSTS_FILE COMMAND
# It verifies no host keys; which algorithms are used is the server's choice.
import sys

from pssh.clients import ParallelSSHClient

key, user, port, at_once, hosts, command = sys.argv[1:]
with open(hosts) as names:
    hosts = [name.strip() for name in names]
client = ParallelSSHClient(hosts, user=user, pkey=key, port=int(port), pool_size=int(at_once), allow_agent=False,
                           num_retries=1)
output = client.run_command(command)
client.join(output)
sys.exit(max(host.exit_code for host in output))
