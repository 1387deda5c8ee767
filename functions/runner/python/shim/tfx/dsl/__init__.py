"""The part of the pipeline language that module files use: file input and output."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
