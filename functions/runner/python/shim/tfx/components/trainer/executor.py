"""The old name of FnArgs."""
import stoker_lacking

from tfx.components.trainer.fn_args_utils import FnArgs as TrainerFnArgs

__path__, __getattr__ = stoker_lacking.of(__name__)
