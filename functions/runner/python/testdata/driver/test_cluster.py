"""Who is the chief of a cluster, what each worker is told, and whose failure is the job's."""
import json
import os
import socket
import tempfile
import unittest
from unittest import mock

from stoker_runner import cluster, company, ports


def config(kind, index, **jobs):
    return {"cluster": {"worker": ["a:1", "b:1"], **jobs}, "task": {"type": kind, "index": index}}


class Chief(unittest.TestCase):
    def test_is_worker_0_where_nobody_is_named(self):
        self.assertTrue(cluster.is_chief(config("worker", 0)))
        self.assertFalse(cluster.is_chief(config("worker", 1)))
        self.assertFalse(cluster.is_chief(config("evaluator", 0)))

    def test_is_the_one_that_is_named(self):
        self.assertTrue(cluster.is_chief(config("chief", 0, chief=["c:1"])))
        self.assertFalse(cluster.is_chief(config("worker", 0, chief=["c:1"])))


class Jobs(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.kept = os.path.join(self.home, "kept")
        os.mkdir(self.kept)
        with open(os.path.join(self.kept, "checkpoint"), "w") as file:
            file.write("3")
        self.setup = {"dir": self.home, "env": {"HOME": self.home}, "keras_auto": True}
        self.assignment = {"workers": 2, "serving_model_dir": "/out/model", "eval_model_dir": "",
                           "working_dir": self.kept, "model_run_dir": self.kept, "exports": ["onnx"]}

    def job(self, index):
        return cluster._job(self.setup, self.assignment, ["127.0.0.1:1", "127.0.0.1:2"], index)

    def test_the_chief_works_where_the_assignment_says(self):
        setup, assignment = self.job(0)
        self.assertEqual(assignment, {**self.assignment, "workers": 1})
        self.assertEqual(setup["dir"], self.home)
        told = json.loads(setup["env"]["TF_CONFIG"])
        self.assertEqual(told["cluster"], {"worker": ["127.0.0.1:1", "127.0.0.1:2"]})
        self.assertEqual(told["task"], {"type": "worker", "index": 0})

    def test_another_works_on_copies_below_the_home(self):
        setup, assignment = self.job(1)
        folder = setup["dir"]
        self.assertTrue(folder.startswith(os.path.join(self.home, "worker-1-")))
        self.assertEqual(setup["env"]["HOME"], folder)
        self.assertEqual(assignment["exports"], [])
        self.assertEqual(assignment["eval_model_dir"], "")
        self.assertFalse(os.path.exists(assignment["serving_model_dir"]))
        for key in ("serving_model_dir", "working_dir", "model_run_dir"):
            self.assertTrue(assignment[key].startswith(folder), key)
        self.assertEqual(os.listdir(assignment["working_dir"]), ["checkpoint"])

    def test_gpus_are_shared_out_where_there_is_one_for_each(self):
        wanted = {"0,1,2,3": ["0,1", "2,3"], "4,7,9": ["4", "7"], "0": [None, None], "": [None, None]}
        for visible, shares in wanted.items():
            with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": visible}):
                told = [cluster._devices(index, 2).get("CUDA_VISIBLE_DEVICES") for index in range(2)]
                self.assertEqual(told, shares, visible)


class Joining(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.setup = {"path": [self.home]}
        self.assignment = {"workers": 2, "serving_model_dir": "/out/model", "working_dir": self.home,
                           "cluster": {"workers": ["a:1", "b:1"], "index": 0}}

    def join(self, index):
        assignment = {**self.assignment, "cluster": {"workers": ["a:1", "b:1"], "index": index}}
        with mock.patch.dict(os.environ):
            os.environ.pop("TF_CONFIG", None)
            self.assertFalse(cluster.wanted(assignment))
            joined = cluster.join(assignment)
            return joined, json.loads(os.environ["TF_CONFIG"])

    def test_the_first_host_is_the_chief(self):
        joined, told = self.join(0)
        self.assertEqual(joined["serving_model_dir"], "/out/model")
        self.assertEqual(told, config("worker", 0))

    def test_the_others_leave_their_models_elsewhere(self):
        joined, told = self.join(1)
        self.assertNotEqual(joined["serving_model_dir"], "/out/model")
        self.assertEqual(told, config("worker", 1))


class Ports(unittest.TestCase):
    def test_are_nobody_elses_while_they_are_held(self):
        with ports.held(3) as addresses:
            self.assertEqual(len(set(addresses)), 3)
            host, port = addresses[0].split(":")
            with socket.socket() as other, self.assertRaises(OSError):
                other.bind((host, int(port)))
            with socket.socket() as ours:  # as TensorFlow does that was told so
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                ours.bind((host, int(port)))
                ours.listen()


class Reason(unittest.TestCase):
    def of(self, *messages):
        company_ = company.Company([])
        company_.failures = [(None, "module", message, 1) for message in messages]
        return company_.reason()[2]

    def test_is_that_of_the_first_failure(self):
        self.assertEqual(self.of("ValueError: a", "ValueError: b"), "ValueError: a")

    def test_is_no_broken_connection_where_another_has_one(self):
        self.assertEqual(self.of("UnavailableError: Socket closed", "ended by signal 11"), "ended by signal 11")

    def test_is_a_broken_connection_where_none_has_another(self):
        self.assertEqual(self.of("UnavailableError: a", "AbortedError: b"), "UnavailableError: a")


if __name__ == "__main__":
    unittest.main()
