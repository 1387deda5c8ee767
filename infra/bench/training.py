"""The same models on the same files as TensorFlow trains them best: Keras's fit, and a whole loop in the graph, with and without XLA."""
import time

import numpy as np

keras = tf.keras


def dataset(work):
    """Batches of (features by name, label), without end, in the file's order.

    Small batches are parsed many at a time and cut apart again, which takes a third of the CPU time.
    """
    features = {n: tf.io.FixedLenFeature([work["width"]], tf.float32) for n in work["numbers"]}
    features |= {c["name"]: tf.io.FixedLenFeature([1], tf.int64) for c in work["classes"]}
    features[work["label"]] = tf.io.FixedLenFeature([1], tf.int64)

    def parse(records):
        columns = tf.io.parse_example(records, features)
        return columns, columns.pop(work["label"])

    records = tf.data.TFRecordDataset(work["file"]).repeat()
    together = 100 if work["batch"] < 100 else 1
    parsed = records.batch(together * work["batch"], drop_remainder=True).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    if together > 1:
        parsed = parsed.rebatch(work["batch"], drop_remainder=True)
    return parsed.prefetch(tf.data.AUTOTUNE)


def inputs(work):
    numbers = {n: keras.Input((work["width"],), name=n) for n in work["numbers"]}
    classes = {c["name"]: keras.Input((1,), name=c["name"], dtype="int64") for c in work["classes"]}
    values = list(numbers.values())
    return numbers | classes, values[0] if len(values) == 1 else keras.layers.Concatenate()(values), list(classes.values())


def network(work):
    """The model up to its logits. wide "one_hot": as TFX's example has it; "lookup": the same sums as rows of one table."""
    named, x, classes = inputs(work)
    for units in work["hidden"]:
        x = keras.layers.Dense(units, activation=work["activation"])(x)
    depths = [c["depth"] for c in work["classes"]]
    if work["wide"] == "lookup":
        starts = np.cumsum([0] + depths[:-1])
        ids = keras.layers.Concatenate()(classes) + starts
        rows = keras.layers.Embedding(sum(depths), 1, name="wide")(ids)
        y = keras.layers.Dense(work["units"])(x) + keras.ops.sum(rows, axis=1)
    else:
        wide = [keras.layers.CategoryEncoding(d, output_mode="one_hot")(c) for c, d in zip(classes, depths)]
        y = keras.layers.Dense(work["units"])(keras.layers.Concatenate()([x] + wide) if wide else x)
    return keras.Model(named, y)


def loss_of(work):
    if work["units"] == 1:
        return keras.losses.BinaryCrossentropy(from_logits=True)
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


OPTIMIZERS = {
    "adam": lambda r: keras.optimizers.Adam(r),
    "adamw": lambda r: keras.optimizers.AdamW(r),
    "sgd": lambda r: keras.optimizers.SGD(r),
    "momentum": lambda r: keras.optimizers.SGD(r, momentum=0.9),
    "nesterov": lambda r: keras.optimizers.SGD(r, momentum=0.9, nesterov=True),
    "adagrad": lambda r: keras.optimizers.Adagrad(r),
    "rmsprop": lambda r: keras.optimizers.RMSprop(r),
    "ftrl": lambda r: keras.optimizers.Ftrl(r),
}


class Loop:
    """A loop over steps that is a graph as a whole; fused: Adam as one operation for each variable."""

    def __init__(self, work, xla=False, fused=False):
        self.model, self.loss, self.batches = network(work), loss_of(work), iter(dataset(work))
        self.optimizer = OPTIMIZERS[work["optimizer"]](work["rate"])
        variables = self.model.trainable_variables
        self.optimizer.build(variables)
        if fused:
            slots = [(tf.Variable(tf.zeros_like(v.value)), tf.Variable(tf.zeros_like(v.value))) for v in variables]
            clock = tf.Variable(0.0)
        apply = self.optimizer.apply

        def adam(grads):
            clock.assign_add(1.0)
            for v, g, (m, s) in zip(variables, grads, slots):
                tf.raw_ops.ResourceApplyAdam(
                    var=v.value.handle, m=m.handle, v=s.handle, beta1_power=0.9**clock, beta2_power=0.999**clock, lr=work["rate"],
                    beta1=0.9, beta2=0.999, epsilon=1e-7, grad=tf.convert_to_tensor(g))

        @tf.function(autograph=False, jit_compile=xla)
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = self.loss(y, self.model(x, training=True))
            grads = tape.gradient(loss, [v.value for v in variables])
            if fused:
                adam(grads)
            else:
                apply(grads, variables)
            return loss

        def body(i, losses):
            return i + 1, losses.write(i, step(*self.batches.get_next()))

        @tf.function(autograph=False)
        def loop(n):
            losses = tf.TensorArray(tf.float32, n)
            return tf.while_loop(lambda i, _: i < n, body, (0, losses), parallel_iterations=1)[1].stack()

        self.loop = loop

    def run(self, steps):
        return self.loop(tf.constant(steps))

    def timed(self, steps):
        cpu, wall = time.process_time(), time.perf_counter()
        self.run(steps).numpy()
        return time.process_time() - cpu, time.perf_counter() - wall


class Clock(keras.callbacks.Callback):
    """The times at the end of each epoch."""

    def __init__(self):
        super().__init__()
        self.at = []

    def on_epoch_end(self, epoch, logs=None):
        self.at.append((time.process_time(), time.perf_counter()))


class Fit:
    """Model.fit over one endless dataset; the clock runs for the second epoch."""

    def __init__(self, work, xla=False, together=1):
        self.model, self.data, self.together = network(work), dataset(work), together
        self.model.compile(OPTIMIZERS[work["optimizer"]](work["rate"]), loss_of(work), jit_compile=xla, steps_per_execution=together)

    def timed(self, steps):
        clock = Clock()
        self.model.fit(self.data, steps_per_epoch=steps, epochs=2, verbose=0, shuffle=False, callbacks=[clock])
        return tuple(after - before for before, after in zip(*clock.at))


MODES = {
    "fit": lambda w: Fit(w),
    "fit, XLA": lambda w: Fit(w, xla=True),
    "fit, 50 steps at once": lambda w: Fit(w, together=50),
    "fit, 50 steps at once, XLA": lambda w: Fit(w, xla=True, together=50),
    "loop": lambda w: Loop(w),
    "loop, XLA": lambda w: Loop(w, xla=True),
    "loop, fused Adam": lambda w: Loop(w, fused=True),
}

made = {}


def train(work):
    """Trains for some steps, after those that warm up, and returns what they took."""
    key = (work["name"], work["mode"], work["wide"])
    if key not in made:
        made[key] = MODES[work["mode"]](work)
        made[key].timed(100)
    cpu, wall = made[key].timed(work["steps"])
    return {"examples": work["steps"] * work["batch"], "cpu": cpu, "wall": wall}


def follow(work):
    """Starts with weights of Keras, and returns them and the loss of each step."""
    keras.utils.set_random_seed(1)
    loop = Loop(work)
    weights = np.concatenate([w.reshape(-1) for w in loop.model.get_weights()])
    return {"weights": weights.tolist(), "losses": loop.run(work["steps"]).numpy().tolist()}
