"""Several processes for one model: this one starts them, hears what they say, and ends them together.

Each is a process of its own with a TF_CONFIG, which MultiWorkerMirroredStrategy reads. Worker 0 is the chief: its
progress is the job's, and its model is what is published. The others get folders of their own to leave theirs in, which
go when the job is over. Where the assignment names a cluster, or TF_CONFIG is there already, this is one process of
several that others start, on other hosts maybe: nothing is started, and all but the chief write into folders of their
own.
"""
import json
import logging
import os
import shutil
import tempfile

from stoker_runner import company, ports, said

OUTPUTS = ("serving_model_dir", "eval_model_dir")  # not there yet, as for any job
KEPT = ("working_dir", "model_run_dir")  # what earlier attempts left in them, all workers go on from


def wanted(assignment):
    """Whether this process is to start others and see to them, instead of running the module itself."""
    return several(assignment) and not assignment.get("cluster") and "TF_CONFIG" not in os.environ


def several(assignment):
    return assignment.get("workers", 0) > 1


def lead(setup, assignment):
    """Runs the module in as many processes as the assignment asks for, and returns the status to leave with."""
    count = assignment["workers"]
    with ports.held(count) as addresses:
        announce(addresses)
        jobs = [_job(setup, assignment, addresses, index) for index in range(count)]
        return company.see_through(jobs)


def announce(addresses):
    """Says who trains."""
    said.note(f"{len(addresses)} workers train one model: {', '.join(addresses)}")


def join(assignment):
    """The assignment as this process is to work on it, which may be one of a cluster that others started."""
    cluster = assignment.get("cluster")
    if cluster:
        os.environ["TF_CONFIG"] = config(cluster["workers"], cluster["index"])
        announce(cluster["workers"])
    logging.getLogger("tensorflow").setLevel(logging.INFO)  # tf.distribute logs its devices on this level
    if not several(assignment) or is_chief(json.loads(os.environ["TF_CONFIG"])):
        return assignment
    return apart(assignment, tempfile.mkdtemp(prefix="worker-"))


def is_chief(config):
    """Whether a TF_CONFIG is that of the process whose model counts: the chief of the cluster, else worker 0."""
    task = config.get("task", {})
    if "chief" in config.get("cluster", {}):
        return task.get("type") == "chief"
    return task.get("type", "worker") == "worker" and int(task.get("index", 0)) == 0


def apart(assignment, folder):
    """The assignment of a worker that is not the chief: what it writes stays in a folder of its own."""
    changed = {key: os.path.join(folder, key) for key in OUTPUTS + KEPT if assignment.get(key)}
    for key in KEPT:
        if key in changed:
            shutil.copytree(assignment[key], changed[key], symlinks=True)
    return {**assignment, **changed, "exports": [], "predictions": None}


def _job(setup, assignment, addresses, index):
    """The setup and the assignment of one of the processes, which knows of the others by TF_CONFIG alone."""
    env = {"TF_CONFIG": config(addresses, index), ports.SHARED: "1", **_devices(index, assignment["workers"])}
    assignment = {**assignment, "workers": 1}
    home = setup["dir"]
    if index:
        home = tempfile.mkdtemp(prefix=f"worker-{index}-", dir=setup["dir"])
        env.update(HOME=home, TMPDIR=home)
        assignment = apart(assignment, home)
    return {**setup, "env": {**setup["env"], **env}, "dir": home, "keras_auto": False}, assignment


def config(addresses, index):
    """The TF_CONFIG of one of several workers."""
    return json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})


def _devices(index, count):
    """An equal share of this machine's GPUs, where there is one for each worker. With fewer, all see all of them."""
    gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    share = len(gpus) // count
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[index * share:(index + 1) * share])} if share else {}
