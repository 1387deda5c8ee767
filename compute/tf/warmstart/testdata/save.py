"""Saves the same two layers as everyone saves them, each way into a folder of its own, and returns the weights."""
import os


def keras3(out):
    import keras
    inputs = {name: keras.Input((1,), name=name) for name in ("wide", "narrow")}
    x = keras.layers.concatenate([inputs["wide"], inputs["narrow"]])
    x = keras.layers.Dense(4, activation="relu")(x)
    model = keras.Model(inputs, keras.layers.Dense(3, name="head")(x))
    model.compile("adam", "mse")
    model.fit({name: np.ones((4, 1)) for name in inputs}, np.ones((4, 3)), verbose=0)
    model.export(os.path.join(out, "keras 3 export"), verbose=False)
    tf.saved_model.save(model, os.path.join(out, "keras 3 saved_model.save"))
    tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(os.path.join(out, "keras 3 checkpoint", "ckpt"))
    model.save(os.path.join(out, "whole.keras"))
    return model.get_weights()


def keras2(out):
    import tf_keras as keras
    inputs = {name: keras.Input((1,), name=name) for name in ("wide", "narrow")}
    x = keras.layers.Dense(4, activation="relu")(keras.layers.concatenate([inputs["wide"], inputs["narrow"]]))
    model = keras.Model(inputs, keras.layers.Dense(3, name="head")(x))
    model.compile(keras.optimizers.Adam(0.0), "mse")  # which has slots, and leaves the weights
    model.fit({name: np.ones((4, 1)) for name in inputs}, np.ones((4, 3)), verbose=0)
    model.save(os.path.join(out, "keras 2 save"))
    model.save_weights(os.path.join(out, "keras 2 save_weights", "weights"))
    legacy = keras.optimizers.legacy.Adam(0.0)
    model.compile(legacy, "mse")
    model.fit({name: np.ones((4, 1)) for name in inputs}, np.ones((4, 3)), verbose=0)
    tf.train.Checkpoint(model=model, optimizer=legacy).write(os.path.join(out, "keras 2 checkpoint", "written"))
    return model.get_weights()


class Module(tf.Module):
    def __init__(self):
        self.layers = [{"kernel": tf.Variable(tf.random.normal([2, 4]), name="k"), "bias": tf.Variable(tf.random.normal([4]))},
                       {"kernel": tf.Variable(tf.random.normal([4, 3])), "bias": tf.Variable(tf.random.normal([3]))}]
        self.steps = tf.Variable(0, dtype=tf.int64)


def module(out):
    m = Module()
    tf.train.Checkpoint(m=m).save(os.path.join(out, "module", "ckpt"))
    return [m.layers[0]["kernel"], m.layers[0]["bias"], m.layers[1]["kernel"], m.layers[1]["bias"]]


def estimator(out):
    """What an Estimator's DNNClassifier leaves, written with TensorFlow 2's compat.v1."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        serialized = v1.placeholder(tf.string, [None], name="input_example_tensor")
        parsed = v1.io.parse_example(serialized, {n: v1.io.FixedLenFeature([1], tf.float32) for n in ("wide", "narrow")})
        x, weights = tf.concat([parsed["narrow"], parsed["wide"]], 1), []
        for name, units, parts in (("dnn/hiddenlayer_0", 4, 2), ("dnn/logits", 3, 1)):
            with v1.variable_scope(name, partitioner=v1.fixed_size_partitioner(parts) if parts > 1 else None, use_resource=parts == 1):
                kernel = v1.get_variable("kernel", [x.shape[1], units])
                bias = v1.get_variable("bias", [units], initializer=v1.random_normal_initializer())
                weights += [tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias)]
                x = tf.nn.bias_add(tf.matmul(x, weights[-2]), weights[-1])
        step = v1.train.get_or_create_global_step()
        train = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(x), step)
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, os.path.join(out, "estimator checkpoint", "model.ckpt"), global_step=7)
        v1.saved_model.simple_save(
            session, os.path.join(out, "estimator", "Format-Serving", "export", "taxi", "1577836800"), {"examples": serialized}, {"scores": x})
        os.makedirs(os.path.join(out, "old"))
        v1.train.Saver(write_version=v1.train.SaverDef.V1).save(session, os.path.join(out, "old", "model.ckpt"))
        return session.run(weights)


def check(out):
    tf.random.set_seed(1)
    tf.keras.utils.set_random_seed(1)
    for name in ("estimator checkpoint", "keras 2 checkpoint", "keras 2 save_weights", "module"):
        os.makedirs(os.path.join(out, name))
    return {"keras 3": keras3(out), "keras 2": keras2(out), "module": module(out), "estimator": estimator(out)}
