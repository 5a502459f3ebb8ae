"""Frames on the control socket, and the order between them and the pipes.

Whoever reads the pipes drains them before it handles a frame, so each frame
is sent after a flush, and a RESULT waits for its ACK: what is printed later
cannot overtake it.
"""

import json
import os
import struct
import sys
from _thread import RLock, get_ident

RUN, ACK, BEGIN, INTERRUPT = 0x40, 0x41, 0x42, 0x43
READY, RESULT, ERROR, DONE = 0x50, 0x51, 0x53, 0x54
FRAME_MAX = 64 << 20
HEAD = struct.Struct("<IHHII")


class Shield:
    """Keeps KeyboardInterrupt out of the middle of a frame.

    Only the main thread is ever interrupted, so only it counts. An interrupt
    that comes while shielded is raised when the shield is left.
    """

    def __init__(self):
        self.armed = False
        self.early = False  # one came while no run was on
        self._depth = 0
        self._pending = False
        self._main = get_ident()

    def interrupt(self, _signum=None, _frame=None):
        if not self.armed:
            self.early = True
            return
        if self._depth:
            self._pending = True
        else:
            raise KeyboardInterrupt

    def disarm(self):
        self.armed = self._pending = False

    def __enter__(self):
        if get_ident() == self._main:
            self._depth += 1

    def __exit__(self, *exc):
        if get_ident() != self._main:
            return
        self._depth -= 1
        if self._depth == 0 and self._pending:
            self._pending = False
            if self.armed:
                raise KeyboardInterrupt


class Control:
    """The control socket. Any thread may send; one thread reads."""

    def __init__(self, fd, shield):
        self.move(fd)
        self.shield = shield
        self.forked = False
        self._lock = RLock()
        self._fflush = None
        os.register_at_fork(after_in_child=self._leave)

    def move(self, fd):
        """Another socket from now on; the old one is the caller's."""
        os.set_blocking(fd, True)
        os.set_inheritable(fd, False)
        self.fd = fd
        self._waiting = []

    def _leave(self):
        """In a child that the tenant's code forked: this is not its socket."""
        self.forked = True
        os.close(self.fd)

    def read(self):
        """The next frame as (type, tag, payload), or None at the end."""
        if self._waiting:
            return self._waiting.pop(0)
        return self._read()

    def _read(self):
        head = self._read_exactly(HEAD.size)
        if head is None:
            return None
        size, kind, _fds, tag, _zero = HEAD.unpack(head)
        payload = self._read_exactly(size)
        return None if payload is None else (kind, tag, payload)

    def _read_exactly(self, size):
        parts = []
        while size:
            try:
                part = os.read(self.fd, min(size, 1 << 20))
            except ConnectionError:
                return None
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, kind, tag, obj):
        """Send obj as JSON; a RESULT returns after its ACK."""
        if self.forked:
            return
        payload = encode(kind, obj)
        with self.shield, self._lock:
            self.flush()
            self._write(HEAD.pack(len(payload), kind, 0, tag, 0), payload)
            if kind == RESULT:
                self._await_ack(tag)

    def _write(self, *parts):
        parts = [memoryview(part) for part in parts if part]
        try:
            while parts:
                sent = os.writev(self.fd, parts)
                while parts and sent >= len(parts[0]):
                    sent -= len(parts.pop(0))
                if parts:
                    parts[0] = parts[0][sent:]
        except ConnectionError:
            os._exit(0)

    def _await_ack(self, tag):
        while True:
            frame = self._read()
            if frame is None:
                os._exit(0)
            if frame[0] == ACK and frame[1] == tag:
                return
            if frame[0] != ACK:
                self._waiting.append(frame)

    def interrupted(self, tag):
        """Whether run tag's INTERRUPT is here: a SIGINT never comes first."""
        from select import select
        with self.shield, self._lock:
            while select([self.fd], [], [], 0)[0]:
                frame = self._read()
                if frame is None:
                    os._exit(0)
                self._waiting.append(frame)
        return any(frame[:2] == (INTERRUPT, tag) for frame in self._waiting)

    def flush(self):
        """Empty Python's buffers and, if C code may have any, stdio's."""
        for stream in (sys.stdout, sys.stderr, sys.__stdout__,
                       sys.__stderr__):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        if self._fflush is None and "ctypes" in sys.modules:
            try:
                import ctypes
                self._fflush = ctypes.CDLL(None).fflush
            except (AttributeError, OSError):
                self._fflush = id
        if self._fflush is not None:
            self._fflush(None)


def encode(kind, obj):
    """obj as JSON bytes that fit in a frame, whatever must be left out."""
    payload = _dumps(obj)
    while len(payload) > FRAME_MAX:
        if kind == RESULT:
            obj = _without_largest(obj)
        else:
            obj = {key: _cut(value) for key, value in obj.items()}
        payload = _dumps(obj)
    return payload


def _dumps(obj):
    return json.dumps(obj, ensure_ascii=False, allow_nan=False,
                      separators=(",", ":")).encode()


def _without_largest(obj):
    """A result without its largest part; text says what is missing."""
    mime = dict(obj["mime"])
    parts = {("mime", key): value for key, value in mime.items()}
    parts.update((("top", key), obj[key]) for key in ("chart", "data")
                 if key in obj)
    sizes = {key: len(_dumps(value)) for key, value in parts.items()}
    where, key = max(sizes, key=sizes.get)
    note = f"[{key} of {sizes[where, key]} bytes is too large to send]"
    result = dict(obj, mime=mime)
    if where == "top":
        del result[key]
    elif key == "text/plain":
        mime[key] = mime[key][:1 << 20] + note
    else:
        del mime[key]
        mime["text/plain"] = mime.get("text/plain", "") + note
    return result


def _cut(value):
    if isinstance(value, str):
        return value[:1 << 20]
    if isinstance(value, list):
        return [_cut(item) for item in value[-20:]]
    return value
