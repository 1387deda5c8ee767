"""Empty: module files reach it by the name tfx.v1.proto, and take nothing from it."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
