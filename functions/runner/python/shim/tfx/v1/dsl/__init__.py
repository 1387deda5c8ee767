"""The public names of tfx.dsl that module files use."""
import stoker_lacking

from tfx.v1.dsl import io

__path__, __getattr__ = stoker_lacking.of(__name__)
