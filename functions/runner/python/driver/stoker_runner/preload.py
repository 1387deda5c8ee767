"""Imports what TFX modules import, so that a process is warm. No op may run here, and no module of the user's is
loaded: a child that is forked behind a started eager context hangs, and what one job imports is no business of the
next."""
import importlib
import os
import sys
import traceback

from stoker_runner import precedence

# What TFX module files import, of which an environment may lack some. tensorflow first: the others build on it.
USUAL = (
    "tensorflow", "tensorflow_transform", "tfx_bsl.public.tfxio", "tfx_bsl.tfxio.dataset_options",
    "tfx_bsl.tfxio.tf_example_record", "keras_tuner",
)


def everything():
    """Imports all there is of STOKER_PRELOAD, names with commas between them; by default the usual ones."""
    precedence.begin()
    named = os.environ.get("STOKER_PRELOAD")
    for name in USUAL if named is None else filter(None, named.split(",")):
        one(name)
    load_keras()


def one(name):
    """Imports one module. The job that needs it will say what is wrong with it."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            traceback.print_exc()
    except Exception:
        traceback.print_exc()


def load_keras():
    """tf.keras is not loaded before something of it is asked for."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        try:
            tensorflow.keras.Model
        except Exception:
            traceback.print_exc()
