"""Replaces TFX where it isn't installed: what module files import, and no more. A real one goes before it."""
import stoker_lacking

from tfx.version import __version__

stoker_lacking.package(
    "tfx",
    "name tfx in the pipeline's module.requirements, or put a {file} of your own into the module's folder or archive",
)
__path__, __getattr__ = stoker_lacking.of(__name__)
