"""Converts one SavedModel to TFLite, as a program: arguments are the file of the request and that for the answer."""
import pickle
import sys

import tensorflow as tf

SHOWN = 600  # characters of an error


def main(request, answer):
    with open(request, "rb") as f:
        options = pickle.load(f)  # written by tflite_rewriter, this program's only caller
        samples = f.tell()
    made = converter(representative_dataset=_dataset(request, samples), **options)
    with open(answer, "wb") as f:
        f.write(made.convert())


def converter(saved_model_path, quantization_optimizations, quantization_supported_types, representative_dataset=None,
              signature_key=None, **settings):
    """TensorFlow's converter for a SavedModel, set up."""
    made = tf.lite.TFLiteConverter.from_saved_model(
        saved_model_path, signature_keys=[signature_key] if signature_key else None
    )
    made.optimizations = quantization_optimizations
    made.target_spec.supported_types = quantization_supported_types
    made.representative_dataset = representative_dataset
    for name, value in settings.items():
        if not hasattr(made, name):
            raise ValueError(f"TFLiteConverter has no setting {name!r}")
        setattr(made, name, value)
    return made


def _dataset(path, start):
    """The samples in the request from start on: a function that reads them each time, None if there are none."""

    def read():
        with open(path, "rb") as f:
            f.seek(start)
            while f.peek(1):
                yield pickle.load(f)

    return read if any(True for _ in read()) else None


def _line(error):
    """What an exception says, in one line: the converter's own name the ops it lacks, then show a whole program."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:SHOWN]}"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        sys.exit(_line(error))
