"""The public names of tfx.components that module files use."""
import stoker_lacking

from tfx.components.trainer.fn_args_utils import DataAccessor, FnArgs
from tfx.components.tuner.component import TunerFnResult

__path__, __getattr__ = stoker_lacking.of(__name__)
