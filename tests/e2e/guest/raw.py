"""raw.py PORT: a server of bytes. It writes what it is sent, as text, and
answers what was posted to /answer last, then hangs up; else what it was sent."""
import socket
import sys


def take(peer):
    got = b''
    while b'\r\n\r\n' not in got:
        more = peer.recv(65536)
        if not more:
            return got, b''
        got += more
    head, body = got.split(b'\r\n\r\n', 1)
    length = 0
    for line in head.split(b'\r\n'):
        name, _, value = line.partition(b':')
        if name.lower() == b'content-length':
            length = int(value)
        if name.lower() == b'expect':
            peer.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
    while len(body) < length:
        body += peer.recv(65536)
    return head, body


server = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=64)
print('raw listens', flush=True)
answer = b''
while True:
    link, _ = server.accept()
    with link:
        request, content = take(link)
        if request.startswith(b'POST /answer '):
            answer = content
            link.sendall(b'HTTP/1.0 204 OK\r\n\r\n')
        elif request.startswith(b'GET /answer '):
            link.sendall(answer)
        else:
            text = request + b'\r\n\r\n' + content
            link.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n'
                         b'Connection: close\r\n\r\n' % len(text) + text)
