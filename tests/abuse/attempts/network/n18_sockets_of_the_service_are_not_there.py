"""N18: sockets of the service are not there."""


def attempt(self):
    self.both(r'''
import socket
for path in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET,
                 socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.connect(path)
            print(path)
        except OSError as e:
            refused(path, errno.errorcode[e.errno], 'ENOENT')
''', self.stack.run + '/broker.sock', self.stack.run + '/fcgi.sock',
              f'{self.stack.run}/keepers/{self.box.id}.sock',
              '/run/systemd/notify', '/run/dbus/system_bus_socket',
              '/run/docker.sock')
