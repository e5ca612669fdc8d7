# SPDX-License-Identifier: Apache-2.0
# Stands for a policy server in tests/daemon/opafault.t: python3 policyserver.py SOCKET MODE COUNT. MODE is a file that
# says how to answer; COUNT gets a line for each question. It prints "ready".
import json
import socketserver
import sys
import time
from http.server import BaseHTTPRequestHandler

path, mode, count = sys.argv[1:]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "market"

    def log_message(self, *args):
        pass

    def reply(self, status, text, kind="application/json"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(mode) as how:  # before it counts: whoever sees the count may set another mode
            how = how.read().strip()
        with open(count, "a") as out:
            out.write(self.path + " " + json.dumps(asked) + "\n")
        if how.startswith("token "):  # OPA with --authentication=token, where its system.authz knows one
            good = self.headers["Authorization"] == "Bearer " + how.split()[1]
            self.reply(200 if good else 401, '{"result":{"allow":true}}' if good else '{"code":"unauthorized"}')
        elif how == "hang":
            time.sleep(3600)
        elif how == "slow":
            time.sleep(0.3)
            self.reply(200, '{"result":{"allow":true}}')
        elif how == "trickle":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        elif how == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b'{"result":{"allow":true}}')
            self.close_connection = True
        elif how == "large":
            self.reply(200, '{"result":{"allow":true},"x":"' + "x" * 200000 + '"}')
        elif how.startswith("status "):
            self.reply(int(how.split()[1]), '{"result":{"allow":true}}')
        else:
            self.reply(200, how)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


with Server(path, Handler) as server:
    print("ready", flush=True)
    server.serve_forever()
