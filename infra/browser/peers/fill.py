"""Fills the databases of MLflow and Optuna with the runs and the trials of a file.

    python fill.py DATA FOLDER

DATA is the JSON that functions/console/peers_test.go writes. TensorBoard reads event files, which
are there already. FOLDER gets mlflow.db, optuna.db and, last, filled.json: the versions of the
peers, and MLflow's identifiers of its experiment and runs.
"""

import datetime
import importlib.metadata
import json
import pathlib
import sys
import uuid

import sqlalchemy


@sqlalchemy.event.listens_for(sqlalchemy.Engine, "connect")
def without_sync(connection, _):
    """A database that is made anew if this fails needs no fsync."""
    connection.execute("PRAGMA synchronous = OFF")


def main(data_file, folder):
    data = json.loads(pathlib.Path(data_file).read_text())
    folder = pathlib.Path(folder).absolute()
    for name in ("filled.json", "mlflow.db", "optuna.db"):
        (folder / name).unlink(missing_ok=True)
    filled = {name: importlib.metadata.version(name) for name in ("mlflow", "optuna", "optuna-dashboard", "tensorboard")}
    experiment, runs = fill_mlflow(data, folder)
    fill_optuna(data, folder)
    (folder / "filled.json").write_text(json.dumps({"versions": filled, "experiment": experiment, "runs": runs}))


def fill_mlflow(data, folder):
    """Returns the identifiers of the experiment, and of its runs by name.

    Rows are written by MLflow's own tables, since its client takes an hour for 5,000 runs.
    """
    import mlflow.tracking
    from mlflow.store.tracking.dbmodels import models

    database = f"sqlite:///{folder}/mlflow.db"
    experiment = mlflow.tracking.MlflowClient(database).create_experiment(data["pipeline"], artifact_location=f"file://{folder}/artifacts")
    rows = {table: [] for table in (models.SqlRun, models.SqlTag, models.SqlParam, models.SqlMetric, models.SqlLatestMetric)}
    runs = {}
    for run in data["runs"]:
        key = uuid.uuid5(uuid.NAMESPACE_URL, run["name"]).hex
        runs[run["name"]] = key
        rows[models.SqlRun].append({
            "run_uuid": key, "name": run["name"], "source_type": "LOCAL", "source_name": "", "entry_point_name": "", "source_version": "", "user_id": "console",
            "status": "FINISHED" if run["state"] == "trained" else "FAILED", "start_time": run["started"], "end_time": run["finished"],
            "lifecycle_stage": "active", "artifact_uri": f"file://{folder}/artifacts/{key}", "experiment_id": int(experiment),
        })
        rows[models.SqlTag].append({"run_uuid": key, "key": "mlflow.runName", "value": run["name"]})
        rows[models.SqlParam] += [{"run_uuid": key, "key": name, "value": str(value)} for name, value in run["params"].items()]
        curves = {name: [[0, value]] for name, value in run["metrics"].items()} | run.get("curves", {})
        for name, points in curves.items():
            metrics = [{"run_uuid": key, "key": name, "value": value, "timestamp": run["started"] + step, "step": step, "is_nan": False} for step, value in points]
            rows[models.SqlMetric] += metrics
            rows[models.SqlLatestMetric].append(metrics[-1])
    engine = sqlalchemy.create_engine(database)
    with engine.begin() as connection:
        for table, values in rows.items():
            connection.execute(sqlalchemy.insert(table), values)
    return experiment, runs


def fill_optuna(data, folder):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=f"sqlite:///{folder}/optuna.db", study_name=data["pipeline"], direction="maximize")
    distributions = {}
    for p in data["space"]:
        if p["kind"] == "choice":
            distributions[p["name"]] = optuna.distributions.CategoricalDistribution(p["choices"])
        elif p["kind"] == "int":
            distributions[p["name"]] = optuna.distributions.IntDistribution(p["min"], p["max"])
        else:
            distributions[p["name"]] = optuna.distributions.FloatDistribution(p["min"], p["max"], log=p["log"])
    states = {"completed": optuna.trial.TrialState.COMPLETE, "stopped": optuna.trial.TrialState.PRUNED, "failed": optuna.trial.TrialState.FAIL}
    for number, one in enumerate(data["trials"]):
        trial = optuna.trial.create_trial(
            state=states[one["state"]],
            value=one["value"] if one["state"] == "completed" else None,
            params=one["params"],
            distributions=distributions,
            intermediate_values={step: value for step, value in one["curve"]},
        )
        trial.datetime_start = datetime.datetime.fromtimestamp(one["started"] / 1000)
        trial.datetime_complete = datetime.datetime.fromtimestamp(one["finished"] / 1000)
        study.add_trial(trial)


main(sys.argv[1], sys.argv[2])
