"""Makes the graphs of functions.py with the real tf.Transform, runs them with the real TensorFlow over rows that are as bad as rows
can be, and writes both to OUT/<name>.zip: the TransformGraph artifact, and golden.json with what TensorFlow answered.

  generate.py OUT [NAME...]
"""
import base64
import json
import os
import sys
import tempfile
import zipfile

import apache_beam as beam
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from apache_beam.runners.portability import fn_api_runner
from tensorflow_transform import impl_helper
from tensorflow_transform.tf_metadata import metadata_io, schema_utils
from tfx_bsl.coders import example_coder
from tfx_bsl.public import tfxio
from tfx_bsl.tfxio import tensor_to_arrow

from functions import FUNCTIONS, OLD
from golden import golden, load, parsed
from rows import FEATURES, clean, nasty


def analyze(name, folder, examples):
    """Writes the artifact that Transform would write."""
    features, function = (FUNCTIONS | OLD)[name]
    spec = {f: FEATURES[f] for f in features}
    schema = schema_utils.schema_from_feature_spec(spec)
    source = tfxio.TFExampleBeamRecord(physical_format="inmem", schema=schema, telemetry_descriptors=["generate"])
    with beam.Pipeline(runner=fn_api_runner.FnApiRunner()) as pipeline, tft_beam.Context(temp_dir=folder + "-temp", force_tf_compat_v1=name in OLD):
        data = pipeline | beam.Create(examples) | source.BeamSource()
        result = (data, source.TensorAdapterConfig()) | tft_beam.AnalyzeDataset(function)
        _ = result | tft_beam.WriteTransformFn(folder)
    metadata_io.write_metadata(tft.DatasetMetadata(schema), os.path.join(folder, "metadata"))


def encoded(folder, features, examples):
    """The transformed examples that Transform would write, None if a row is an error."""
    transform, output = load(folder), tft.TFTransformOutput(folder)
    try:
        columns = transform(parsed({f: FEATURES[f] for f in features}, examples))
    except tf.errors.OpError:
        return None
    specs = impl_helper.get_type_specs_from_feature_specs(output.transformed_feature_spec())
    batch = tensor_to_arrow.TensorsToRecordBatchConverter(specs).convert(columns)
    records = example_coder.RecordBatchToExamplesEncoder(output.transformed_metadata.schema).encode(batch)
    ordered = [tf.train.Example.FromString(r).SerializeToString(deterministic=True) for r in records]  # features come in any order
    return [base64.b64encode(r).decode() for r in ordered]


def pack(folder, answers, path):
    """Writes a zip that is the same for the same content."""
    def add(archive, name, data):
        archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)

    with zipfile.ZipFile(path, "w") as archive:
        for parent, folders, files in os.walk(folder):
            folders.sort()
            for file in sorted(files):
                full = os.path.join(parent, file)
                with open(full, "rb") as f:
                    add(archive, os.path.relpath(full, folder), f.read())
        add(archive, "golden.json", json.dumps(answers, separators=(",", ":"), sort_keys=True))


def main(out, names):
    os.makedirs(out, exist_ok=True)
    train, rows = clean(), nasty(2)
    with open(os.path.join(out, "rows.json"), "w") as f:
        json.dump([base64.b64encode(r).decode() for r in rows], f, indent=0)
    failed = []
    for name in names or FUNCTIONS | OLD:
        with tempfile.TemporaryDirectory() as temp:
            folder = os.path.join(temp, "graph")
            try:
                analyze(name, folder, train)
                features = (FUNCTIONS | OLD)[name][0]
                answers = {"tensorflow": tf.__version__, "transform": tft.__version__, **golden(folder, features, rows),
                           "transformed": encoded(folder, features, rows[:8])}
                pack(folder, answers, os.path.join(out, name + ".zip"))
                print(name, os.path.getsize(os.path.join(out, name + ".zip")), flush=True)
            except Exception as e:  # the other graphs are made all the same
                failed.append(name)
                print(name, "FAILED", type(e), str(e)[:1500], flush=True)
    if failed:
        sys.exit("no graph of " + ", ".join(failed))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
