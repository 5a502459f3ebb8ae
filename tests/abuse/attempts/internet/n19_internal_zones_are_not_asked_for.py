"""N19: internal zones are not asked for."""


def attempt(self):
    for name in ('metadata.internal', 'db.corp', 'printer.local',
                 'nas.lan', 'x.home.arpa', '1.1.168.192.in-addr.arpa'):
        got = self.ask(name, 'kind=12' if 'addr' in name else 'kind=1')
        self.assertIn(got, ('code 3', 'code 2', 'code 5'), name)
