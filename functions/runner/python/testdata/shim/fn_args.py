"""FnArgs is TFX's: a class of attrs with these fields, all None, to which more may be added."""
import pickle

import attr
from tfx.v1.components import DataAccessor, FnArgs, TunerFnResult

fields = [
    "working_dir",
    "train_files",
    "eval_files",
    "train_steps",
    "eval_steps",
    "schema_path",
    "schema_file",
    "transform_graph_path",
    "transform_output",
    "data_accessor",
    "serving_model_dir",
    "eval_model_dir",
    "model_run_dir",
    "base_model",
    "hyperparameters",
    "custom_config",
]
assert [field.name for field in attr.fields(FnArgs)] == fields
assert attr.asdict(FnArgs()) == dict.fromkeys(fields)

args = FnArgs("work", ["a/*"], train_steps=3)
assert (args.working_dir, args.train_files, args.train_steps) == ("work", ["a/*"], 3)
assert args == FnArgs(working_dir="work", train_files=["a/*"], train_steps=3) != FnArgs()
args.num_examples = {"train": 7}
copy = pickle.loads(pickle.dumps(args))
assert copy == args and copy.num_examples == {"train": 7}

assert DataAccessor._fields == ("tf_dataset_factory", "record_batch_factory", "data_view_decode_fn")
assert TunerFnResult(tuner=1, fit_kwargs={"x": 2}) == (1, {"x": 2})

# An environment of TensorFlow alone has no attrs: the same names, without attr.asdict.
import importlib

sys.modules["attr"] = None
plain = importlib.reload(sys.modules["tfx.components.trainer.fn_args_utils"]).FnArgs
assert (
    list(vars(plain())) == fields and plain(train_steps=3) == plain(None, None, None, 3) and plain().base_model is None
)
assert pickle.loads(pickle.dumps(plain(train_steps=3))) == plain(train_steps=3)
