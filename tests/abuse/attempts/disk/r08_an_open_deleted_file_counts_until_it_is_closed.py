"""R8: an open deleted file counts until it is closed."""
import stack


def attempt(self):
    box = self.another()
    free, _ = self.free(box)
    done = box.sh('exec 5>/workspace/x; rm /workspace/x; '
                  'head -c 60M /dev/zero >&5; '
                  'head -c 10M /dev/zero >/workspace/y')
    self.assertEqual(done.code, 1, done)
    self.assertIn('No space left', done.stderr)
    self.assertEqual(box.sh('rm /workspace/y').code, 0)
    stack.until(5, 'all is free', lambda: self.free(box)[0] == free)
