"""Do something when a library is first imported.

Nothing is imported on the tenant's behalf: a cell that never touches
matplotlib never pays for it.
"""

import sys

import _frozen_importlib


class Hooks:
    """A finder that finds nothing itself, but runs a function after a load."""

    def __init__(self):
        self._after = {}
        sys.meta_path.insert(0, self)

    def add(self, name, after):
        """Call after(module) once name is loaded; now if it already is."""
        if name in sys.modules:
            after(sys.modules[name])
        else:
            self._after[name] = after

    def find_spec(self, name, path=None, target=None):
        after = self._after.pop(name, None)
        if after is None:
            return None
        spec = _frozen_importlib._find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            self._after[name] = after
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            after(module)

        spec.loader.exec_module = exec_module
        return spec

    def invalidate_caches(self):
        """Part of a finder's interface; there is no cache."""
