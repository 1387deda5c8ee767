"""Spares a module's export what it need not do: AutoGraph rewrites library functions that mean the same as they stand.

Most of the time of tf.saved_model.save goes into that, for the transform layer and tfx_bsl's parsing. The module's own
code is converted as always. The list of rules is no public part of TensorFlow: where it looks otherwise than expected,
all is left alone.
"""
from stoker_runner import said
from stoker_runner.arrivals import when_imported

# No tf_keras: layers of the module's own are traced through it, and may need AutoGraph.
LIBRARIES = ("tensorflow_transform", "tfx_bsl")


def arrange(autograph):
    """Has AutoGraph leave the libraries alone once TensorFlow is imported; not where the pipeline says all."""
    if autograph != "all":
        when_imported("tensorflow.python.autograph.core.config", spare)


def spare(config):
    """Puts a rule for each library before AutoGraph's own. The first rule that fits decides."""
    try:
        rules = tuple(config.DoNotConvert(name) for name in LIBRARIES)
        config.CONVERSION_RULES = rules + tuple(config.CONVERSION_RULES)
    except (AttributeError, TypeError) as error:
        said.note(f"AutoGraph's rules can't be added to ({error}): saving takes longer, with the same result")
