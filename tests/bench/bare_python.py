"""A Python loop with nothing around it: runs each line that comes in and
prints one line when it is done."""
import sys

names = {}
for line in sys.stdin:
    exec(compile(line, "cell", "exec"), names)
    sys.stdout.write("done\n")
    sys.stdout.flush()
