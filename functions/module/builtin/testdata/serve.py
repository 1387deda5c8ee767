import glob


def records(pattern):
    for path in sorted(glob.glob(pattern)):
        kind = "GZIP" if open(path, "rb").read(2) == b"\x1f\x8b" else ""
        for record in tf.data.TFRecordDataset(path, compression_type=kind):
            yield tf.train.Example.FromString(record.numpy())


def value(example, name):
    feature = example.features.feature[name]
    return (list(feature.float_list.value) + list(feature.int64_list.value))[0]


def check(c):
    """Serves the raw examples without their label, and measures the answers against the labels in the training data."""
    labels = np.array([value(e, c["label"]) for e in records(c["labels"])], np.float32)
    requests = []
    for e in records(c["examples"]):
        e.features.feature.pop(c["raw_label"], None)
        requests.append(e.SerializeToString(deterministic=True))
    out = tf.saved_model.load(c["model"]).signatures["serving_default"](examples=tf.constant(requests))
    k = tf.keras
    if "predictions" in out:
        p = out["predictions"][:, 0]
        return {"loss": float(k.losses.MeanSquaredError()(labels, p)), "mae": float(tf.reduce_mean(tf.abs(labels - p)))}
    logits, p = out["logits"], out["probabilities"].numpy()
    if p.shape[1] == 1:
        loss = k.losses.BinaryCrossentropy(from_logits=True)(labels[:, None], logits)
        return {"loss": float(loss), "accuracy": float(np.mean((p[:, 0] > 0.5) == labels))}
    loss = k.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
    return {"loss": float(loss), "accuracy": float(np.mean(p.argmax(1) == labels))}
