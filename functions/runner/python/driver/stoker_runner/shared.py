"""A search whose trials several workers share: they come from a study's log, which the worker serves as KerasTuner's
own oracle serves its workers, and KerasTuner's own loop works on them.

What the tuner would search for by itself becomes the study's config. That goes for KerasTuner's four oracles; any other
has a mind of its own, and its search runs whole in one process. In addition to KerasTuner's messages this process says where it
keeps its trials, how each epoch went, and why a trial failed, as metadata of the same calls: functions/execution/tuner/oracle.
"""
import functools
import json
import math
import os
import sys

import stoker
from stoker_runner import leaving, optimizer_state, progress, said

ENDLESS = 2**31 - 1  # trials, of a search that only an exhausted space ends
FAILURE_BYTES = 4096  # of a traceback: its end says most
LOOKS = 0.2  # seconds between looks for a request to leave, while there is no trial


class Apart(Exception):
    """The search can't be shared, for the reason that it says."""


def search(tuner, fit_kwargs, oracle):
    """Takes part in the study that the tuner stands for, until it is over. Raises Apart before anything has begun."""
    config = json.dumps(study(getattr(tuner, "oracle", None)))
    if len(config) > said.MAX_BYTES - 1024:
        raise Apart(f"its search space and configuration take {len(config)} bytes")
    client = connect(tuner, oracle)
    said.send({"type": "study", "study": json.loads(config)})
    tuner.oracle, tuner.tuner_id = client, oracle["tuner"]
    watch(tuner, client)
    optimizer_state.carry(tuner)
    tuner.search(**fit_kwargs)


def study(oracle):
    """What one of KerasTuner's own oracles would do, as the config of a study."""
    return {
        "algorithm": algorithm(oracle),
        "space": space(oracle),
        "objectives": [objective(oracle.objective)],
        "seed": oracle.seed,
        "max_trials": oracle.max_trials or (ENDLESS if kind(oracle) in ("random", "bayesian") else 0),
        "max_retries_per_trial": oracle.max_retries_per_trial,
        "max_consecutive_failed_trials": oracle.max_consecutive_failed_trials,
    }


def space(oracle):
    """Its parameters, in the order in which they were registered: KerasTuner's wire has them by type."""
    found = oracle.get_space().get_config()["space"]
    if not found:
        raise Apart("it defines no hyperparameters before its first trial")
    return found


def objective(given):
    """One number, as KerasTuner has it: of several objectives it is their sum, under a name of its own."""
    return {"name": given.name, "direction": given.direction}


def algorithm(oracle):
    if kind(oracle) == "bayesian":
        return {"name": "bayesian", "initial_points": oracle.num_initial_points or 0}
    if kind(oracle) != "hyperband":
        return {"name": kind(oracle)}
    if math.isinf(oracle.hyperband_iterations):
        raise Apart("its Hyperband repeats without limit (hyperband_iterations)")
    return {"name": "hyperband", "max_epochs": oracle.max_epochs, "factor": oracle.factor,
            "iterations": oracle.hyperband_iterations}


def kind(oracle):
    """The study's name for an oracle of KerasTuner's own; a class derived from one may do anything."""
    try:
        import keras_tuner
    except ImportError:
        raise Apart("it is not an oracle of KerasTuner") from None
    own = {
        keras_tuner.oracles.RandomSearchOracle: "random",
        keras_tuner.oracles.GridSearchOracle: "grid",
        keras_tuner.oracles.HyperbandOracle: "hyperband",
        keras_tuner.oracles.BayesianOptimizationOracle: "bayesian",
    }
    if type(oracle) not in own:
        raise Apart(f"{type(oracle).__name__} is not one of KerasTuner's own oracles")
    return own[type(oracle)]


def connect(tuner, oracle):
    """KerasTuner's own client in the place of the tuner's oracle, with what this process says in addition."""
    try:
        from keras_tuner.src.distribute.oracle_client import OracleClient
    except ImportError as error:
        raise Apart(f"this version of KerasTuner has no client for shared studies: {error}") from None
    host, _, port = oracle["address"].rpartition(":")
    os.environ.update(KERASTUNER_ORACLE_IP=host, KERASTUNER_ORACLE_PORT=port, KERASTUNER_TUNER_ID=oracle["tuner"],
                      no_grpc_proxy=host)
    local, client = tuner.oracle, OracleClient(tuner.oracle)
    client.multi_worker, client.should_report = local.multi_worker, local.should_report
    folder = ("stoker-folder-bin", os.path.realpath(tuner.project_dir).encode())
    plain = client.stub.UpdateTrial
    client.epoch = functools.partial(report_epoch, plain)
    client.stub.CreateTrial = waiting(client.stub.CreateTrial, folder)
    client.end_trial = ending(client, local, folder)
    return client


def waiting(create_trial, folder):
    """CreateTrial, which may take long, and can be left."""
    import grpc

    def call(request, timeout=None, **options):  # the worker answers each minute at least
        future = create_trial.future(request, metadata=[folder], **options)
        while True:
            leaving.check()
            try:
                return future.result(timeout=LOOKS)
            except grpc.FutureTimeoutError:
                continue

    return call


def ending(client, local, folder):
    """end_trial, with why a trial failed; and with no parameters that the tuner's oracle would not take."""
    end, end_trial = client.stub.EndTrial, client.end_trial

    def call(trial):
        local.update_space(trial.hyperparameters)
        if not local.tune_new_entries:
            values = trial.hyperparameters.values
            trial.hyperparameters = local.get_space()
            trial.hyperparameters.values = values
        failure = (trial.message or "").encode("utf-8", "replace")[-FAILURE_BYTES:]
        said_too = [folder, ("stoker-failure-bin", failure)] if failure else [folder]
        client.stub.EndTrial = functools.partial(end, metadata=said_too)
        end_trial(trial)

    return call


def report_epoch(update_trial, trial_id, epoch, metrics):
    """Reports how an epoch of a trial went, and returns whether the trial is to end with it."""
    from keras_tuner.src import protos

    request = protos.get_service().UpdateTrialRequest(trial_id=trial_id, metrics=metrics)
    answer = update_trial(request, metadata=[("stoker-epoch", str(epoch))], timeout=60)
    return answer.trial.status == protos.get_proto().TrialStatus.STOPPED


def watch(tuner, client):
    """Has the beginning and the end of each trial reported, and the end of each epoch of its fits."""
    begin, end = tuner.on_trial_begin, tuner.on_trial_end

    def on_trial_begin(trial):
        leaving.check()
        progress.trial(f"trial {trial.trial_id}", int(trial.trial_id), 0)
        progress.on_epoch(lambda epoch, logs: client.epoch(trial.trial_id, epoch, stoker.numbers(logs)))
        begin(trial)

    def on_trial_end(trial):
        progress.on_epoch(None)
        if trial.message:
            print(trial.message, file=sys.stderr, flush=True)
        end(trial)
        leaving.check()

    tuner.on_trial_begin, tuner.on_trial_end = on_trial_begin, on_trial_end
