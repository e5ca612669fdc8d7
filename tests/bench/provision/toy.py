# SPDX-License-Identifier: Apache-2.0
# The stack of the script 'many', for pyinfra.
from io import StringIO

from pyinfra import host, inventory
from pyinfra.facts.hardware import Ipv4Addrs
from pyinfra.operations import files, python, server

controller = inventory.get_group("controller")[0]
members = [one.name for one in inventory]
key = "/srv/slurm/munge.key"


def address(one):
    return next(list(at)[0] for at in one.get_fact(Ipv4Addrs).values() if at)


def text(lines):
    return StringIO("".join(line + "\n" for line in lines))


def take_key():
    """What the controller has is known only when its step is done. All ask it, once."""
    if "key" not in taken:
        ok, output = controller.run_shell_command("cat " + key)
        taken["key"] = output.stdout
    files.put(name="The key", src=StringIO(taken["key"]), dest=key, mode="400")


taken = {}
files.directory(name="The folder", path="/srv/slurm", mode="755")
files.put(
    name="Names of all members",
    src=text(f"{address(one)} {one.name}" for one in inventory),
    dest="/srv/slurm/hosts",
    mode="644",
)
if host.name == controller.name:
    server.shell(
        name="The key, made once",
        commands=f"[ -s {key} ] || (umask 077; head -c 768 /dev/urandom | base64 -w0 >{key})",
    )
    files.put(
        name="slurm.conf",
        src=text(f"NodeName={name} CPUs=2 State=UNKNOWN" for name in members),
        dest="/srv/slurm/slurm.conf",
        mode="644",
    )
else:
    python.call(name="What the key is", function=take_key)
for name, lines, mode in (
    ("cgroup.conf", ["CgroupPlugin=autodetect"], "644"),
    ("members", members, "644"),
    ("default", ["SLURMD_OPTIONS=--conf-server n1"], "644"),
    ("healthcheck", ["#!/bin/sh", "echo hello"], "755"),
):
    files.put(name=name, src=text(lines), dest=f"/srv/slurm/{name}", mode=mode)
