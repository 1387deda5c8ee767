"""Asks the real KerasTuner what it makes of spaces written in Go, and has it make some of its own."""
import json

import keras_tuner


def check(asked):
    return {"Made": [made(build) for build in (plain, scoped)], "Again": [again(**one) for one in asked]}


def again(config, places):
    hp = keras_tuner.HyperParameters.from_config(json.loads(config))
    values = [[p.prob_to_value(place) for place in places] for p in hp.space]
    back = [[p.value_to_prob(value) for value in row] for p, row in zip(hp.space, values)]
    active = [hp.is_active(p) for p in hp.space]
    return {"Config": json.dumps(hp.get_config()), "Values": values, "Back": back, "Active": active}


def made(build):
    hp = keras_tuner.HyperParameters()
    build(hp)
    return json.dumps(hp.get_config())


def plain(hp):
    hp.Int("n", 1, 9)
    hp.Int("by two", 1, 9, step=2, default=3)
    hp.Int("log", 1, 1000, sampling="LOG")
    hp.Float("x", 0, 1)
    hp.Float("tiny", 1e-7, 1e17, sampling="log", default=1e-5)
    hp.Float("stepped", 0.5, 8, step=2.0, sampling="reverse_log")
    hp.Choice("truth", [True, False])
    hp.Choice("word", ["é", "😀", "\n"], default="😀")
    hp.Choice("number", [3, 1, 2], ordered=False)
    hp.Boolean("flag", default=True)
    hp.Fixed("seven", 7.0)


def scoped(hp):
    with hp.name_scope("outer"):
        model = hp.Choice("model", ["mlp", "cnn"])
        with hp.conditional_scope("model", ["mlp"]):
            if model == "mlp":
                hp.Int("depth", 1, 3)
                with hp.conditional_scope("depth", [1, 2]):
                    hp.Boolean("wide")
        with hp.conditional_scope("model", ["cnn"]):
            if model == "cnn":
                hp.Int("filters", 8, 64, step=8)
    hp.Float("momentum", 0.0, 1.0, parent_name="outer/model", parent_values=["mlp"])
