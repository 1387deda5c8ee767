"""Runs one sampler of a peer on functions that another process serves, and keeps how far each run came.

    record.py SAMPLER OUT TRIALS FIRST_SEED LAST_SEED NAME=COMMAND...

COMMAND serves the function NAME over its pipes: first a line {"direction": ..., "space": [KerasTuner's parameters]},
then for each line of values a line with a number. OUT is JSON lines: what ran, then one run a line, with the trials
that were better than all before them. Runs that OUT holds already are not run again, so a recording that was cut off
goes on. CPU seconds are those of suggesting.
"""

import importlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there: CPU seconds of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


class Function:
    """A served function: its space, its direction, and its value for a trial's."""

    def __init__(self, name, command):
        self.name = name
        self.said = tempfile.TemporaryFile()  # of no interest, unless it ends
        self.process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)
        about = self.answer()
        self.space, self.direction = about["space"], about["direction"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.said.seek(0)
            raise RuntimeError(f"function {self.name}: its server has ended with {status}: {self.said.read()[-500:]}")
        return json.loads(line)

    def __call__(self, values):
        self.process.stdin.write(json.dumps(values) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main(sampler, out, trials, first, last, *served):
    module = importlib.import_module("record_" + sampler.split("-")[0])
    begin = module.SAMPLERS[sampler]
    done = begun(out, {"sampler": sampler, "about": module.ABOUT[sampler], "versions": module.versions()})
    functions = [Function(*argument.split("=", 1)) for argument in served]
    for seed in range(int(first), int(last) + 1):  # seed by seed: what is cut off has as many of each function
        for function in functions:
            if (function.name, seed) not in done:
                append(out, run(begin, function, seed, int(trials)))
    for function in functions:
        function.close()


def begun(out, header):
    """The runs that a file holds; a new file gets its header."""
    if not os.path.exists(out):
        append(out, header)
    with open(out) as lines:
        runs = [json.loads(line) for line in lines][1:]
    return {(run["function"], run["seed"]) for run in runs}


def append(out, value):
    with open(out, "a") as file:
        file.write(json.dumps(value, separators=(",", ":")) + "\n")


def run(begin, function, seed, trials):
    """One search. begin(space, direction, seed, folder, trials) gives ask() -> values and tell(score), called in turn."""
    best, better, spent = None, [], 0.0
    sign = -1 if function.direction == "max" else 1
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        ask, tell = begin(function.space, function.direction, seed, folder, trials)
        for trial in range(1, trials + 1):
            values = ask()
            spent += time.process_time() - started
            score = function(values)
            started = time.process_time()
            tell(score)
            if best is None or sign * score < sign * best:
                best = score
                better.append([trial, score])
        spent += time.process_time() - started
    return {"function": function.name, "seed": seed, "trials": trials, "cpu_s": round(spent, 2), "better": better}


if __name__ == "__main__":
    main(*sys.argv[1:])
