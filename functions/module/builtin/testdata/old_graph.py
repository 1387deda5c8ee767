"""How far answers to raw rows are from what the model in memory said of the same rows, by way of asking: of the model to serve, without
the label, and of the eval model; and how far the label is apart in the two signatures that transform."""
import json


def unlabelled(record, label):
    e = tf.train.Example.FromString(record)
    e.features.feature.pop(label)
    return e.SerializeToString(deterministic=True)


def session(path, key, examples):
    with tf.Graph().as_default(), tf.compat.v1.Session() as s:
        signature = tf.compat.v1.saved_model.load(s, ["serve"], path).signature_def[key]
        return s.run({k: v.name for k, v in signature.outputs.items()}, {signature.inputs["examples"].name: examples})


def loaded(path, key, examples):
    out = tf.saved_model.load(path).signatures[key](examples=tf.constant(examples))
    return {k: v.numpy() for k, v in out.items()}


def apart(a, b):
    return float(np.max(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))))


def check(c):
    labelled = [r.numpy() for r in tf.data.TFRecordDataset(c["examples"])]
    rows = [unlabelled(r, c["label"]) for r in labelled]
    want = [json.loads(line) for line in open(c["predictions"])]
    differences, answers = {}, 0
    for name, ask in {"loaded": loaded, "session": session}.items():
        for model in ["model", "eval"]:
            got = ask(c[model], "serving_default", rows if model == "model" else labelled)
            differences[name + " " + model] = max(apart(v, [w[k] for w in want]) for k, v in got.items())
            answers += sum(v.size for v in got.values())
    a, b = (loaded(c["eval"], key, labelled)[c["label"]] for key in ["transformed_features", "transform_features"])
    differences["labels"], spread = apart(a, b), float(np.std(a))
    return {"differences": differences, "answers": answers, "spread": spread}
