"""Programs outside have their powers only."""
import os


def attempt(self):
    keeper, init = self.box.pids()
    slot = self.box.slot()
    for pid, uid, caps in ((keeper, 0x0f000000 + slot, 0),
                           (init, 0x10000000 + slot * 65536 + 65533,
                            sum(1 << c for c in (0, 1, 3, 4, 5, 6, 7, 8,
                                                 31)))):
        with open(f'/proc/{pid}/status', encoding='ascii') as file:
            status = dict(line.split(':', 1) for line in file)
        self.assertEqual(status['Uid'].split(), [str(uid)] * 4)
        self.assertEqual(status['Gid'].split(), [str(uid)] * 4)
        self.assertEqual(status['Groups'].split(), [])
        self.assertEqual(status['NoNewPrivs'].strip(), '1')
        for name in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb'):
            self.assertEqual(int(status[name], 16) & ~caps, 0, name)
    self.assertEqual(os.listdir(f'/proc/{keeper}/root'), [])
