# SPDX-License-Identifier: Apache-2.0
# DOUBLE of an S3 server for tests, with the options of s3rver: objects are files, what they are called and their headers a
# JSON beside each. It knows the id S3RVER, and verifies no signature.
import hashlib, json, os, re, sys
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
folder, bucket = given["-d"], given["--configure-bucket"]
where = lambda key: os.path.join(folder, quote(key, safe=""))


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.say(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        name, _, key = unquote(url.path)[1:].partition("/")
        if "Credential=S3RVER/" not in self.headers.get("Authorization", ""):
            return self.refuse(403, "InvalidAccessKeyId")
        if name != bucket:
            return self.refuse(404, "NoSuchBucket")
        if not key:
            return self.list({k: v[0] for k, v in parse_qs(url.query, keep_blank_values=True).items()})
        if self.command == "PUT":
            return self.put(key, body)
        if not os.path.exists(where(key)):
            return self.refuse(404, "NoSuchKey") if self.command != "DELETE" else self.say(204)
        if self.command == "DELETE":
            os.remove(where(key))
            os.remove(where(key) + ".json")
            return self.say(204)
        self.give(key)

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_any

    def give(self, key):
        data, kept = open(where(key), "rb").read(), json.load(open(where(key) + ".json"))
        at = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        part = data[int(at[1]) : int(at[2]) + 1 if at[2] else None] if at else data
        kept["Last-Modified"] = formatdate(os.path.getmtime(where(key)), usegmt=True)
        if at:
            kept["Content-Range"] = f"bytes {at[1]}-{int(at[1]) + len(part) - 1}/{len(data)}"
        self.say(206 if at else 200, part, kept)

    def put(self, key, body):
        source = self.headers.get("x-amz-copy-source")
        if source:
            body = open(where(unquote(source).lstrip("/").partition("/")[2]), "rb").read()
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        kept = {k: v for k, v in self.headers.items() if k.lower().startswith("x-amz-meta-") or k.lower() == "content-type"}
        with open(where(key) + ".new", "wb") as f:
            f.write(body)
        json.dump({**kept, "ETag": etag}, open(where(key) + ".json", "w"))
        os.rename(where(key) + ".new", where(key))
        copied = f"<CopyObjectResult><ETag>{escape(etag)}</ETag></CopyObjectResult>".encode() if source else b""
        self.say(200, copied, {"ETag": etag})

    def list(self, query):
        prefix, delimiter, keys, folders = query.get("prefix", ""), query.get("delimiter", ""), [], set()
        for file in sorted(os.listdir(folder)):
            key = unquote(file)
            if file.endswith((".json", ".new")) or not key.startswith(prefix):
                continue
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            folders.add(prefix + head + delimiter) if found else keys.append((key, os.path.getsize(where(key))))
        self.say(200, (
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
            + "".join(f"<Contents><Key>{escape(k)}</Key><Size>{n}</Size></Contents>" for k, n in keys)
            + "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in sorted(folders))
            + "</ListBucketResult>").encode())


ThreadingHTTPServer((given["-a"], int(given["-p"])), Server).serve_forever()
