keras = tf.keras


def layer(spec):
    kind, rest = spec["kind"], {k: v for k, v in spec.items() if k != "kind"}
    if kind == "dense":
        l1, l2 = rest.pop("l1", 0), rest.pop("l2", 0)
        return keras.layers.Dense(**rest, kernel_regularizer=keras.regularizers.L1L2(l1, l2) if l1 or l2 else None)
    return {"batch": keras.layers.BatchNormalization, "layer": keras.layers.LayerNormalization}[kind](**rest)


def loss_of(spec):
    name, rest = spec["name"], {k: v for k, v in spec.items() if k != "name"}
    if name.endswith("crossentropy"):
        rest["from_logits"] = True
    return {
        "categorical_crossentropy": keras.losses.CategoricalCrossentropy,
        "binary_crossentropy": keras.losses.BinaryCrossentropy,
        "mean_squared_error": keras.losses.MeanSquaredError,
        "mean_absolute_error": keras.losses.MeanAbsoluteError,
        "huber": keras.losses.Huber,
    }[name](**rest)


def optimizer_of(spec):
    name, rest = spec["name"], {k: v for k, v in spec.items() if k != "name"}
    schedule = rest.pop("schedule", None)
    if schedule:
        rest["learning_rate"] = getattr(keras.optimizers.schedules, schedule["name"])(**schedule["config"])
    return {
        "sgd": keras.optimizers.SGD,
        "momentum": lambda **rest: keras.optimizers.SGD(momentum=0.9, **rest),
        "nesterov": lambda **rest: keras.optimizers.SGD(momentum=0.9, nesterov=True, **rest),
        "adam": keras.optimizers.Adam,
        "adamw": keras.optimizers.AdamW,
        "adagrad": keras.optimizers.Adagrad,
        "rmsprop": keras.optimizers.RMSprop,
        "ftrl": keras.optimizers.Ftrl,
    }[name](**rest)


def train(c):
    model = keras.Sequential([keras.Input((2,))] + [layer(s) for s in c["layers"]])
    for v, w, s in zip(model.trainable_variables, c["weights"], c["shapes"]):
        v.assign(np.array(w, np.float32).reshape(s))
    model.compile(optimizer=optimizer_of(c["optimizer"]), loss=loss_of(c["loss"]), jit_compile=False)
    x = np.array(c["x"], np.float32).reshape(-1, 2)
    y = np.array(c["y"], np.float32).reshape(len(x), -1)
    sample = np.array(c["sample"], np.float32) if c.get("sample") else None
    classes = dict(enumerate(c["classes"])) if c.get("classes") else None
    losses = []
    for _ in range(c["steps"]):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, y, sample_weight=sample, class_weight=classes)))
    flat = lambda vs: [float(x) for v in vs for x in np.reshape(v, -1)]
    return {
        "losses": losses,
        "weights": flat(model.trainable_variables),
        "others": flat(model.non_trainable_variables),
        "answers": flat([model(x, training=False)]),
    }


def check(cases):
    return [train(c) for c in cases]
