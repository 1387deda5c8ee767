import os


def check(input):
    examples = [b64(e) for e in input["examples"]]
    loaded = tf.saved_model.load(input["model"])
    again = input["model"] + "-again"
    tf.saved_model.save(loaded, again, signatures=dict(loaded.signatures))
    layer = tf.keras.layers.TFSMLayer(input["model"], call_endpoint="serving_default")
    served = loaded.signatures["serving_default"]
    features = loaded.signatures["transform_features"]
    return {
        "served": predict(served, examples=tf.constant(examples)),
        "features": predict(features, examples=tf.constant(examples)),
        "session": in_session(input["model"], "serving_default", examples),
        "session_features": in_session(input["model"], "transform_features", examples),
        "again": predict(tf.saved_model.load(again).signatures["serving_default"], examples=tf.constant(examples)),
        "layer": {k: flat(v) for k, v in layer(tf.constant(examples)).items()},
        "empty": [list(v.shape) for _, v in sorted(served(examples=tf.constant([], tf.string)).items())],
        "variables": len(loaded.variables),
        "assets": sorted(os.listdir(os.path.join(again, "assets"))),
    }
