"""Files of a user's own below tfx are found beside the shim's, as TFX's examples are, which import one another so."""
import os


def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


write("one/tfx/examples/penguin/base.py", "KEY = 'species'")
write("one/tfx/examples/penguin/__init__.py")
write(
    "one/tfx/components/testdata/module_file/trainer_module.py",
    "from tfx.components.trainer.fn_args_utils import FnArgs",
)
write("two/tfx/utils/path_utils.py", "HERE = True")
sys.path[:0] = ["one", "two"]

from tfx.components.testdata.module_file import trainer_module
from tfx.examples.penguin import base
from tfx.utils import io_utils, path_utils

assert base.KEY == "species" and path_utils.HERE
assert trainer_module.FnArgs().train_steps is None and io_utils.all_files_pattern("a") == "a/*"
