"""N19: no other resolver answers."""
import net_world
from net_world import METADATA, PUBLIC


def attempt(self):
    for server in (PUBLIC, net_world.DNS, METADATA):
        for how in ('tcp_=True', 'tcp_=False'):
            self.assertEqual(
                self.ask('ok.example', f'server={server!r}', how),
                'EHOSTUNREACH')
