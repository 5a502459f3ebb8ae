"""commit_watch.py LOGS_DB SANDBOX_ID COUNT

Says that it is ready, then waits for COUNT chunks of guest/clock.py, and says
as JSON for each how many milliseconds passed from its write until it could be
read here. The file is asked all the time, so that the answer is the
recorder's and not a timer's.
"""
import json
import sqlite3
import sys
import time

PAUSE_S = 0.0005


def main():
    path, sandbox, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    base = sqlite3.connect(f'file:{path}?mode=ro', uri=True, timeout=5)
    version, seen, log, delays = 0, 0, None, []
    print('ready', flush=True)
    while len(delays) < count:
        time.sleep(PAUSE_S)
        now_version = base.execute('PRAGMA data_version').fetchone()[0]
        if now_version == version:
            continue
        version = now_version
        if log is None:
            log = base.execute(
                'SELECT l.id FROM logs l JOIN chunks c ON c.log_id = l.id '
                'AND c.kind = 1 WHERE l.sandbox_id = ? ORDER BY l.id DESC '
                'LIMIT 1', (sandbox,)).fetchone()
            if log is None:
                continue
        for seq, data in base.execute(
                'SELECT seq, data FROM chunks WHERE log_id = ? AND seq > ? '
                'AND kind = 1', (log[0], seen)).fetchall():
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            seen = seq
            delays.extend((now - int(at)) / 1e6 for at in data.split())
    print(json.dumps(delays))


main()
