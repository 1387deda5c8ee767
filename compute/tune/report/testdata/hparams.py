"""Starts TensorBoard on a folder of event files and asks it what its HParams page asks."""
import json
import time
import urllib.request

from tensorboard import program


def check(folder):
    board = program.TensorBoard()
    board.configure(argv=["tensorboard", "--logdir", folder, "--port", "0", "--host", "localhost",
                          "--load_fast", "false", "--reload_interval", "1"])
    url = board.launch() + "data/plugin/hparams/"
    for _ in range(300):
        experiment = ask(url + "experiment", {"experimentName": ""})
        groups = ask(url + "session_groups", query(experiment)) if experiment.get("metricInfos") else []
        if len(groups) == 7 and all("hparams" in group for group in groups):
            break
        time.sleep(0.1)
    return {
        "Columns": sorted(column(info) for info in experiment["hparamInfos"]),
        "Metrics": [info["name"]["tag"] for info in experiment["metricInfos"]],
        "Sessions": {group["name"]: session(group) for group in groups},
    }


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        said = json.load(answer)
    return said.get("sessionGroups", said) if isinstance(said, dict) else said


def query(experiment):
    columns = [{"hparam": info["name"], "includeInResult": True} for info in experiment["hparamInfos"]]
    columns += [{"metric": info["name"], "includeInResult": True} for info in experiment["metricInfos"]]
    every = ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]
    return {"colParams": columns, "allowedStatuses": every, "startIndex": 0, "sliceSize": 100, "includeMetrics": True}


def column(info):
    domain = ""
    if "domainInterval" in info:
        ends = info["domainInterval"]
        domain = f" {ends['minValue']:g}-{ends['maxValue']:g}"
    elif "domainDiscrete" in info:
        domain = " " + ",".join(str(value) for value in info["domainDiscrete"])
    return f"{info['name']} {info['type']}{domain}"


def session(group):
    metrics = {value["name"]["tag"]: value["value"] for value in group.get("metricValues", [])}
    return {"Status": group["sessions"][0]["status"], "HParams": group["hparams"], "Metrics": metrics}
