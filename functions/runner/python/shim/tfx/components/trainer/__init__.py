"""What the Trainer hands to module files."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
