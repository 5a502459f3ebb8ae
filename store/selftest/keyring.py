"""Keyrings, which belong to a user id and to no namespace."""
from guard import refused, unreadable

refused('keyctl: session keyring', 250, 0, -3, 1)
refused('keyctl: join a session', 250, 1, 0)
refused('add_key', 248, b'user', b'a', b'b', 1, -2)
refused('request_key', 249, b'user', b'a', 0, -2)
unreadable('/proc/keys')
