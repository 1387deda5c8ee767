"""All that TFX's own module files import from tfx, in the ways they do."""
import importlib

import tfx
from tfx import v1

NAMES = {
    "tfx": ["__version__"],
    "tfx.version": ["__version__"],
    "tfx.v1": ["__version__", "components", "dsl", "proto", "types", "utils"],
    "tfx.v1.components": ["DataAccessor", "FnArgs", "TunerFnResult"],
    "tfx.v1.utils": ["JsonableType", "parse_pbtxt_file"],
    "tfx.v1.dsl": ["io"],
    "tfx.v1.dsl.io": ["fileio"],
    "tfx.v1.proto": [],
    "tfx.v1.types": [],
    "tfx.types": [],
    "tfx.proto": [],
    "tfx.components.trainer.fn_args_utils": ["DataAccessor", "FnArgs"],
    "tfx.components.trainer.executor": ["TrainerFnArgs"],
    "tfx.components.tuner.component": ["TunerFnResult"],
    "tfx.components.trainer.rewriting.rewriter": ["BaseRewriter", "ModelDescription", "ModelType"],
    "tfx.components.trainer.rewriting.rewriter_factory": ["TFJS_REWRITER", "TFLITE_REWRITER", "create_rewriter"],
    "tfx.dsl.io.fileio": [
        "NotFoundError",
        "PathType",
        "copy",
        "exists",
        "glob",
        "isdir",
        "listdir",
        "makedirs",
        "mkdir",
        "open",
        "remove",
        "rename",
        "rmtree",
        "stat",
        "walk",
    ],
    "tfx.v1.dsl.io.fileio": [
        "NotFoundError",
        "PathType",
        "copy",
        "exists",
        "glob",
        "isdir",
        "listdir",
        "makedirs",
        "mkdir",
        "open",
        "remove",
        "rename",
        "rmtree",
        "stat",
        "walk",
    ],
    "tfx.utils.io_utils": [
        "all_files_pattern",
        "copy_dir",
        "copy_file",
        "delete_dir",
        "get_only_uri_in_dir",
        "parse_json_file",
        "parse_pbtxt_file",
        "read_bytes_file",
        "read_string_file",
        "write_bytes_file",
        "write_string_file",
    ],
    "tfx.utils.json_utils": ["JsonableType", "dumps", "loads"],
}

for module, names in NAMES.items():
    found = importlib.import_module(module)
    for name in names:
        assert hasattr(found, name), f"{module} lacks {name}"

from tfx.components.trainer import executor, fn_args_utils

assert v1.components.FnArgs is fn_args_utils.FnArgs is executor.TrainerFnArgs
assert v1.__version__ == tfx.__version__

import tensorflow_model_analysis as tfma

assert callable(tfma.export.EvalInputReceiver) and callable(tfma.export.export_eval_savedmodel)
