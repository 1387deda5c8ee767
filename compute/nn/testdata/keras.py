def check(c):
    keras = tf.keras
    model = keras.Sequential([
        keras.Input((2,)),
        keras.layers.Dense(4, activation=c["act"].lower()),
        keras.layers.Dense(3),
    ])
    model.set_weights([np.array(w, np.float32).reshape(s) for w, s in zip(c["weights"], c["shapes"])])
    loss_of = {
        "categorical_crossentropy": keras.losses.CategoricalCrossentropy(from_logits=True),
        "binary_crossentropy": keras.losses.BinaryCrossentropy(from_logits=True),
        "mean_squared_error": keras.losses.MeanSquaredError(),
    }[c["loss"]]
    optimizer = {
        "sgd": lambda r: keras.optimizers.SGD(r),
        "momentum": lambda r: keras.optimizers.SGD(r, momentum=0.9),
        "nesterov": lambda r: keras.optimizers.SGD(r, momentum=0.9, nesterov=True),
        "adam": lambda r: keras.optimizers.Adam(r),
        "adamw": lambda r: keras.optimizers.AdamW(r),
        "rmsprop": lambda r: keras.optimizers.RMSprop(r),
        "adagrad": lambda r: keras.optimizers.Adagrad(r),
        "ftrl": lambda r: keras.optimizers.Ftrl(r),
    }[c["optimizer"]](c["rate"])
    x = np.array(c["x"], np.float32).reshape(3, 2)
    y = np.array(c["y"], np.float32).reshape(3, 3)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    optimizer.build(model.trainable_variables)
    losses = [float(step()) for _ in range(c["steps"])]
    return {"losses": losses, "weights": np.concatenate([w.reshape(-1) for w in model.get_weights()])}
