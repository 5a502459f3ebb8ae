"""Whether forked kernels work here: run two before any request is taken.

Their code is this file's. They are siblings, so what must differ between
siblings is compared.
"""

import json
import os
import socket

from . import child
from .protocol import ACK, BEGIN, DONE, ERROR, HEAD, READY, RESULT, RUN

CODE = """\
import os, random, ssl, numpy
os.getpid(), random.random(), numpy.random.random(), ssl.RAND_bytes(8)
"""
LIMIT_S = 20


def run(kernel):
    """Raises SystemExit if a fork of this process is no kernel."""
    seen = [eval(_ask(kernel), {"__builtins__": {}}) for _ in range(2)]
    if any(one == other for one, other in zip(*seen)):
        raise SystemExit(f"zygote: siblings are alike: {seen}")


def _ask(kernel):
    """The text of CODE's value in a forked kernel."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _child(kernel, ours, theirs)
    theirs.close()
    try:
        ours.settimeout(LIMIT_S)
        return _run(ours)
    except OSError as exc:
        raise SystemExit(f"zygote: self-test: {exc!r}") from exc
    finally:
        ours.close()
        os.waitpid(pid, 0)


def _child(kernel, ours, theirs):
    try:
        ours.close()
        os.dup2(theirs.fileno(), 3)
        os.closerange(4, 64)
        child.run(kernel, 3)
    finally:
        os._exit(1)


def _run(sock):
    env = b"PATH=/usr/bin:/bin\0HOME=/root\0LANG=C.UTF-8\0"
    _send(sock, BEGIN, b"/\0" + env)
    if _receive(sock)[0] != READY:
        raise OSError("no READY")
    _send(sock, RUN, json.dumps({"code": CODE}).encode())
    text = None
    while True:
        kind, payload = _receive(sock)
        if kind == RESULT:
            text = json.loads(payload)["mime"]["text/plain"]
            _send(sock, ACK, b"")
        elif kind == ERROR:
            raise OSError(payload.decode())
        elif kind == DONE:
            if text is None:
                raise OSError("no result")
            return text


def _send(sock, kind, payload):
    sock.sendall(HEAD.pack(len(payload), kind, 0, 1, 0) + payload)


def _receive(sock):
    size, kind, _fds, _tag, _zero = HEAD.unpack(_exactly(sock, HEAD.size))
    return kind, _exactly(sock, size)


def _exactly(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise OSError("the kernel ended")
        data += part
    return data
