"""lines_stored.py LOGS_DB SANDBOX_ID LINES

Reads what the database has of the processes that ran guest/lines.py, and says
as JSON for each: how many lines, how many chunks, and what is wrong with them:
a number that is missing among the chunks, a line that is missing, doubled or
out of order.
"""
import json
import sqlite3
import sys

WRONG_MAX = 5


def lines_wrong(text, want):
    lines = text.split(b'\n')
    wrong = [] if lines.pop() == b'' else ['the last line is not whole']
    name = lines[0].split(b' ')[0] if lines else b''
    for i, line in enumerate(lines):
        if line != b'%s %08d' % (name, i):
            wrong.append(f'line {i} is {line!r}')
            if len(wrong) == WRONG_MAX:
                break
    if len(lines) != want:
        wrong.append(f'{len(lines)} lines, not {want}')
    return name, len(lines), wrong


def main():
    path, sandbox, want = sys.argv[1], sys.argv[2], int(sys.argv[3])
    base = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    answer = []
    for log, last in base.execute(
            'SELECT id, last_seq FROM logs WHERE sandbox_id = ? AND gone = 0 '
            'ORDER BY id', (sandbox,)).fetchall():
        rows = base.execute('SELECT seq, kind, data FROM chunks '
                            'WHERE log_id = ? ORDER BY seq', (log,)).fetchall()
        text = b''.join(data for _, kind, data in rows if kind == 1)
        if not text.startswith(b'p'):
            continue
        name, lines, wrong = lines_wrong(text, want)
        if [seq for seq, _, _ in rows] != list(range(1, last + 1)):
            wrong.append('chunks are not numbered 1, 2, …')
        if not rows or rows[-1][1] != 6:
            wrong.append('no end')
        answer.append({'name': name.decode(), 'lines': lines,
                       'chunks': len(rows), 'wrong': wrong})
    print(json.dumps(answer))


main()
