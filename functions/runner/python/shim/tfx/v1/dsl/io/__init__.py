"""The public names of tfx.dsl.io."""
import stoker_lacking

from tfx.v1.dsl.io import fileio

__path__, __getattr__ = stoker_lacking.of(__name__)
