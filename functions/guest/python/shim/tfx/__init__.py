"""Stands in for TFX where it isn't installed: what module files import from it, and no more. A tfx that is installed goes before it."""
import stoker_lacking

from tfx.version import __version__

stoker_lacking.package("tfx", "name tfx in the pipeline's module.requirements, or put a {file} of your own into the folder or archive of the module")
__path__, __getattr__ = stoker_lacking.of(__name__)
