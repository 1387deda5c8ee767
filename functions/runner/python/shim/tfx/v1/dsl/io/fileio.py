"""tfx.dsl.io.fileio under its public name."""
import stoker_lacking

from tfx.dsl.io.fileio import *

__path__, __getattr__ = stoker_lacking.of(__name__)
