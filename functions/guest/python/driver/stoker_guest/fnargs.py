"""An assignment in the words of TFX's FnArgs."""


def make(assignment):
    from tfx.components.trainer.fn_args_utils import FnArgs

    return FnArgs(**{k: assignment.get(k) for k in (
        "train_files", "eval_files", "train_steps", "eval_steps", "serving_model_dir", "model_run_dir", "hyperparameters", "custom_config")})
