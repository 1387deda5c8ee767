"""Empty: module files import it for annotations alone, as tfx.v1.types."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
