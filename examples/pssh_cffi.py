#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libpssh in Python's asyncio, by cffi and the installed header; needs a C compiler and pkg-config once, to read it.

    python3 pssh_cffi.py CONFIG HOST... -- COMMAND     runs the command on the hosts; exits with the highest status
"""
import asyncio
import subprocess
import sys

import cffi


def declarations():
    """What pssh.h and pssh_types.h declare, without what they include."""
    flags = subprocess.run(["pkg-config", "--cflags", "libpssh"], check=True, capture_output=True, text=True).stdout
    text = subprocess.run(["cc", "-E", *flags.split(), "-"], input="#include <pssh.h>\n", check=True,
                          capture_output=True, text=True).stdout
    ours, kept = False, []
    for line in text.splitlines():
        if line.startswith("# "):
            ours = "/pssh" in line.split('"')[1]
        elif ours and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


ffi = cffi.FFI()
ffi.cdef(declarations())
lib = ffi.dlopen("libpssh.so.0")


class Failed(Exception):
    pass


class Fleet:
    """A fleet in the running event loop. Each task's end resolves its future."""

    def __init__(self):
        out = ffi.new("struct pssh **")
        rc = lib.pssh_new(out)
        if rc != 0:
            raise Failed(ffi.string(lib.pssh_strerror(rc)).decode())
        self.p, self.timer, self.tasks = out[0], None, {}
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(lib.pssh_fd(self.p), self.pull)

    def close(self):
        self.loop.remove_reader(lib.pssh_fd(self.p))
        if self.timer:
            self.timer.cancel()
        lib.pssh_free(self.p)
        self.p = None

    def check(self, rc):
        if rc < 0:
            raise Failed(ffi.string(lib.pssh_error(self.p)).decode())
        return rc

    def read_config(self, path):
        self.check(lib.pssh_read_config(self.p, path.encode()))

    async def run(self, names, command):
        """The ends of a command by host: a dict of name: (exit status or sentence, output)."""
        task, host = ffi.new("struct pssh_task **"), ffi.new("struct pssh_host **")
        self.check(lib.pssh_exec(self.p, command.encode(), task))
        for name in names:
            self.check(lib.pssh_host(self.p, name.encode(), host))
            self.check(lib.pssh_task_add(task[0], host[0]))
        done = self.loop.create_future()
        self.tasks[task[0]] = (done, {name: [None, b""] for name in names})
        self.check(lib.pssh_task_start(task[0]))
        self.pull()  # starting a task makes work that the descriptor does not show
        return await done

    def pull(self):
        ev = ffi.new("const struct pssh_event **")
        while self.check(lib.pssh_next(self.p, ev)) == 1:
            self.take(ev[0])
        if self.timer:
            self.timer.cancel()
        ms = lib.pssh_timeout(self.p)
        self.timer = self.loop.call_later(ms / 1000, self.pull) if ms >= 0 else None

    def take(self, ev):
        if ev.task == ffi.NULL:
            return
        done, ends = self.tasks[ev.task]
        if ev.type == lib.PSSH_EV_DONE:
            del self.tasks[ev.task]
            lib.pssh_task_free(ev.task)
            done.set_result(ends)
            return
        end = ends[ffi.string(lib.pssh_host_name(ev.host)).decode()] if ev.host else None
        if ev.type == lib.PSSH_EV_STDOUT:
            end[1] += ffi.buffer(ev.data, ev.len)[:]
        elif ev.type == lib.PSSH_EV_EXIT:
            end[0] = ev.status
        elif ev.type in (lib.PSSH_EV_SIGNAL, lib.PSSH_EV_ERROR):
            end[0] = ffi.string(ev.text).decode()


async def main(config, names, command):
    fleet = Fleet()
    try:
        fleet.read_config(config)
        ends = await fleet.run(names, command)
    finally:
        fleet.close()
    for name, (end, output) in ends.items():
        sys.stdout.write(output.decode(errors="replace"))
        if not isinstance(end, int):
            print(f"{name}: {end}", file=sys.stderr)
    return max(end if isinstance(end, int) else 255 for end, _ in ends.values())


if __name__ == "__main__":
    if "--" not in sys.argv[3:]:
        sys.exit(__doc__)
    at = sys.argv.index("--")
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:at], " ".join(sys.argv[at + 1:]))))
