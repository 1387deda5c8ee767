"""Makes data for an example module of TFX's, and transforms it by the module's preprocessing_fn with tf.Transform."""
import importlib
import os
import sys
import tempfile

ROWS = 200


def check(given):
    sys.path[:0] = [given["root"]]
    sys.path.append(given["shim"])
    import apache_beam as beam
    import tensorflow_transform as tft
    import tensorflow_transform.beam as tft_beam
    from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

    preprocess = importlib.import_module(given["module"]).preprocessing_fn
    spec, rows = DATA[given["data"]]()
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(spec))
    graph = os.path.join(given["dir"], "transform_graph")
    with beam.Pipeline() as pipeline, tft_beam.Context(temp_dir=tempfile.mkdtemp()):
        given_rows = pipeline | beam.Create(rows)
        _ = ((given_rows, metadata) | tft_beam.AnalyzeDataset(preprocess)) | tft_beam.WriteTransformFn(graph)
        _ = metadata | tft_beam.WriteMetadata(os.path.join(graph, "metadata"), pipeline=pipeline)
    batch = {name: tf.constant([row[name] for row in rows], form.dtype) for name, form in spec.items()}
    transformed = tft.TFTransformOutput(graph).transform_raw_features(batch)
    for split, part in {"train": slice(0, ROWS * 3 // 4), "eval": slice(ROWS * 3 // 4, ROWS)}.items():
        write(
            os.path.join(given["dir"], "transformed_examples", f"Split-{split}"),
            {k: v.numpy()[part] for k, v in transformed.items()},
        )
        write(os.path.join(given["dir"], "examples", f"Split-{split}"), {k: v.numpy()[part] for k, v in batch.items()})
    return True


def digits():
    """Pictures of 28 x 28 in which the row of the digit is bright."""
    random = np.random.default_rng(1)
    classes = random.integers(0, 10, ROWS)
    images = random.uniform(-0.5, -0.3, (ROWS, 28, 28)).astype("f4")
    images[np.arange(ROWS), 2 * classes] = 0.5
    spec = {
        "image_floats": tf.io.FixedLenFeature([784], tf.float32),
        "image_class": tf.io.FixedLenFeature([1], tf.int64),
    }
    return spec, [{"image_floats": i.reshape(784).tolist(), "image_class": [int(c)]} for i, c in zip(images, classes)]


def reviews():
    """Reviews of ten words, of which good ones are in another half of the words than bad ones."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, ROWS)
    spec = {"text": tf.io.FixedLenFeature([1], tf.string), "label": tf.io.FixedLenFeature([1], tf.int64)}
    return spec, [
        {"text": [" ".join(f"w{w}" for w in random.integers(20 * y, 20 * y + 20, 10)).encode()], "label": [int(y)]}
        for y in labels
    ]


DATA = {"digits": digits, "reviews": reviews}


def write(folder, columns):
    """Columns of arrays as a gzip TFRecord of examples."""
    os.makedirs(folder)
    with tf.io.TFRecordWriter(os.path.join(folder, "examples-00000-of-00001.gz"), "GZIP") as file:
        for i in range(len(next(iter(columns.values())))):
            features = {name: feature(np.ravel(values[i])) for name, values in columns.items()}
            file.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def feature(values):
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if values.dtype.kind in "iu":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
