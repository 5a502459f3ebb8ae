"""io_uring, whose operations no filter sees."""
import errno

from guard import refused

refused('io_uring_setup', 425, 8, b'\0' * 120, by=(errno.ENOSYS,))
refused('io_uring_enter', 426, -1, 1, 0, 0, 0, by=(errno.ENOSYS,))
refused('io_uring_register', 427, -1, 0, 0, 0, by=(errno.ENOSYS,))
