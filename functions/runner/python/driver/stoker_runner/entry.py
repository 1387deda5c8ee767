"""Finds what is to be called: the module, and the function in it that the pipeline names or TFX expects."""
import importlib
import importlib.util
import os
import sys


class Module:
    """A module with the functions that are looked for in it."""

    def __init__(self, module, names):
        self.module = module
        self.names = names  # TFX's name of a function to the one that the pipeline gives it; empty: it names none

    def function(self, name):
        """The module's run_fn, tuner_fn or trainer_fn; None if it has none. One that was named must be there."""
        if name in self.names:
            return _function(self.module, self.names[name])
        return _function(self.module, name) if not self.names and hasattr(self.module, name) else None

    def required(self, name, meant=""):
        """The same, where there is no going on without."""
        found = self.function(name)
        if found is None:
            lacks = f"module {self.module.__name__!r} has no attribute {name!r}"
            another = f"name another one in the pipeline, as in {name}: {self.module.__name__}.my_{name}"
            raise AttributeError(f"{lacks}: expected a function {meant or f'{name}(fn_args)'}; {another}")
        return found


def load(setup, call):
    """Imports the module for a call of an assignment: train, or one of the others, which are about tuner_fn."""
    expected = "run_fn" if call == "train" else "tuner_fn"
    path, _, name = setup[expected].rpartition(".")
    if name == "trainer_fn":
        expected = name
    module = _at(path) if path else _file(setup["file"])
    return Module(module, {expected: name} if name else {})


def _function(module, name):
    found = getattr(module, name)
    if not callable(found):
        raise TypeError(f"{name} of module {module.__name__!r} has type {type(found).__name__}, expected a function")
    return found


def _at(path):
    """The module of a dotted path, as it is imported by everyone."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if f"{path}.".startswith(f"{error.name}."):
            raise ImportError(f"Could not import requested module path {path!r}.") from None
        raise


def _file(path):
    """A module file, under its own name unless that is taken."""
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:
        name = f"user_module_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
