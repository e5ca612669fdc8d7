# SPDX-License-Identifier: Apache-2.0
# waitingcodes.py issuer: an issuer of identities, which says its port. Its token endpoint never answers the code "held",
# and refuses any other; /met says how many came to it so far.
# waitingcodes.py URL ISSUER: strangers send the market codes that are none. Says what became of them, and of who is at
# another address meanwhile.
import http.server, json, select, socket, sys, threading, time, urllib.request

class Issuer(http.server.BaseHTTPRequestHandler):
    met = 0

    def say(self, status, what):
        text = json.dumps(what).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        me = 'http://127.0.0.1:%d' % self.server.server_port
        self.say(200, Issuer.met if self.path == '/met' else {'keys': []} if self.path == '/keys' else {
            'issuer': me, 'jwks_uri': me + '/keys', 'authorization_endpoint': me + '/auth',
            'token_endpoint': me + '/token', 'device_authorization_endpoint': me + '/device'})

    def do_POST(self):
        Issuer.met += 1
        if b'code=held&' in self.rfile.read(int(self.headers['Content-Length'])):
            threading.Event().wait()
        self.say(400, {'error': 'invalid_grant'})

    def log_message(self, *ignored):
        pass

if sys.argv[1] == 'issuer':
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Issuer)
    print(server.server_port, flush=True)
    server.serve_forever()

host, port = sys.argv[1].split('//')[1].split(':')
EACH, TAKEN = 16, 4

def send(address, code):
    s = socket.create_connection((host, int(port)), source_address=(address, 0))
    body = json.dumps({'code': code, 'code_verifier': 43 * 'v', 'nonce': 22 * 'n', 'redirect_uri': 'http://m/'}).encode()
    s.sendall(b'POST /np/v1/signin/page HTTP/1.1\r\nHost: m\r\nOrigin: http://m\r\nNanopod-Page: 1\r\n'
              b'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body))
    return s

def status(s):
    s.settimeout(60)
    with s:
        return int(s.recv(4096).split(b' ', 2)[1])

def met():
    return int(urllib.request.urlopen(sys.argv[2] + '/met').read())

# One failure a second comes back, so what comes to the issuer depends on the time that it takes.
def fail(address):
    for tried in range(100):
        if 429 in [status(s) for s in [send(address, 'junk') for _ in range(TAKEN)]]:
            break
    else:
        return 'never refused'
    before, start = met(), time.monotonic()
    answers = [status(send(address, 'junk')) for _ in range(40)]
    more, most = met() - before, time.monotonic() - start + 1
    return 'refused' if more <= most else '%d of 40 came to the issuer in %d s: %s' % (more, most, answers)

# An issuer is given some seconds: what took longer is tried again.
for n in range(20):
    sent = [send('127.3.%d.%d' % (n, a), 'held') for a in (1, 2) for _ in range(EACH)]
    third = status(send('127.3.%d.3' % n, 'junk'))
    late = len(select.select(sent, [], [], 0)[0])
    answers = [status(s) for s in sent]
    if (third, late) == (401, 2 * (EACH - TAKEN)):
        break
print('third: %s' % third)
print('at once: %s' % late)
print('failures: %s' % fail('127.4.0.1'))
print('another: %s' % status(send('127.4.0.2', 'junk')))
