"""What a keeper tells a recorder, and when: the test is the recorder."""
import os
import struct
import threading
import unittest

import lone
import stack

STARTING, RUNNING = 1, 2


def item_of(payload):
    """(id, state)"""
    size = struct.unpack('<I', payload[:4])[0]
    return payload[4:4 + size].decode(), payload[4 + size + 2]


class Recorder(stack.Wire):
    """Subscribed, from its first frame on."""

    def __init__(self, keeper):
        super().__init__(keeper.client().sock)
        self.ids = {}
        self.send(stack.KM_SUBSCRIBE, 1)

    def item(self):
        """The next execution that is told."""
        while True:
            kind, tag, payload = self.recv()
            if (kind, tag) == (stack.ITEM, 1):
                return item_of(payload)

    def snapshot(self):
        """All that is told before the answer to a later frame."""
        self.send(stack.KM_PING, 2)
        found = set()
        while True:
            kind, _, payload = self.recv()
            if kind == stack.OK:
                return found
            found.add(item_of(payload))

    def attach(self, id_):
        self.ids[10 + len(self.ids)] = id_
        tag = max(self.ids)
        self.send(stack.KM_ATTACH, tag, stack.text(id_) + bytes(8) + b'\1')
        return tag

    def heard(self, tag):
        """The type of the next frame of that tag."""
        while True:
            kind, of, _ = self.recv()
            if of == tag:
                return kind

    def follow(self, *ids):
        """Attach to all, commit what comes at once; what became of each."""
        out, ended = dict.fromkeys(ids, b''), {}
        for id_ in ids:
            self.attach(id_)
        while len(ended) < len(ids):
            kind, tag, payload = self.recv()
            if kind != stack.EVENT:
                continue
            id_ = self.ids[tag]
            seq, what, data = stack.get_event(payload)
            if what == stack.END:
                ended[id_] = stack.Ended(out[id_], b'', data)
                continue
            out[id_] += data
            self.send(stack.KM_ACK, 1,
                      stack.text(id_) + struct.pack('<Q', seq))
        return ended


class KeeperRecorder(unittest.TestCase):
    def setUp(self):
        self.keeper = lone.LoneKeeper()
        self.addCleanup(self.keeper.close)
        self.init = self.keeper.init

    def recorder(self):
        recorder = Recorder(self.keeper)
        self.addCleanup(recorder.sock.close)
        return recorder

    def running(self, id_, **how):
        wire = self.keeper.start(id_, **how)
        self.addCleanup(wire.sock.close)
        tag, fds = self.init.take()
        self.assertEqual(wire.recv()[0], stack.STARTED)
        return wire, tag, fds

    def test_each_execution_is_told_once_whether_it_runs_or_has_ended(self):
        recorder = self.recorder()
        self.assertEqual(recorder.snapshot(), set())
        ids = [f'a{n}' for n in range(40)]
        for id_ in ids:
            wire, tag, fds = self.running(id_)
            for fd in fds:
                os.close(fd)
            if id_ != ids[-1]:
                self.init.exited(tag)
                stack.collect(wire)
        told = [recorder.item()[0] for _ in ids]
        self.assertEqual(sorted(told), sorted(ids))
        # Nothing follows but what begins later.
        self.running('last')
        self.assertEqual(recorder.item()[0], 'last')

    def test_what_was_printed_before_it_was_told_is_there(self):
        recorder = self.recorder()
        _, tag, fds = self.running('a', ring=64 << 10, flags=0)
        printed = os.urandom(64) * (1 << 14)  # 1 MiB, the ring is a part

        def prints():
            left = memoryview(printed)
            while left:
                left = left[os.write(fds[1], left):]
            for fd in fds:
                os.close(fd)
            self.init.exited(tag)

        writer = threading.Thread(target=prints)
        writer.start()
        self.assertEqual(recorder.item()[0], 'a')
        ended = recorder.follow('a')['a']
        writer.join()
        self.assertEqual(ended.out, printed)

    def test_a_sandbox_that_ends_tells_what_it_has_not_told_yet(self):
        recorder = self.recorder()
        for n in range(20):
            _, _, fds = self.running(f'a{n}')
            os.write(fds[1], b'out')
        self.init.sock.close()
        told = {recorder.item()[0] for _ in range(20)}
        self.assertEqual(len(told), 20)
        for ended in recorder.follow(*told).values():
            self.assertEqual((ended.reason, ended.out),
                             ('sandbox_gone', b'out'))
        self.assertEqual(self.keeper.ended(), 0)

    def waits(self, id_, session):
        """A call that is behind another one of its session."""
        wire = self.keeper.start(id_, session=session)
        self.addCleanup(wire.sock.close)

        def known():
            with self.keeper.client() as other:
                return other.ask(stack.KM_STATUS,
                                 stack.text(id_))[0] == stack.ITEM

        stack.until(10, 'it waits', known)
        return wire

    def test_what_waits_for_its_turn_is_told_to_one_that_comes(self):
        self.running('first', session='s')
        self.waits('second', 's')
        self.assertEqual(self.recorder().snapshot(),
                         {('first', RUNNING), ('second', STARTING)})

    def test_who_follows_what_waits_hears_that_it_will_not_begin(self):
        self.running('first', session='s')
        starter = self.waits('second', 's')
        recorder = self.recorder()
        tag = recorder.attach('second')
        self.assertEqual(recorder.heard(tag), stack.ATTACHED)
        with self.keeper.client() as other:
            self.assertEqual(other.ask(
                stack.KM_KILL, stack.text('second') + b'\0\0\0\0\7')[0],
                stack.OK)
        self.assertEqual(recorder.heard(tag), stack.REFUSED)
        self.assertEqual(starter.recv()[0], stack.REFUSED)


if __name__ == '__main__':
    stack.main()
