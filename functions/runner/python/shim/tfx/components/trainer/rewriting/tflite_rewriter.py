"""SavedModel to TFLite, by TensorFlow's own converter."""
import os
import pickle
import tempfile

import stoker_lacking
import tensorflow as tf

from tfx.components.trainer.rewriting import apart, rewriter, tflite_process
from tfx.dsl.io import fileio
from tfx.utils import io_utils

EXTRA_ASSETS_DIRECTORY = "assets.extra"  # where TensorFlow Serving's warm-up requests are


class TFLiteRewriter(rewriter.BaseRewriter):
    """Writes <folder>/<filename>, and the assets of the SavedModel next to it.

    quantization_optimizations, quantization_supported_types: TFLiteConverter's optimizations and
    target_spec.supported_types.
    None quantises nothing: dynamic range takes [tf.lite.Optimize.DEFAULT], float16 [tf.float16] too.
    quantization_enable_full_integer: weights and activations by representative_dataset, which it needs. Without
    optimizations they are [DEFAULT].
    representative_dataset: an iterable of samples, or a function that returns one; a sample is a list of arrays in the
    order of the signature's inputs, or a dict by their names.
    signature_key: of the signature to convert; serving_default where it is left out.
    Other keywords are set on the converter: allow_custom_ops=True.

    Conversion runs in a process of its own. A derived class that makes its own converter (_create_tflite_converter)
    runs it in this process: there an abort of the converter ends the job.
    """

    def __init__(
        self,
        name,
        filename="tflite",
        copy_assets=True,
        copy_assets_extra=True,
        quantization_optimizations=None,
        quantization_supported_types=None,
        quantization_enable_full_integer=False,
        signature_key=None,
        representative_dataset=None,
        **kwargs
    ):
        if quantization_enable_full_integer and representative_dataset is None:
            raise ValueError(
                "If quantization_enable_full_integer is set to `True`, then `representative_dataset` must be defined."
            )
        self._name, self._filename = name, os.fsdecode(filename)
        self._folders = [folder for folder, wanted in [(tf.saved_model.ASSETS_DIRECTORY, copy_assets),
                                                       (EXTRA_ASSETS_DIRECTORY, copy_assets_extra)] if wanted]
        optimizations = list(quantization_optimizations or [])
        if quantization_enable_full_integer and not optimizations:
            optimizations = [tf.lite.Optimize.DEFAULT]
        self._options = {
            "quantization_optimizations": optimizations,
            "quantization_supported_types": list(quantization_supported_types or []),
            "signature_key": signature_key,
            **kwargs,
        }
        self._representative_dataset = representative_dataset

    @property
    def name(self):
        return self._name

    def _pre_rewrite_validate(self, original_model):
        if original_model.model_type != rewriter.ModelType.SAVED_MODEL:
            raise ValueError("TFLiteRewriter can only convert SavedModels.")

    def _rewrite(self, original_model, rewritten_model):
        if rewritten_model.model_type not in (rewriter.ModelType.TFLITE_MODEL, rewriter.ModelType.ANY_MODEL):
            raise ValueError("TFLiteConverter can only convert to the TFLite format.")
        source, folder = os.fsdecode(original_model.path), os.fsdecode(rewritten_model.path)
        fileio.makedirs(folder)
        io_utils.write_bytes_file(os.path.join(folder, self._filename), self._convert(source))
        for name in self._folders:
            if fileio.isdir(os.path.join(source, name)):
                io_utils.copy_dir(os.path.join(source, name), os.path.join(folder, name))

    def _post_rewrite_validate(self, rewritten_model):
        """The converter is trusted, as TFX does."""

    def _convert(self, saved_model):
        """The bytes of the TFLite model."""
        if type(self)._create_tflite_converter is not TFLiteRewriter._create_tflite_converter:
            converter = self._create_tflite_converter(
                saved_model_path=saved_model, representative_dataset=self._representative_dataset, **self._options
            )
            return converter.convert()
        with tempfile.TemporaryDirectory(prefix="tflite-") as scratch:
            request, answer = os.path.join(scratch, "request"), os.path.join(scratch, "answer")
            with open(request, "wb") as f:
                pickle.dump({"saved_model_path": saved_model, **self._options}, f)
                for sample in _samples(self._representative_dataset):
                    pickle.dump(sample, f)
            apart.run("the TFLite converter", tflite_process.__name__, request, answer)
            return io_utils.read_bytes_file(answer)

    def _create_tflite_converter(self, saved_model_path, quantization_optimizations, quantization_supported_types,
                                 representative_dataset=None, signature_key=None, **kwargs):
        """The converter, for derived classes to change: by target_spec.supported_ops, say."""
        return tflite_process.converter(saved_model_path, quantization_optimizations, quantization_supported_types,
                                        representative_dataset, signature_key, **kwargs)


def _samples(dataset):
    """The samples with plain arrays for tensors."""
    for sample in (dataset() if callable(dataset) else dataset or []):
        yield tf.nest.map_structure(lambda value: value.numpy() if hasattr(value, "numpy") else value, sample)


__path__, __getattr__ = stoker_lacking.of(__name__)
