"""TFX's data_accessor: the examples as a tf.data.Dataset or as Arrow record batches, by the real tfx_bsl.

It is imported at the first use: a module that reads its data in another way needs none.
"""
from stoker_runner import reference

TELEMETRY = ["Trainer"]  # what TFX's own Trainer and Tuner count their reading under


def accessor(payload, eval_files=None):
    """A DataAccessor for records of a payload format, in TFX's words; the default is FORMAT_TF_EXAMPLE. Datasets of
    eval_files are what the model may be compared on."""
    from tfx.components.trainer.fn_args_utils import DataAccessor

    def tf_dataset_factory(file_pattern, options, schema=None):
        dataset = _source(payload, file_pattern, schema).TensorFlowDataset(options)
        reference.labelled(getattr(options, "label_key", None))
        named = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
        return reference.evaluation(dataset) if eval_files and set(named) <= set(eval_files) else dataset

    def record_batch_factory(file_pattern, options, schema=None):
        return _source(payload, file_pattern, schema).RecordBatches(options)

    return DataAccessor(tf_dataset_factory, record_batch_factory, None)  # only FORMAT_PROTO has a DataView to decode


def _source(payload, file_pattern, schema):
    if payload == "FORMAT_TF_SEQUENCE_EXAMPLE":
        from tfx_bsl.tfxio.tf_sequence_example_record import TFSequenceExampleRecord as Source
    elif payload in (None, "", "FORMAT_TF_EXAMPLE"):
        from tfx_bsl.tfxio.tf_example_record import TFExampleRecord as Source
    else:
        raise ValueError(f"payload format {payload}: expected FORMAT_TF_EXAMPLE or FORMAT_TF_SEQUENCE_EXAMPLE")
    return Source(
        file_pattern=file_pattern, schema=schema, raw_record_column_name=None, telemetry_descriptors=TELEMETRY)
