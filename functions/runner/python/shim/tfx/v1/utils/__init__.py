"""The public names of tfx.utils that module files use."""
import stoker_lacking

from tfx.utils.io_utils import parse_pbtxt_file
from tfx.utils.json_utils import JsonableType

__path__, __getattr__ = stoker_lacking.of(__name__)
