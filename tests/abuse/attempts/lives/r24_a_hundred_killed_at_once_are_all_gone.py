"""R24: a hundred sandboxes with busy programs, destroyed at once, are all
gone: processes, cgroups, notes."""
import stack


def attempt(self):
    before = self.settled()
    boxes = [self.stack.sandbox(memory=64 * stack.MIB, pids=64)
             for _ in range(100)]
    pids = [pid for box in boxes for pid in box.pids()]
    for n, box in enumerate(boxes):
        box.start(['/bin/bash', '-c', 'trap "" TERM; sleep 100 & '
                   '(kill -STOP $BASHPID) & sleep 100'],
                  user=('root', 'sandbox')[n % 2]).sock.close()
    socks = []
    for box in boxes:
        sock = self.stack.connect()
        sock.send(self.stack.request(stack.DESTROY, box.id))
        socks.append(sock)
    for sock in socks:
        self.assertEqual(sock.recv(100)[16:20], bytes(4))
        sock.close()
    self.assertEqual([pid for pid in pids if stack.alive(pid)], [])
    self.assertEqual(self.settled(before), before)
