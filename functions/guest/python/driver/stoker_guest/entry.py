"""Finds what is to be called: the module file, and the function in it."""
import importlib.util
import os
import sys


class Module:
    """A loaded module file with the names of its functions."""

    def __init__(self, module, setup):
        self.module, self.setup = module, setup

    def function(self, name):
        """The function of that name: run_fn, tuner_fn or trainer_fn. None if the module has none."""
        return getattr(self.module, name, None)


def load(setup):
    name = os.path.splitext(os.path.basename(setup["file"]))[0]
    spec = importlib.util.spec_from_file_location(name, setup["file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return Module(module, setup)
