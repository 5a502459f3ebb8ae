"""Takes a GiB. The limit is far below: it must end as out_of_memory."""
from guard import got

block = bytearray(1 << 30)
for at in range(0, len(block), 4096):
    block[at] = 1
got('a GiB of memory')
