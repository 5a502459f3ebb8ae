"""Compile a cell, run it, keep its history.

Plain cells need no IPython. The first cell that needs it (a magic, a shell
escape, an import of it) brings it in, with the same names and history; cells
still run here, so nothing about a plain cell changes then.
"""

import builtins
import re
import sys
import types

import _ast

from . import magics

ONLY_AST, TOP_LEVEL_AWAIT = 0x400, 0x2000
COROUTINE = 0x80
FUTURES = 0x1fe0000  # CO_FUTURE_DIVISION up to CO_FUTURE_ANNOTATIONS
MUTED = re.compile(r"[\s)]*;")


def _mend(loop):
    """For a loop that nobody is inside: an interrupt in the middle of its own
    code leaves it as if it ran, or was about to stop. Its tasks stay."""
    import asyncio
    if loop.is_running():
        loop._thread_id = None
        asyncio._set_running_loop(None)
    if getattr(loop, "_stopping", False):
        loop._stopping = False


class Shell:
    """One tenant's names, and the cells that work on them."""

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.ns = self.module.__dict__
        self.inputs, self.outputs = [""], {}
        self.ns.update(__builtins__=builtins, In=self.inputs,
                       Out=self.outputs, get_ipython=self.get_ipython)
        self.hidden = set(self.ns)
        self.count = 0
        self.ipython = None
        self.show = None
        self.error = None
        self.failed = None
        self._last = {"_": "", "__": "", "___": ""}
        self._futures = 0
        self._loop = None
        self._sources = {}

    def get_ipython(self):
        """The IPython shell; made when first asked for, None without it."""
        return magics.attach(self)

    def run(self, code):
        """Run one cell. What it raises is raised; its value is shown."""
        self.count += 1
        self.inputs.append(code)
        name = f"<cell {self.count}>"
        code, tree = self._parse(code, name)
        if self.ipython is not None:
            self.ipython.execution_count = self.count
            self.ipython.events.trigger("pre_execute")
            tree = self.ipython.transform_ast(tree)
        value = self._execute(*self._compile(tree, code, name))
        if value is not None:
            self._remember(value)
            self.show(value, display=False)
        if self.ipython is not None:
            self.ipython.events.trigger("post_execute")

    # Parsing

    def _parse(self, code, name):
        """(what is compiled, its tree), after IPython's syntax if used."""
        try:
            if magics.is_wanted(code, self.ns):
                raise SyntaxError
            return code, self._tree(code, name)
        except SyntaxError as exc:
            error = exc
        if isinstance(error, IndentationError):
            code = _dedent(code)
        if magics.looks_special(code) or magics.is_wanted(code, self.ns):
            ipython = self.get_ipython()
            if ipython is not None:
                code = ipython.transform_cell(code)
        return code, self._tree(code, name)

    def _tree(self, code, name):
        self._keep_source(name, code)
        return self._code(code, name, "exec", ONLY_AST)

    def _code(self, source, name, mode, flags=0):
        return compile(source, name, mode,
                       flags | TOP_LEVEL_AWAIT | self._futures,
                       dont_inherit=True)

    def _compile(self, tree, code, name):
        """([code object, ...] to run, the last one gives the value or None).

        All is compiled before any of it runs. A cell that awaits is run
        statement by statement, so that the others may use asyncio.run.
        """
        last = None
        if tree.body and isinstance(tree.body[-1], _ast.Expr):
            if not _is_muted(tree.body[-1], code):
                last = _ast.Expression(tree.body.pop().value)
        units = [self._code(tree, name, "exec")]
        self._futures |= units[0].co_flags & FUTURES
        if units[0].co_flags & COROUTINE:
            units = [self._code(_ast.Module([node], []), name, "exec")
                     for node in tree.body]
        if last is not None:
            last = self._code(last, name, "eval")
        return units, last

    # Running

    def _execute(self, units, last):
        for unit in units:
            self._evaluate(unit)
        return None if last is None else self._evaluate(last)

    def _evaluate(self, code):
        value = eval(code, self.ns)
        if code.co_flags & COROUTINE:
            return self._await(value)
        return value

    def loop(self):
        """The loop that top-level awaits use, made the current one."""
        import asyncio
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        _mend(self._loop)
        asyncio.set_event_loop(self._loop)
        return self._loop

    def _await(self, coroutine):
        import asyncio
        loop = self.loop()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():
                _mend(loop)
                task.cancel()
                loop.run_until_complete(asyncio.wait({task}, timeout=1))
            raise

    # History

    def forget(self, names):
        """As if no cell had run: names is a copy of ns before that."""
        self.count = 0
        del self.inputs[1:]
        self.outputs.clear()
        self._last = {"_": "", "__": "", "___": ""}
        self._futures = 0
        self._sources.clear()
        self.ns.clear()
        self.ns.update(names)
        if self.ipython is not None:
            self.ipython.execution_count = 1
        if self._loop is not None:
            import asyncio
            self._loop.close()
            self._loop = None
            asyncio.set_event_loop(None)
        linecache = sys.modules.get("linecache")
        for name in [name for name in getattr(linecache, "cache", ())
                     if name.startswith("<cell ")]:
            del linecache.cache[name]

    def _remember(self, value):
        """_, __, ___ and _N, unless the tenant uses those names."""
        if all(self.ns.get(name, old) is old
               for name, old in self._last.items()):
            older = (value, self._last["_"], self._last["__"])
            self._last = dict(zip(("_", "__", "___"), older))
            self.ns.update(self._last)
        self.outputs[self.count] = value
        self.ns[f"_{self.count}"] = value

    def _keep_source(self, name, code):
        """For tracebacks and inspect.getsource."""
        lines = [line + "\n" for line in code.split("\n")]
        self._sources[name] = (len(code), None, lines, name)
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache[name] = self._sources[name]

    def on_linecache(self, linecache):
        linecache.cache.update(self._sources)


def _dedent(code):
    """A cell that is indented as a whole, as one in a template string."""
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    margin = first[:len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(margin) for line in lines)


def _is_muted(node, code):
    """Whether a ; follows the last expression."""
    lines = code.encode().split(b"\n")[node.end_lineno - 1:]
    if not lines:
        return False
    rest = b"\n".join([lines[0][node.end_col_offset:], *lines[1:]])
    return MUTED.match(rest.decode(errors="replace")) is not None
