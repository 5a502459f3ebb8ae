"""git_history.py COMMITS FILES: a stream for git fast-import.

Commits that add FILES files in all and change older ones, in directories.
"""
import random
import sys

commits, files = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(1)
out = sys.stdout.buffer
each = files // commits
made = 0


def put(number):
    body = ' '.join(f'w{rng.randrange(3000)}' for _ in range(60)) + '\n'
    path = f'd{number % 50:02}/e{number // 50 % 20:02}/f{number:05}.txt'
    out.write(f'M 100644 inline {path}\ndata {len(body)}\n{body}'.encode())


for commit in range(commits):
    out.write(f'commit refs/heads/main\nmark :{commit + 1}\n'
              f'committer a <a@b> {1700000000 + commit * 60} +0000\n'
              f'data 7\nc {commit:05}\n'.encode())
    if commit:
        out.write(f'from :{commit}\n'.encode())
    for _ in range(each):
        put(made)
        made += 1
    for _ in range(2):
        put(rng.randrange(made))
out.write(b'done\n')
