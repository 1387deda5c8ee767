"""The public names of TFX, as far as module files use them."""
import stoker_lacking

from tfx.v1 import components, dsl, proto, types, utils
from tfx.version import __version__

__path__, __getattr__ = stoker_lacking.of(__name__)
