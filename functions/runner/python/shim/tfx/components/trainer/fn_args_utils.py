"""What run_fn, trainer_fn and tuner_fn are called with."""
import dataclasses
import typing

import stoker_lacking

try:
    import attr
except ImportError:  # an environment of TensorFlow alone
    attr = None


class DataAccessor(typing.NamedTuple):
    """Reads the examples, whatever format they are stored in.

    tf_dataset_factory(patterns, TensorFlowDatasetOptions, schema) gives a tf.data.Dataset,
    record_batch_factory(patterns, RecordBatchesOptions, schema) an iterator of Arrow's record batches.
    data_view_decode_fn is there for protos with a view alone.
    """

    tf_dataset_factory: typing.Callable[..., typing.Any]
    record_batch_factory: typing.Callable[..., typing.Any]
    data_view_decode_fn: typing.Optional[typing.Callable[..., typing.Any]]


_FIELDS = (
    "working_dir",
    "train_files",  # patterns, as eval_files
    "eval_files",
    "train_steps",  # None where the pipeline says zero, as eval_steps
    "eval_steps",
    "schema_path",
    "schema_file",  # the deprecated name of schema_path
    "transform_graph_path",
    "transform_output",  # the deprecated name of transform_graph_path
    "data_accessor",
    "serving_model_dir",
    "eval_model_dir",
    "model_run_dir",
    "base_model",
    "hyperparameters",
    "custom_config",
)


def _fn_args():
    """FnArgs as a class of attrs, as in TFX: attr.asdict and attr.evolve work on it. Without attrs, a dataclass."""
    if attr is not None:
        made = attr.make_class("FnArgs", {name: attr.ib(default=None) for name in _FIELDS})
    else:
        made = dataclasses.make_dataclass("FnArgs", [(name, typing.Any, None) for name in _FIELDS])
    made.__doc__ = "Paths, steps and settings of one training or search. All default to None."
    made.__module__ = __name__  # so that it can be pickled
    return made


FnArgs = _fn_args()
__path__, __getattr__ = stoker_lacking.of(__name__)
