"""The older kind of TFX module: will a passenger tip well? A linear model beside a deep one, as an Estimator."""
import tensorflow as tf
import tensorflow_model_analysis as tfma
import tensorflow_transform as tft
from tensorflow_transform.tf_metadata import schema_utils
from tfx.components.trainer.executor import TrainerFnArgs
from tfx_bsl.tfxio import dataset_options

LABEL = "tips"
NUMBERS = ["trip_miles", "fare", "trip_seconds"]
BUCKETS = {"pickup_latitude": 10, "pickup_longitude": 10, "dropoff_latitude": 10, "dropoff_longitude": 10}
VOCABULARIES = {"payment_type": 1010, "company": 1010}
CATEGORIES = {"trip_start_hour": 24, "trip_start_day": 31, "trip_start_month": 13}
BATCH = 40


def xf(name):
    return f"{name}_xf"


def trainer_fn(fn_args: TrainerFnArgs, schema):
    """Describes the training to TFX."""
    transform = tft.TFTransformOutput(fn_args.transform_output)
    exporter = tf.estimator.FinalExporter("chicago-taxi", lambda: serving_receiver(transform, schema))
    config = tf.estimator.RunConfig(save_checkpoints_steps=999, keep_checkpoint_max=1, tf_random_seed=1,
                                    model_dir=fn_args.serving_model_dir)
    return {
        "estimator": estimator(config, fn_args.base_models[0] if fn_args.base_models else None),
        "train_spec": tf.estimator.TrainSpec(
            lambda: examples(fn_args, fn_args.train_files, transform), max_steps=fn_args.train_steps
        ),
        "eval_spec": tf.estimator.EvalSpec(
            lambda: examples(fn_args, fn_args.eval_files, transform),
            steps=fn_args.eval_steps,
            exporters=[exporter],
            name="chicago-taxi-eval",
        ),
        "eval_input_receiver_fn": lambda: eval_receiver(transform, schema),
    }


def estimator(config, base):
    """A classifier, which starts from the weights of an earlier one where there is one."""
    numeric = [tf.feature_column.numeric_column(xf(name), shape=()) for name in NUMBERS]
    sizes = {**BUCKETS, **VOCABULARIES, **CATEGORIES}
    categorical = [tf.feature_column.categorical_column_with_identity(xf(name), num_buckets=size, default_value=0)
                   for name, size in sizes.items()]
    return tf.estimator.DNNLinearCombinedClassifier(
        config=config, linear_feature_columns=categorical, dnn_feature_columns=numeric, dnn_hidden_units=[32, 16],
        linear_optimizer=adam, dnn_optimizer=adam, warm_start_from=base)


def adam():
    """Goes on from given weights: the usual Ftrl makes those it touches anew from its own state, which is empty."""
    return tf.keras.optimizers.legacy.Adam(0.01)


def examples(fn_args, files, transform):
    """Transformed features and their label, for ever."""
    options = dataset_options.TensorFlowDatasetOptions(batch_size=BATCH, label_key=xf(LABEL), shuffle_seed=1)
    return fn_args.data_accessor.tf_dataset_factory(files, options, transform.transformed_metadata.schema)


def serving_receiver(transform, schema):
    """Takes serialised raw examples, which have no label."""
    spec = schema_utils.schema_as_feature_spec(schema).feature_spec
    del spec[LABEL]
    raw = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)()
    features = transform.transform_raw_features(raw.features)
    features.pop(xf(LABEL), None)
    return tf.estimator.export.ServingInputReceiver(features, raw.receiver_tensors)


def eval_receiver(transform, schema):
    """Takes serialised raw examples with their label; Model Analysis may slice by raw and by transformed features."""
    serialised = tf.compat.v1.placeholder(tf.string, [None], name="input_example_tensor")
    raw = tf.io.parse_example(serialised, schema_utils.schema_as_feature_spec(schema).feature_spec)
    transformed = transform.transform_raw_features(raw)
    return tfma.export.EvalInputReceiver(features={**raw, **transformed}, labels=transformed[xf(LABEL)],
                                         receiver_tensors={"examples": serialised})
