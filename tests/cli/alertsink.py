# SPDX-License-Identifier: Apache-2.0
# A receiver of alerts that does what receivers do: alertsink.py FOLDER SECRET
# FOLDER/mode is read anew for each request: ok, 500, close (no answer), hang (until it says something else), redirect,
# half (an answer that is cut off), kill (process FOLDER/pid, instead of answering), kill-after (it answers first). Each request
# is a line of FOLDER/log: mode, event id, attempt, event, rule, name, whether its signature is right. FOLDER/port has the port.
import hashlib, hmac, http.server, json, os, re, signal, sys, threading, time

folder, secret = sys.argv[1], sys.argv[2].encode()
dying = threading.Lock()


def mode():
    with open(folder + "/mode") as f:
        return f.read().strip()


def kill():
    with open(folder + "/pid") as f:
        os.kill(int(f.read()), signal.SIGKILL)


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def signed(self, body):
        found = re.fullmatch("t=([0-9]+),v1=([0-9a-f]{64})", self.headers.get("X-Nanopod-Signature", ""))
        return found and abs(int(found[1]) - time.time()) < 300 and hmac.compare_digest(
            found[2], hmac.new(secret, found[1].encode() + b"." + body, hashlib.sha256).hexdigest())

    def answer(self, status, length=0, **more):
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said, now = json.loads(body), mode()
        with open(folder + "/log", "a") as f:
            f.write(" ".join([now, self.headers.get("X-Nanopod-Event"), self.headers.get("X-Nanopod-Attempt"), said["event"],
                              said["alert"]["rule"], said["alert"]["subject"]["name"], "signed" if self.signed(body) else "unsigned"]) + "\n")
        with open(folder + "/last", "wb") as f:
            f.write(body)
        self.close_connection = True
        if now == "hang":
            while mode() == "hang":
                time.sleep(0.05)
        elif now == "redirect":
            self.answer(302, Location="/elsewhere")
        elif now == "half":
            self.answer(200, 100)
        elif now == "kill":
            kill()
        elif now == "kill-after":
            with dying:  # nothing more is answered before
                self.answer(204)
                kill()
        elif now.isdigit():
            self.answer(int(now))
        elif now == "ok":
            self.answer(204)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
with open(folder + "/port.new", "w") as f:
    f.write(str(server.server_port))
os.rename(folder + "/port.new", folder + "/port")
server.serve_forever()
