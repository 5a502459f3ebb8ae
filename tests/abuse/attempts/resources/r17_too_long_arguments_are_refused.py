"""R17: an argument of 128 KiB, and more of them than the stack takes, are
E2BIG inside; a start that asks for such is told so and harms nobody."""
import stack


def attempt(self):
    self.both(r'''
import resource
for what, argv in (('one', ['true', 'x' * (128 << 10)]),
                   ('many', ['true'] + ['x' * 1023] * 4096)):
    try:
        os.execv('/bin/true', argv)
    except OSError as e:
        refused(what, errno.errorcode[e.errno], 'E2BIG')
''')
    for argv in (['/bin/true', 'x' * (128 << 10)],
                 ['/bin/true'] + ['x' * 1023] * 4096,
                 ['/bin/true'] + ['x'] * 200000):
        try:
            done = self.box.run(argv)
            self.assertNotEqual(done.code, 0, done)
        except stack.Refused as e:
            self.assertIn(e.code, ('arg', 'limit', 'not_found'))
        except stack.Broken:
            pass  # more than the keeper takes: it has dropped who sent it
