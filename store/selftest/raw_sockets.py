"""Sockets below TCP and UDP, and families that a sandbox has no use for."""
import socket

from guard import got

NETLINK, PACKET, VSOCK, ALG, KEY, XDP, BLUETOOTH, CAN, TIPC, SMC = (
    16, 17, 40, 38, 15, 44, 31, 29, 30, 43)
KINDS = [('raw IPv4', socket.AF_INET, socket.SOCK_RAW, 255),
         ('raw ICMP', socket.AF_INET, socket.SOCK_RAW, 1),
         ('raw IPv6', socket.AF_INET6, socket.SOCK_RAW, 255),
         ('packet', PACKET, socket.SOCK_RAW, 0x300),
         ('packet, cooked', PACKET, socket.SOCK_DGRAM, 0x300),
         ('vsock', VSOCK, socket.SOCK_STREAM, 0),
         ('kernel crypto', ALG, socket.SOCK_SEQPACKET, 0),
         ('key', KEY, socket.SOCK_RAW, 2), ('xdp', XDP, socket.SOCK_RAW, 0),
         ('bluetooth', BLUETOOTH, socket.SOCK_RAW, 1),
         ('can', CAN, socket.SOCK_RAW, 1), ('tipc', TIPC, socket.SOCK_DGRAM, 0),
         ('smc', SMC, socket.SOCK_STREAM, 0),
         ('netlink audit', NETLINK, socket.SOCK_RAW, 9),
         ('netlink netfilter', NETLINK, socket.SOCK_RAW, 12),
         ('netlink uevent', NETLINK, socket.SOCK_RAW, 15)]
for name, family, kind, protocol in KINDS:
    try:
        socket.socket(family, kind, protocol).close()
        got('a socket: ' + name)
    except OSError:
        pass
