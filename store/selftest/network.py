"""Leaves the sandbox's own loopback; the argument is the service's port,
which listens on the host's."""
import socket
import sys

from guard import got

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 80
for host, port in (('1.1.1.1', 53), ('8.8.8.8', 443), ('169.254.169.254', 80),
                   ('10.0.0.1', 80), ('172.16.0.1', 80), ('192.168.0.1', 80),
                   ('127.0.0.1', PORT), ('::1', PORT),
                   ('2606:4700::1111', 443)):
    try:
        socket.create_connection((host, port), 1).close()
        got(f'connected to {host} port {port}')
    except OSError:
        pass
with open('/proc/net/dev') as devices:
    for line in devices.read().splitlines()[2:]:
        if line.split(':')[0].strip() != 'lo':
            got('a device: ' + line.split(':')[0].strip())
for path in ('/run/docker.sock', '/run/warren/broker.sock',
             '/run/systemd/private', '/run/dbus/system_bus_socket'):
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            got('connected to ' + path)
        except OSError:
            pass
