"""R14: a flood of single bytes, a huge line without an end, zeros and bytes
that are no UTF-8 arrive exactly as they were written."""
import os


def attempt(self):
    done = self.bomb('for i in range(20000): os.write(1, bytes([i % 256]))',
                     'root', timeout_ms=20000)
    self.assertEqual(done.out, bytes(i % 256 for i in range(20000)))
    done = self.bomb('os.write(1, b"x" * 3000000)', 'root')
    self.assertEqual((done.out, done.code), (b'x' * 3000000, 0))
    noise = b'\xff\xfe\0\xc0\xaf\xed\xa0\x80\x1b[2J\r\n' + os.urandom(4000)
    done = self.bomb('for fd in (1, 2): os.write(fd, bytes.fromhex('
                     'sys.argv[1]))', 'sandbox', noise.hex())
    self.assertEqual((done.out, done.err), (noise, noise))
