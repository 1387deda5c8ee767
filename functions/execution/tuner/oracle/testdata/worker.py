"""One of KerasTuner's own workers, as it stands: what it knows of an oracle elsewhere are the three variables in its
environment. Its trials are arithmetic, slow where SLOW says so, and leave a file for those that go on from them."""
import os
import sys
import time

import keras_tuner


class Tuner(keras_tuner.engine.base_tuner.BaseTuner):
    def run_trial(self, trial):
        hp = trial.hyperparameters
        print(f"trial {trial.trial_id}", flush=True)
        time.sleep(float(os.environ.get("SLOW", "0")))
        x = hp.get("x") + (hp.get("y") if hp.get("model") == "deep" else 0)
        if hp.get("model") == "none":
            raise ValueError("no model")
        found = hp.Int("found", 1, 3)
        epochs = hp.values.get("tuner/epochs", 1)
        self.go_on(hp.values.get("tuner/trial_id"), trial.trial_id)
        return {"loss": (x - 0.3) ** 2 + 1 / epochs + found - 1, "epochs": epochs}

    def go_on(self, parent, own):
        """Writes the line of a trial's parents; one whose parent left nothing fails."""
        line = [own]
        if parent:
            with open(os.path.join(self.get_trial_dir(parent), "line"), encoding="utf-8") as file:
                line = [*file.read().split(), own]
        with open(os.path.join(self.get_trial_dir(own), "line"), "w", encoding="utf-8") as file:
            file.write(" ".join(line))


def space():
    hp = keras_tuner.HyperParameters()
    hp.Choice("model", ["plain", "deep", "none"])
    hp.Float("x", 0, 1)
    with hp.conditional_scope("model", ["deep"]):
        hp.Float("y", 1e-3, 1, sampling="log")
    hp.Boolean("b")
    hp.Fixed("f", 7)
    return hp


def main(directory):
    objective = keras_tuner.Objective("loss", "min")
    oracle = keras_tuner.oracles.RandomSearchOracle(objective, hyperparameters=space())
    tuner = Tuner(oracle, directory=directory, project_name="p")
    assert type(tuner.oracle).__name__ == "OracleClient", type(tuner.oracle)
    tuner.search()
    best = tuner.oracle.get_best_trials(1)[0]
    print("best", best.trial_id, best.score, sorted(best.hyperparameters.values), flush=True)
    print("space", [p.name for p in tuner.oracle.get_space().space], flush=True)


main(sys.argv[1])
