#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# raydouble.sh FOLDER VERSION: a wheel there that is a DOUBLE of Ray: its command line (start --head, start --address, status,
# stop, --version) and as much of its Python as the stack's own program uses. No task leaves its node: the double of the
# head says for all nodes that registered. It refuses who comes without the token.
python=${PYTHON:-python3}
"$python" - "$1" "$2" <<'END_MAKE'
import base64, hashlib, os, sys, zipfile
folder, version = sys.argv[1:]
cli = r'''
"""DOUBLE of Ray for tests."""
import json, os, signal, socket, sys, time
VERSION = "@VERSION@"
def token():
    if os.environ.get("RAY_AUTH_MODE") != "token":
        sys.exit("ray (DOUBLE): no token mode")
    with open(os.environ["RAY_AUTH_TOKEN_PATH"]) as f:
        return f.read().strip()
def ask(address, what):
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host.strip("[]"), int(port)), 5) as s:
        s.sendall(json.dumps({"token": token(), **what}).encode() + b"\n")
        answer = json.loads(s.makefile().readline())
    if "error" in answer:
        sys.exit("ray (DOUBLE): " + answer["error"])
    return answer
def head(o):
    nodes, own = {socket.gethostname(): time.time() + 1e9}, token()
    lists = []
    for address, port in ((o["node-ip-address"], o["port"]), (o["dashboard-host"], o["dashboard-port"])):
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, int(port)))
        s.listen(64)
        lists.append(s)
    while True:
        c, _ = lists[0].accept()
        c.settimeout(5)
        try:
            r = json.loads(c.makefile().readline())
            if r.get("token") != own:
                answer = {"error": "wrong token"}
            else:
                if "here" in r:
                    nodes[r["here"]] = time.time()
                answer = {"nodes": sorted(n for n, t in nodes.items() if t > time.time() - 5)}
            c.sendall(json.dumps(answer).encode() + b"\n")
        except Exception as e:
            print("ray (DOUBLE):", e, file=sys.stderr)
        c.close()
def main():
    words = sys.argv[1:]
    if not words or words[0] == "--version":
        print("ray, version", VERSION, "(DOUBLE)")
        return
    o = dict(w[2:].split("=", 1) if "=" in w else (w[2:], "yes") for w in words[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if words[0] == "start":
        if "head" in o:
            head(o)
        while True:
            ask(o["address"], {"here": socket.gethostname()})
            time.sleep(1)
    if words[0] == "status":
        print("======== Autoscaler status (DOUBLE) ========\nActive:")
        for n in ask(os.environ["RAY_ADDRESS"], {})["nodes"]:
            print(" 1", n)
'''.replace("@VERSION@", version)
init = r'''
"""DOUBLE of Ray for tests: what the stack's own program calls."""
from ray.double import ask
_address = None
def init(address=None, **_):
    global _address
    _address = address
def nodes():
    return [{"NodeID": n, "Alive": True} for n in ask(_address, {})["nodes"]]
class _Task:
    def __init__(self, f, on=None):
        self.f, self.on = f, on
    def options(self, scheduling_strategy=None, **_):
        return _Task(self.f, scheduling_strategy)
    def remote(self):
        return self.on.node_id
def remote(**_):
    return _Task
def get(refs, timeout=None):
    return list(refs)
'''
on = "class NodeAffinitySchedulingStrategy:\n    def __init__(self, node_id, soft):\n        self.node_id = node_id\n"
info = f"ray-{version}.dist-info"
files = {"ray/__init__.py": init, "ray/double.py": cli, "ray/util/__init__.py": "", "ray/util/scheduling_strategies.py": on,
    info + "/METADATA": f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\nSummary: DOUBLE of Ray for tests\nProvides-Extra: default\n",
    info + "/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    info + "/entry_points.txt": "[console_scripts]\nray = ray.double:main\n"}
record = ""
for name, text in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(text.encode())}\n"
files[info + "/RECORD"] = record + f"{info}/RECORD,,\n"
with zipfile.ZipFile(os.path.join(folder, f"ray-{version}-py3-none-any.whl"), "w") as z:
    for name, text in files.items():
        z.writestr(name, text)
END_MAKE
