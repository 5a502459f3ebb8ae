"""A keeper and the kernels that wait in it: KF_SPARE, KF_CLAIM, FORKED."""
import array
import os
import socket
import struct
import unittest

import lone
import stack

KM_FORKED, KM_FDS = 19, 0x8b
FORKED, SPARE, CLAIM = 128, 2048, 4096  # flags of START
ADOPT = 0x23
XM_RUN, XM_BEGIN = 0x40, 0x42
READY, RESULT, DONE = 0x50, 0x51, 0x54


def take_hand(wire):
    """The descriptors of a FDS frame; Refused if there are none."""
    data, _, _, _ = wire.sock.recvmsg(16, 0, socket.MSG_PEEK)
    if struct.unpack('<IHHII', data)[1] == stack.REFUSED:
        raise stack.Refused(wire.recv()[2])
    fds = array.array('i')
    _, parts, _, _ = wire.sock.recvmsg(16, socket.CMSG_SPACE(16))
    for _, _, part in parts:
        fds.frombytes(part)
    return list(fds)


class Spare:
    """One that waits: its kernel is the test."""

    def __init__(self, keeper, id_, pid=100, most=1, **how):
        self.keeper = keeper
        how = {'kind': stack.KERNEL, 'flags': FORKED | SPARE,
               'grace_ms': most, **how}
        self.wire = keeper.start(id_, **how)
        self.fds = take_hand(self.wire)
        self.kernel = stack.Wire(socket.socket(fileno=self.fds.pop()))
        self.tag = 0
        if pid:
            self.forked(pid)

    def forked(self, pid):
        self.wire.send(KM_FORKED, 2, stack.text(self.wire.id) +
                       struct.pack('<I', pid))
        if pid == 0:
            return
        _, self.tag, payload, _ = self.keeper.init.next(ADOPT)
        assert payload == struct.pack('<I', pid)
        self.keeper.init.send(lone.SPAWNED, self.tag, payload)
        kind, _, told = self.wire.recv()
        assert (kind, told[:4]) == (stack.STARTED, payload), kind

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        self.kernel.sock.close()
        self.wire.sock.close()

    def dies(self):
        self.close()
        self.keeper.init.exited(self.tag, 9, 1)


