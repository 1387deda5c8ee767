"""What a stand-in for a package does not have says so by name, and how to come by it.

A module of a stand-in takes both names from here:

    __path__, __getattr__ = stoker_lacking.of(__name__)

__path__ lets files of a user's own below the same package be found elsewhere on sys.path. A plain module has one too,
an empty one: Python then asks for `from module import name` as for a submodule, so that the finder is what answers.
"""
import pkgutil
import sys

_REASONS = {}  # of each package that is stood in for: what to do about a name it lacks


def package(name, advice):
    """Says of a top-level package that this is its stand-in, and what to do when it lacks a name."""
    _REASONS[name] = advice
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def of(name):
    """The __path__ and the __getattr__ of the module called name."""
    path = getattr(sys.modules[name], "__path__", [])

    def lacking(attribute):
        raise AttributeError(message(f"{name}.{attribute}"), name=attribute, obj=sys.modules.get(name))

    return pkgutil.extend_path(path, name), lacking


def message(name):
    """One line about a dotted name that a stand-in lacks."""
    package = name.partition(".")[0]
    advice = _REASONS[package].format(file=name.replace(".", "/") + ".py")
    return f"{name} is not among what Stoker replaces: {advice}"


class _Finder:
    """The last finder: what comes to it below a stand-in, nobody has."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, dot, _ = name.partition(".")
        if dot and package in _REASONS:
            # What is missing is the package itself. Named so, Python makes no "cannot import name" of its own of it.
            raise ModuleNotFoundError(message(name), name=package)
        return None
