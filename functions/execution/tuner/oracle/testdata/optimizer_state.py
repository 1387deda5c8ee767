"""Trains without a break, and in two trials of KerasTuner's Hyperband of which one goes on from the other.

check returns for each way to go on how far its first step is from that step of the unbroken training (the optimizer's
variables and the weights), how many steps its optimizer has counted then, and the lines in the log.
"""
import sys
import tempfile

STEPS = 2  # in an epoch


def check(given):
    sys.path.insert(0, given["driver"])
    import keras_tuner
    from keras_tuner.src.backend import keras
    from keras_tuner.src.engine import trial as trials
    from stoker_runner import optimizer_state, said

    notes, steps, scores = [], [], []
    said.note = notes.append

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            of = self.model.optimizer
            variables = of.variables() if callable(of.variables) else of.variables
            steps.append([np.array(v) for v in [*variables, *self.model.weights]] + [int(of.iterations.numpy())])

        def on_epoch_end(self, epoch, logs=None):
            logs["score"] = scores.pop(0)

    x = np.random.default_rng(1).normal(size=(32 * STEPS, 3)).astype("float32")
    optimizer = keras.optimizers.Adam

    def build(hp):
        keras.utils.set_random_seed(7)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
        model.compile(optimizer(), "mse", run_eagerly=True)
        return model

    tuner = keras_tuner.Hyperband(build, keras_tuner.Objective("score", "min"), max_epochs=4, factor=2,
                                  directory=tempfile.mkdtemp(), project_name="p")
    if given["carry"]:
        optimizer_state.carry(tuner)

    def train(name, by, first, last, judged, parent=None):
        nonlocal optimizer
        optimizer, scores[:], steps[:], notes[:] = by, judged, [], []
        values = {"tuner/initial_epoch": first, "tuner/epochs": last, **({"tuner/trial_id": parent} if parent else {})}
        hp = keras_tuner.HyperParameters()
        hp.values = values
        tuner.run_trial(trials.Trial(hp, trial_id=name), x, x.sum(axis=1), batch_size=32, shuffle=False, verbose=0,
                        callbacks=[Watch()])
        return list(steps)

    def adam(**more):
        return lambda: keras.optimizers.Adam(0.05, **more)

    unbroken = train("0000", adam(), 0, 3, [3, 2, 1])
    train("0001", adam(), 0, 2, [2, 1])
    train("0002", adam(), 0, 2, [1, 2])
    answers = {}
    for way, by, parent, epochs in [
        ("last epoch", adam(), "0001", 2),
        ("best epoch", adam(), "0002", 1),
        ("another class", lambda: keras.optimizers.AdamW(0.05), "0001", 2),
        ("other variables", adam(amsgrad=True), "0001", 2),
    ]:
        went_on = train("0003", by, 2, 3, [1], parent)[0]
        at = unbroken[epochs * STEPS]
        far = max(float(np.abs(a - b).max()) for a, b in zip(went_on, at)) if len(at) == len(went_on) else None
        answers[way] = {"far": far, "steps": went_on[-1], "notes": list(notes)}
    return answers
