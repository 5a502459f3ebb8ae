"""R13: a client that stops reading holds up neither the program's other
stream, nor another reader, nor its end."""
import stack


def attempt(self):
    wire = self.box.start(
        ['/bin/bash', '-c', 'head -c 30000000 /dev/zero | tr "\\0" x; '
         'echo on the other >&2; exit 4'])
    wire.recv()
    with self.box.keeper() as other:
        other.send(stack.KM_ATTACH, 1, stack.text(wire.id) + bytes(8) + b'\1')
        done = stack.collect(other)
    self.assertEqual((done.reason, done.code), ('exited', 4), done)
    self.assertIn('on the other', done.stderr)
    self.assertEqual(done.out_bytes, 30000000)
    wire.sock.close()
