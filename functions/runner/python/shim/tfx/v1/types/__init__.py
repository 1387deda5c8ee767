"""Empty, as tfx.types is."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
