"""N4: the gateway has a resolver and nothing else."""
from net_world import REFUSED, RESOLVER


def attempt(self):
    for address in (self.box.gateway(), RESOLVER):
        for port in (22, 80, 5353, 8080):
            self.assertEqual(self.box.tcp(address, port), REFUSED)
    self.assertEqual(self.box.tcp(self.box.gateway(), 53), REFUSED)
    self.assertGreaterEqual(self.box.denials()['gateway'], 8)
