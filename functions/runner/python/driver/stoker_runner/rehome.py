"""What libraries remember of the home of the process that imported them, so that a child of it can have its own in its
place: where temporary files go, where Keras keeps its settings and downloads."""
import sys


class Memories:
    """The places below home that modules have in their variables now."""

    def __init__(self, home):
        self.home = home
        self.places = [(vars(module), name) for module in list(sys.modules.values()) if hasattr(module, "__dict__")
                       for name, value in list(vars(module).items()) if self.below(value)]

    def below(self, value):
        return type(value) is str and (value == self.home or value.startswith(self.home + "/"))

    def become(self, home):
        """Has them be below another home."""
        for namespace, name in self.places:
            namespace[name] = self.moved(namespace[name], home)
        sys.path[:] = [self.moved(path, home) for path in sys.path]

    def moved(self, value, home):
        return home + value[len(self.home):] if self.below(value) else value
