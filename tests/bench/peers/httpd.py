# SPDX-License-Identifier: Apache-2.0
# Plain HTTP for curl, to see what a path carries without SSH: httpd.py PORT_FILE FOLDER, on 127.0.0.1. GET and PUT.
import http.server
import os
import shutil
import sys

port_file, folder = sys.argv[1:]


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        with open(self.translate_path(self.path), "wb") as out:
            while left:
                piece = self.rfile.read(min(left, 1 << 16))
                if not piece:
                    break
                left -= len(piece)
                out.write(piece)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def copyfile(self, source, outputfile):
        shutil.copyfileobj(source, outputfile, 1 << 18)

    def log_message(self, *args):
        pass


os.chdir(folder)
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    with open(port_file + ".new", "w") as out:
        print(server.server_address[1], file=out)
    os.rename(port_file + ".new", port_file)
    server.serve_forever()
