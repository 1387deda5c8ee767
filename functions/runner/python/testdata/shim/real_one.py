"""A tfx that is installed goes before the shim, which has no part in it then."""
import os

os.makedirs("site/tfx")
with open("site/tfx/__init__.py", "w") as f:
    f.write("REAL = True")
sys.path.insert(0, "site")

import tfx

assert tfx.REAL and "stoker_lacking" not in sys.modules
try:
    import tfx.v1
except ModuleNotFoundError as error:
    assert str(error) == "No module named 'tfx.v1'", error
else:
    raise AssertionError("the shim's tfx.v1 was found below the real tfx")
