"""Does something to a library once it is imported, and imports nothing: modules that never use it pay nothing."""
import importlib.abc
import importlib.util
import sys

_waiting = {}  # by name of a library's module, the function to call


def when_imported(name, do):
    """Calls do(module) as soon as the module of that name has been imported: at once where it has been."""
    if name in sys.modules:
        do(sys.modules[name])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _waiting.setdefault(name, []).append(do)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the other finders find, and reports when their loader has run."""

    def find_spec(self, name, path=None, target=None):
        if name not in _waiting:
            return None
        waiting = _waiting.pop(name)  # so that the search below goes past this finder
        spec = importlib.util.find_spec(name)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            for do in waiting:
                do(module)

        spec.loader.exec_module = exec_module
        return spec
