"""Turns a model into another form of it: TFLite, TensorFlow.js, or whatever a rewriter of the user's makes."""
import stoker_lacking

__path__, __getattr__ = stoker_lacking.of(__name__)
