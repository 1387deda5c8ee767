"""What a SavedModel answers for raw rows, as TensorFlow Serving would be asked: serialized tf.Examples, without their label or with it."""


def check(c):
    serve = tf.saved_model.load(c["model"]).signatures["serving_default"]
    parts = [serve(examples=r) for r in tf.data.TFRecordDataset(c["rows"], "GZIP").batch(512)]
    all = {k: np.concatenate([p[k].numpy() for p in parts]) for k in parts[0]}
    return {
        "keys": sorted(all),
        "rows": {k: v.reshape(-1).astype(np.float64) for k, v in all.items() if v.dtype != object},
        "labels": [v.decode() for v in all["classes"].reshape(-1)],
    }
