"""Recognizes errors that are surely the fault of the data: another try, or another module, would meet them again."""
import glob
import re
import sys
import time

LOOK_SECONDS = 60  # what the search for a broken file may take

# Words of errors that are about a record or a column, not about code.
WORDS = (
    re.compile(r"The `?label_key`? provided \(.*\) must be one of the following tensors"),  # tfx_bsl
    re.compile(r"Feature: .* \(data type: .*\) is required but could not be found"),  # TensorFlow's parsers
    re.compile(r"Key: .*\.\s+Data types don't match"),
    re.compile(r"Could not parse example input"),
    re.compile(r"Error while parsing Tensorflow Example|Unable to parse Example"),
)


def describe(error, text, assignment):
    """What to add to an error that the data is to blame for; None where that isn't sure."""
    if is_tensorflow(error, "DataLossError"):  # a torn checkpoint is one too
        return broken(assignment)
    return "" if any(words.search(text) for words in WORDS) else None


def is_tensorflow(error, name):
    """Whether an error is TensorFlow's of that name. TensorFlow is not imported for the question."""
    errors = getattr(sys.modules.get("tensorflow"), "errors", None)
    return isinstance(error, getattr(errors, name, ()))


def broken(assignment):
    """Names the first file of the examples that can't be read to its end; None if there is none, or no time."""
    import tensorflow as tf

    end = time.monotonic() + LOOK_SECONDS
    for pattern in (assignment.get("train_files") or []) + (assignment.get("eval_files") or []):
        for path in sorted(glob.glob(pattern)):
            records = tf.data.TFRecordDataset(path, compression_type="GZIP" if path.endswith(".gz") else "")
            try:
                for _ in records:
                    if time.monotonic() > end:
                        return None
            except tf.errors.DataLossError:
                return f"broken file: {path}"
    return None
