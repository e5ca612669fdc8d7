# SPDX-License-Identifier: Apache-2.0
# waiting.py URL TOKEN: strangers take all the places that they get for requests that wait, each from an address of its own,
# while the market's issuer of identities hangs. Says who was refused, and whether a customer with TOKEN still finds a
# place. A market gives its issuer some seconds: what took longer is tried again.
import select, socket, sys, time

host, port = sys.argv[1].split('//')[1].split(':')
token, PER_ADDRESS, STRANGERS = sys.argv[2], 16, 128
body = b'{"id_token":"e30.e30.e30"}'
ask = b'POST /np/v1/signin HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body)
live = b'GET /np/v1/live HTTP/1.1\r\nHost: m\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n' % token.encode()
open_ones = []

def send(address, text):
    s = socket.create_connection((host, int(port)), source_address=(address, 0))
    s.sendall(text)
    open_ones.append(s)
    return s

def status(s, patience):
    ready, _, _ = select.select([s], [], [], patience)
    return int(s.recv(4096).split(b' ', 2)[1]) if ready else None

def ping():  # what was sent before is answered, or waits
    s = socket.create_connection((host, int(port)))
    s.sendall(b'GET /healthz HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n')
    while s.recv(4096):
        pass

def round_once():
    waiting = [send('127.1.0.1', ask) for _ in range(PER_ADDRESS)]
    ping()
    said = ['one address: %s' % status(send('127.1.0.1', ask), 60)]
    for n in range(1, STRANGERS // PER_ADDRESS):
        waiting += [send('127.1.%d.1' % n, ask) for _ in range(PER_ADDRESS)]
    ping()
    said.append('all strangers: %s' % status(send('127.2.0.1', ask), 60))
    said.append('a customer: %s' % status(send('127.2.0.2', live), 60))
    ping()
    answered = sum(status(s, 0) is not None for s in waiting)
    return said, answered

for n in range(20):
    said, answered = round_once()
    for s in open_ones:
        s.close()
    open_ones = []
    if not answered:
        break
    time.sleep(1)
print('\n'.join(said + ['waiting and answered: %d' % answered]))
