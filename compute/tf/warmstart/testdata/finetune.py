"""Trains a served model for some steps, as its user would in TensorFlow, and saves it: all its weights, by name."""


def check(request):
    model = tf.saved_model.load(request["model"])
    rows = []
    for i in range(16):
        feature = {
            "hour": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 6])),
            "price": tf.train.Feature(float_list=tf.train.FloatList(value=[i, 1.5])),
        }
        for name, values in (("shop", ("anna", "bert", "carl", "emil")), ("kind", ("tea", "coffee", "beer")), ("user", ("u", "v", "w", "x", "y"))):
            feature[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[values[i % len(values)].encode()]))
        rows.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    served = model.signatures["serving_default"]
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(served(examples=tf.constant(rows))["logits"] - 7.0))
        for variable, slope in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            variable.assign_sub(0.01 * tf.convert_to_tensor(slope))
    tf.saved_model.save(model, request["into"], signatures=model.signatures)
    return {v.name: v for v in model.variables}
