import os
import apache_beam as beam
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from apache_beam.runners.portability import fn_api_runner
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

SPEC = {"x": tf.io.FixedLenFeature([], tf.float32), "v": tf.io.FixedLenFeature([3], tf.float32),
        "word": tf.io.FixedLenFeature([], tf.string)}


def usual(f):
    return {
        "x": tft.scale_to_z_score(f["x"]),
        "rank": tft.bucketize(f["x"], 4),
        "total": tf.reduce_sum(f["v"] * 2.0, axis=1),
        "word": tft.compute_and_apply_vocabulary(f["word"], num_oov_buckets=1),
        "top": tft.compute_and_apply_vocabulary(f["word"], top_k=2, vocab_filename="top"),
    }


def another_op(f):
    return usual(f) | {"x": tft.scale_to_0_1(f["x"])}


def another_axis(f):
    return usual(f) | {"total": tf.reduce_sum(f["v"] * 2.0, axis=0, keepdims=True)[0] + 0.0 * f["x"][:1]}


def another_feature(f):
    return usual(f) | {"x2": tf.identity(f["x"])}


def rows(count, start, scale, words):
    return [{"x": start + scale * i, "v": [1.0 * i, 2.0, scale], "word": words[i % len(words)].encode()} for i in range(count)]


def make(folder, function, data, spec=SPEC):
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(spec))
    with beam.Pipeline(runner=fn_api_runner.FnApiRunner()) as pipeline, tft_beam.Context(temp_dir=folder + "-temp"):
        result = (pipeline | beam.Create(data), metadata) | tft_beam.AnalyzeDataset(function)
        _ = result | tft_beam.WriteTransformFn(folder)


def check(folder):
    monday = rows(60, 0.0, 0.5, ["a", "b", "c"])
    tuesday = rows(90, -7.0, 3.25, ["Köln", "x", "zebra", "x"])
    for name, function, data in [
        ("monday", usual, monday), ("again", usual, monday), ("tuesday", usual, tuesday), ("more words", usual, rows(60, 0.0, 0.5, "abcd")),
        ("another op", another_op, monday), ("another axis", another_axis, monday), ("another feature", another_feature, monday),
    ]:
        make(os.path.join(folder, name), function, data)
    wide = [row | {"v": row["v"] + [1.0]} for row in monday]
    make(os.path.join(folder, "another shape"), usual, wide, SPEC | {"v": tf.io.FixedLenFeature([4], tf.float32)})
    import shutil
    for name in os.listdir(folder):
        if name.endswith("-temp"):
            shutil.rmtree(os.path.join(folder, name))
    return {}
