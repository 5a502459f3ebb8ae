"""ipykernel by jupyter_client: each line that comes in is "new CODE" (a fresh
kernel that runs CODE, then ends, which is not waited for in the answer) or
"run CODE" (in one that stays). Answers with the milliseconds until idle."""
import os
import sys
import time

os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or it warns
from jupyter_client.manager import start_new_kernel  # noqa: E402

kept = None


def run(client, code):
    reply = client.execute_interactive(
        code, timeout=60, output_hook=lambda message: None)
    if reply["content"]["status"] != "ok":
        raise SystemExit(f"{code}: {reply['content']}")


for line in sys.stdin:
    what, code = line.rstrip("\n").split(" ", 1)
    code = code.replace("\\n", "\n")
    start = time.perf_counter()
    if what == "new":
        manager, client = start_new_kernel(kernel_name="python3")
    else:
        kept = kept or start_new_kernel(kernel_name="python3")
        manager, client = kept
        start = time.perf_counter()
    run(client, code)
    took = (time.perf_counter() - start) * 1e3
    print(took, flush=True)
    if what == "new":
        client.stop_channels()
        manager.shutdown_kernel(now=True)
if kept:
    kept[1].stop_channels()
    kept[0].shutdown_kernel(now=True)
sys.stdout.flush()
os._exit(0)  # its sockets complain when the interpreter ends
