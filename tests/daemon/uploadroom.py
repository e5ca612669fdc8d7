# SPDX-License-Identifier: Apache-2.0
# uploadroom.py PORT PATH EACH: strangers of eight addresses begin bodies that they never end, EACH of each. Says what came of
# them whose connection the market did not close, and waits until its input ends.
import socket
import sys

port, path, each = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
kept = []
for n in range(8 * each):
    s = socket.socket()
    s.bind((f'127.0.0.{20 + n % 8}', 0))
    s.settimeout(20)
    try:
        s.connect(('127.0.0.1', port))
        s.sendall(f'POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 65000\r\n\r\n'.encode() + b'x' * 64000)
    except OSError:
        pass
    kept.append(s)
print('begun', len(kept), flush=True)
sys.stdin.read()
