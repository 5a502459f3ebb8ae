"""Many starts at once all run. More than one link can carry at a time, with
long commands."""
import stack


def attempt(self):
    calls = [self.box.start(['/bin/echo', 'x' * 120000])
             for _ in range(40)]
    for call in calls:
        self.assertEqual(stack.collect(call).out_bytes, 120001)
        call.sock.close()
