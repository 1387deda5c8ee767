"""An assignment in the words of TFX's FnArgs, field by field as TFX's Trainer and Tuner fill them."""
import os

from stoker_runner import data, settings


def make(assignment):
    """The FnArgs for an assignment's call: train is the Trainer's, all else the Tuner's."""
    from tfx.components.trainer.fn_args_utils import FnArgs

    args = FnArgs(
        working_dir=assignment.get("working_dir") or None,  # None in TFX's Trainer; here it survives a lost worker
        train_files=assignment.get("train_files") or [],
        eval_files=assignment.get("eval_files") or [],
        train_steps=assignment.get("train_steps") or None,
        eval_steps=assignment.get("eval_steps") or None,
        schema_path=assignment.get("schema_path") or None,
        transform_graph_path=assignment.get("transform_graph_path") or None,
        data_accessor=data.accessor(assignment.get("payload_format"), assignment.get("eval_files")),
        base_model=assignment.get("base_model") or None,
        custom_config=assignment.get("custom_config"),
    )
    if assignment["call"] == "train":
        _trainer(args, assignment)
        settings.keep(args)
    return args


def _trainer(args, assignment):
    """What the Trainer's FnArgs have and the Tuner's lack."""
    args.schema_file = args.schema_path
    args.transform_output = args.transform_graph_path
    args.serving_model_dir = assignment.get("serving_model_dir") or None
    args.eval_model_dir = assignment.get("eval_model_dir") or None
    args.model_run_dir = assignment.get("model_run_dir") or None
    args.hyperparameters = assignment.get("hyperparameters")
    args.base_models = [args.base_model] if args.base_model else None  # the name that TFX once had
    if assignment.get("num_examples") is not None:
        args.num_examples = assignment["num_examples"]


def folders(assignment):
    """Makes the folders that TFX makes. A model's own is the module's to make: some insist on that."""
    for name in ("working_dir", "model_run_dir"):
        if assignment.get(name):
            os.makedirs(assignment[name], exist_ok=True)
    for name in ("serving_model_dir", "eval_model_dir"):
        if assignment.get(name):
            os.makedirs(os.path.dirname(assignment[name]), exist_ok=True)