class KeeperSpare(unittest.TestCase):
    def setUp(self):
        self.keeper = self.make_keeper()

    def make_keeper(self):
        keeper = lone.LoneKeeper()
        self.addCleanup(keeper.close)
        return keeper

    def spare(self, id_='s', keeper=None, **how):
        spare = Spare(keeper or self.keeper, id_, **how)
        self.addCleanup(spare.close)
        return spare

    def claim(self, id_, keeper=None, argv=('x',), **how):
        wire = (keeper or self.keeper).client()
        self.addCleanup(wire.sock.close)
        how = {'kind': stack.KERNEL, 'flags': CLAIM, **how}
        wire.send(stack.KM_START, 1, stack.put_start(id_, list(argv), **how))
        return wire

    def refused(self, wire):
        kind, _, payload = wire.recv()
        self.assertEqual(kind, stack.REFUSED)
        return stack.Refused(payload).code

    def test_a_claimed_one_has_the_id_the_beginning_and_the_starter(self):
        spare = self.spare(pid=101)
        wire = self.claim('k', cwd='/usr', env=['A=b'])
        kind, _, payload = spare.kernel.recv()
        self.assertEqual(kind, XM_BEGIN)
        self.assertEqual(payload.split(b'\0')[0], b'/usr')
        self.assertIn(b'A=b', payload.split(b'\0'))
        with self.assertRaises(TimeoutError):
            wire.recv(0.1)
        spare.kernel.send(READY, 0, b'{}')
        kind, _, payload = wire.recv()
        self.assertEqual((kind, struct.unpack('<I', payload[:4])[0]),
                         (stack.STARTED, 101))
        with self.keeper.client() as run:
            run.send(stack.KM_RUN, 1, stack.text('k') + stack.text('r') +
                     struct.pack('<IQQ', stack.ATTACH, 0, 0) +
                     stack.text('{}'))
            self.assertEqual(run.recv()[0], stack.STARTED)
            kind, tag, _ = spare.kernel.recv()
            self.assertEqual(kind, XM_RUN)
            spare.kernel.send(DONE, tag, b'{}')
            self.assertEqual(stack.collect(run).reason, 'exited')

    def test_one_is_claimed_once(self):
        self.spare()
        self.claim('k1')
        self.assertEqual(self.refused(self.claim('k2')), 'not_found')
        self.assertEqual(self.refused(self.claim('k1')), 'exists')
        self.assertTrue(self.keeper.pings())

    def test_no_other_sandbox_claims_it(self):
        other = self.make_keeper()
        spare = self.spare()
        self.assertEqual(self.refused(self.claim('k', other)), 'not_found')
        with self.assertRaises(TimeoutError):
            spare.kernel.recv(0.1)
        self.claim('k')
        self.assertEqual(spare.kernel.recv()[0], XM_BEGIN)

    def test_one_of_another_kind_is_not_claimed(self):
        spare = self.spare(user='root')
        for how in ({'user': 'sandbox'}, {'user': ''},
                    {'user': 'root', 'argv': ['y']},
                    {'user': 'root', 'argv': ['x', 'x']},
                    {'user': 'root', 'argv': ['x\1x']},
                    {'user': 'root', 'argv': ['']}):
            with self.subTest(how=how):
                self.assertEqual(self.refused(self.claim('k', **how)),
                                 'not_found')
        self.claim('k', user='root')
        self.assertEqual(spare.kernel.recv()[0], XM_BEGIN)

    def test_one_that_is_not_forked_yet_is_not_claimed(self):
        spare = self.spare(pid=0)
        self.assertEqual(self.refused(self.claim('k')), 'not_found')
        spare.forked(0)
        self.assertEqual(spare.wire.recv()[0], stack.OK)
        self.assertEqual(self.refused(self.claim('k')), 'not_found')

    def test_one_that_died_is_not_claimed_and_makes_room(self):
        spare = self.spare()
        with self.assertRaises(stack.Refused) as e:
            self.spare('s2')
        self.assertEqual(e.exception.code, 'limit')
        spare.dies()
        stack.until(5, 'room for another', self.has_room)
        self.assertTrue(self.keeper.pings())

    def has_room(self):
        try:
            self.spare(f'n{next(stack.numbers)}')
            return True
        except stack.Refused:
            return False

    def test_one_that_dies_as_it_is_claimed_is_told_and_forgotten(self):
        spare = self.spare()
        wire = self.claim('k')
        spare.dies()
        self.refused(wire)
        self.assertEqual(self.refused(self.claim('k')), 'not_found')
        self.assertTrue(self.keeper.pings())

    def test_what_lies_before_it_is_claimed_is_killed_and_never_claimed(self):
        lies = {'unknown': stack.frame(0x99, 1),
                'ours': stack.frame(XM_BEGIN, 0),
                'over the cap': ((64 << 20) + 1).to_bytes(4, 'little') +
                                bytes(12),
                'descriptors': stack.frame(RESULT, 1, fds=1), 'the end': None}
        for n, (name, data) in enumerate(lies.items()):
            with self.subTest(frame=name):
                spare = self.spare(f's{n}', most=8)
                if data is None:
                    spare.kernel.sock.shutdown(socket.SHUT_RDWR)
                else:
                    spare.kernel.sock.sendall(data)
                _, tag, payload, _ = self.keeper.init.next(lone.SIGNAL)
                self.assertEqual((tag, payload[0]), (spare.tag, 9))
                self.assertEqual(self.refused(self.claim('k')), 'not_found')
                spare.dies()
        self.assertTrue(self.keeper.pings())

    def test_malformed_starts_are_refused(self):
        for name, how in {
                'spare, not forked': {'flags': SPARE},
                'spare, to attach': {'flags': SPARE | FORKED | 1},
                'spare and claim': {'flags': SPARE | FORKED | CLAIM},
                'claim and forked': {'flags': CLAIM | FORKED},
                'claim, to attach': {'flags': CLAIM | 1},
                'claim of a call': {'flags': CLAIM, 'kind': stack.CALL},
                'claim of a file job': {'flags': CLAIM, 'kind': stack.FS},
                'spare call': {'flags': SPARE | FORKED, 'kind': stack.CALL},
                'spare with stdin': {'flags': SPARE | FORKED, 'stdin': b'x',
                                     'grace_ms': 1},
                'a stranger\'s user': {'flags': CLAIM, 'user': 'nobody'},
                'no argv': {'flags': CLAIM, 'argv': []}}.items():
            with self.subTest(name):
                self.assertEqual(self.refused(self.claim('k', **how)), 'arg')
        self.spare(most=8)
        for id_ in ('', 'a/b', '../k', 'a b'):
            with self.subTest(id=id_):
                self.assertEqual(self.refused(self.claim(id_)), 'arg')
        self.assertEqual(self.refused(self.claim(
            'k', flags=SPARE | FORKED, grace_ms=0)), 'limit')

    def test_malformed_and_foreign_forked_frames_change_nothing(self):
        spare = self.spare(pid=0)
        for name, payload in {
                'empty': b'', 'no pid': stack.text('s'),
                'more': stack.text('s') + bytes(5),
                'length': b'\xff\xff\xff\xff' + bytes(8)}.items():
            with self.subTest(name), self.keeper.client() as wire:
                wire.send(KM_FORKED, 2, payload)
                self.assertTrue(wire.closed())
        for id_ in ('none', ''):
            with self.subTest(id=id_), self.keeper.client() as wire:
                wire.send(KM_FORKED, 2, stack.text(id_) + bytes(4))
                self.assertEqual(self.refused(wire), 'not_found')
        spare.forked(102)
        for pid in (0, 102, 103):  # once is enough
            with self.subTest(pid=pid), self.keeper.client() as wire:
                wire.send(KM_FORKED, 2, stack.text('s') +
                          struct.pack('<I', pid))
                self.assertEqual(self.refused(wire), 'state')
        self.claim('k')
        self.assertEqual(spare.kernel.recv()[0], XM_BEGIN)


if __name__ == '__main__':
    stack.main()
