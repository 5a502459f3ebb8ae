"""Warren's Python kernel: runs cells that arrive as frames on a socket.

A run's way: kernel (loop, interrupt, env, cwd) -> shell (compile, execute,
history) -> display (a value becomes a MIME bundle) -> protocol (frames).
figures, backend and chart serve matplotlib, table serves pandas, magics is
IPython. The last four load only when a cell brings their library in.
"""
