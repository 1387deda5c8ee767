"""What the shim lacks says so by its whole name, and is else as if it were not there."""
import importlib
import inspect
import pickle

import tfx.utils.io_utils
import tfx.v1 as tfx


def refused(statement, name, kind):
    try:
        exec(statement, {"tfx": tfx})
    except Exception as error:
        assert type(error) is kind, f"{statement}: {type(error)}"
        assert str(error).startswith(f"{name} is not among what Stoker replaces: "), f"{statement}: {error}"
        return str(error)
    raise AssertionError(f"{statement} went through")


refused("import tfx.orchestration.pipeline", "tfx.orchestration", ModuleNotFoundError)
refused("import tfx.utils.path_utils", "tfx.utils.path_utils", ModuleNotFoundError)
refused("from tfx.utils import path_utils", "tfx.utils.path_utils", ModuleNotFoundError)
refused("from tfx.v1 import orchestration", "tfx.v1.orchestration", ModuleNotFoundError)
refused("from tfx.utils.io_utils import nothing", "tfx.utils.io_utils.nothing", ModuleNotFoundError)
refused("tfx.components.Trainer", "tfx.v1.components.Trainer", AttributeError)
refused(
    "import tensorflow_model_analysis as tfma; tfma.EvalConfig", "tensorflow_model_analysis.EvalConfig", AttributeError
)
advice = refused("from tfx.components import Trainer", "tfx.components.Trainer", ModuleNotFoundError)
assert "module.requirements" in advice and "tfx/components/Trainer.py" in advice, advice

assert not hasattr(tfx, "orchestration") and getattr(tfx.components, "Trainer", None) is None
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "tfx":
        assert inspect.getsource(module) and inspect.getmembers(module)
        assert importlib.import_module(name) is module
assert pickle.loads(pickle.dumps(tfx.components.FnArgs)) is tfx.components.FnArgs

# Other packages are nobody's business.
try:
    import tfxx
except ModuleNotFoundError as error:
    assert str(error) == "No module named 'tfxx'", error
