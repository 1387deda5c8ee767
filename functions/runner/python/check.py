"""Imports what module files import, and says of each what came of it, as a line of JSON. It runs with -I -c; its argument
is the list."""
import importlib
import json
import os
import sys
from importlib import metadata

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_USE_LEGACY_KERAS"] = "0"
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # what the packages print is no answer


def version(wanted, module):
    """That of the package, or what the module says of itself where the package has another name."""
    try:
        return metadata.version(wanted["package"])
    except metadata.PackageNotFoundError:
        return getattr(module, "__version__", "")


for wanted in json.loads(sys.argv[1]):
    answer = {"package": wanted["package"]}
    try:
        answer["version"] = version(wanted, importlib.import_module(wanted["module"]))
    except BaseException as error:  # a package may raise anything, SystemExit too
        answer["problem"] = "%s: %s" % (type(error).__name__, str(error)[:500])
    print(json.dumps(answer), file=answers)

tensorflow = sys.modules.get("tensorflow")
if tensorflow:
    print(json.dumps({"gpus": len(tensorflow.config.list_physical_devices("GPU"))}), file=answers)
