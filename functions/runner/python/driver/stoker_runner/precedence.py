"""Whose a name is in a warm process: a file of the module's own is imported under its name, as in a process that has
imported nothing, though a library has taken that name before. The library keeps what it has."""
import sys
from importlib.machinery import PathFinder

_first = None  # names that are taken in any process, before the module's folders are looked at; None: this one is cold


def begin():
    """What is imported from now on gives way."""
    global _first
    _first = set(sys.modules)


def give_way(folders):
    """Forgets the imports with names that modules and packages of these folders have."""
    if _first is None:
        return
    taken = {name.partition(".")[0] for name in sys.modules} - _first
    theirs = {name for name in taken if _has(folders, name)}
    for name in [name for name in sys.modules if name.partition(".")[0] in theirs]:
        del sys.modules[name]


def _has(folders, name):
    """Whether a file there is what an import finds. A folder that is no package is none."""
    spec = PathFinder.find_spec(name, folders)
    return spec is not None and spec.origin is not None
