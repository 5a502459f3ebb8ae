"""clone3, whose flags no filter can see. Threads must work without it."""
import errno
import threading

from guard import got, refused

refused('clone3', 435, b'\0' * 88, 88, by=(errno.ENOSYS,))
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join(5)
if thread.is_alive():
    got('a thread that does not end')
