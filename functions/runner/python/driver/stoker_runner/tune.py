"""The call tune: tuner_fn(fn_args) gives a tuner and what its search is called with; the result is written as TFX
writes it.

The search runs as the module wrote it. Below fn_args.working_dir its project folder is kept after each trial, and there
again for the next attempt: KerasTuner continues the trial that was under way.
"""
import json
import math
import os
import random

import stoker
from stoker_runner import checkpoints, directions, fnargs, leaving, progress, said, shared, strategies


def run(module, assignment):
    """Searches, and returns the best score; or takes part in a search, of which the worker reports."""
    fnargs.folders(assignment)
    directions.mend()
    tuner_fn = module.function("tuner_fn") or module.required("tuner_fn", "tuner_fn(fn_args)")
    if assignment.get("oracle"):
        random.seed(assignment["seed"])  # where KerasTuner takes the seed from that a tuner_fn does not give it
    with strategies.scope(assignment):
        return search(tuner_fn, assignment)


def search(tuner_fn, assignment):
    """Searches with the tuner that tuner_fn gives."""
    tuner, fit_kwargs = given(tuner_fn(fnargs.make(assignment)))
    if assignment.get("oracle"):
        try:
            shared.search(tuner, fit_kwargs, assignment["oracle"])
            return {}
        except shared.Apart as reason:
            if not assignment.get("best_hyperparameters_dir"):  # the search is another process's
                raise
            said.note(f"the whole search runs in this process: {reason}")
    return whole(tuner, fit_kwargs, assignment)


def whole(tuner, fit_kwargs, assignment):
    """Searches by KerasTuner alone."""
    watch(tuner)
    place(tuner, assignment.get("working_dir"))
    tuner.search(**fit_kwargs)
    trials = completed(tuner)
    write(assignment["best_hyperparameters_dir"], "best_hyperparameters.txt", winner(tuner, trials[0]).get_config())
    write(assignment["tuner_results_dir"], "tuner_results.json", [trial_result(trial) for trial in trials])
    return {"score": trials[0].score}


def given(result):
    """The tuner and the arguments of its search, of a TunerFnResult or anything with its fields."""
    tuner, fit_kwargs = getattr(result, "tuner", None), getattr(result, "fit_kwargs", None)
    if not callable(getattr(tuner, "search", None)):
        raise TypeError(f"tuner_fn returned {type(result).__name__} without a tuner, "
                        "expected TunerFnResult(tuner=..., fit_kwargs=...)")
    return tuner, fit_kwargs or {}


def completed(tuner):
    """The completed trials, best first, however many there are: Hyperband has no number of trials to ask for. One that
    diverged is none: its endless score is no number to JSON, and the best of all where more is better."""
    known = tuner.oracle.trials
    trials = [trial for trial in tuner.oracle.get_best_trials(max(len(known), 1)) if trial.status == "COMPLETED"]
    scored = [trial for trial in trials if math.isfinite(trial.score)]
    if len(scored) < len(trials):
        said.note(f"{len(trials) - len(scored)} trials have a score that is not finite; they are not counted as results")
    if scored:
        return scored
    ends = {trial.status for trial in known.values() if trial not in trials}
    ends |= {f"COMPLETED with a score of {trial.score}" for trial in trials}
    messages = [trial.message.strip() for trial in known.values() if trial.message and trial.message.strip()]
    last = f"; the last one: {messages[-1].splitlines()[-1]}" if messages else ""
    how = ", ".join(sorted(map(str, ends))) or "none begun"
    raise RuntimeError(f"the search completed no trial: {len(known)} trials, {how}{last}")


def winner(tuner, trial):
    """The best hyperparameters: the tuner's own choice, unless that is a trial before the best that counts."""
    if tuner.oracle.get_best_trials(1)[0].trial_id == trial.trial_id:
        return tuner.get_best_hyperparameters()[0]
    return trial.hyperparameters


def trial_result(trial):
    """A trial as tuner_results.json has it."""
    return {"trial_id": trial.trial_id, "score": trial.score, **trial.hyperparameters.values}


def write(folder, name, value):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file)


def watch(tuner):
    """Has the beginning and the end of each trial reported, in tuners that go by KerasTuner's loop."""
    begin, end = getattr(tuner, "on_trial_begin", None), getattr(tuner, "on_trial_end", None)
    if begin is None or end is None:
        return
    of = getattr(tuner.oracle, "max_trials", None) or 0

    def report(trial, over):
        number = tuner.oracle.start_order.index(trial.trial_id) + 1
        progress.trial(f"trial {number}", number - 1 + over, max(of, number) if of else 0, best(tuner))

    def on_trial_begin(trial):
        leaving.check()
        report(trial, over=0)
        begin(trial)

    def on_trial_end(trial):
        end(trial)
        report(trial, over=1)
        checkpoints.reached(progress.step())
        leaving.check()

    tuner.on_trial_begin, tuner.on_trial_end = on_trial_begin, on_trial_end


def best(tuner):
    """The best score so far."""
    for trial in tuner.oracle.get_best_trials(1):
        if trial.status == "COMPLETED":
            return stoker.numbers({"best_score": trial.score})
    return {}


def place(tuner, working_dir):
    """Says where the search keeps its trials, if that does not survive a lost worker; and that it found some there,
    which may be those of another run."""
    folder = os.path.realpath(getattr(tuner, "project_dir", None) or ".")
    if working_dir and os.path.commonpath([folder, os.path.realpath(working_dir)]) != os.path.realpath(working_dir):
        there = len(tuner.oracle.trials)
        found = f", where {there} trials were there before and count as its own" if there else ""
        said.note(f"the tuner keeps its trials in {folder}{found}: "
                  "set directory=fn_args.working_dir to keep them separate from other searches and to continue after a worker is lost")
