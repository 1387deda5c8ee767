"""What a module may tell Stoker: whatever it is given, nothing fails."""
import contextlib
import io
import json
import math
import os
import threading
import time
import unittest

import numpy as np
import stoker
from stoker_runner import progress, said


class Odd:
    """A value that can't be had."""

    def numpy(self):
        raise RuntimeError("symbolic")


class TensorLike:
    def numpy(self):
        return np.float32(0.5)


class Numbers(unittest.TestCase):
    def test_what_is_a_finite_number_is_one(self):
        found = stoker.numbers({
            "int": 3, "float": 0.25, "float32": np.float32(0.5), "scalar": np.array(2), "one": np.array([[7.0]]),
            "tensor": TensorLike(), "bool": True, 5: 1, "text": "1.5",
        })
        self.assertEqual(found, {
            "int": 3, "float": 0.25, "float32": 0.5, "scalar": 2, "one": 7, "tensor": 0.5, "bool": 1, "5": 1,
            "text": 1.5})

    def test_all_else_is_left_out(self):
        self.assertEqual(stoker.numbers({
            "nan": math.nan, "inf": np.float32("inf"), "two": np.array([1, 2]), "none": None, "odd": Odd(),
            "word": "high", "huge": 10**400,
        }), {})
        self.assertEqual(stoker.numbers(None), {})


class Outside(unittest.TestCase):
    """Where nobody has set stoker up."""

    def test_a_report_is_printed(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            stoker.report(np.int64(3), {"loss": 0.25, "nan": math.nan}, steps=10)
            stoker.report(math.nan, steps=Odd())
            stoker.checkpoint(3)
        self.assertEqual(err.getvalue(), "stoker: training: step 3 of 10, loss 0.25\nstoker: training: step 0\n")
        self.assertFalse(stoker.stopping())


class Sent(unittest.TestCase):
    def setUp(self):
        hear, self.descriptor = os.pipe()
        said.to(self.descriptor)
        self.stream, self.lines = os.fdopen(hear, "rb"), []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.stream))

    def tearDown(self):
        said.hush()
        self.stream.close()

    def said(self):
        os.close(self.descriptor)
        if self.reader.ident is None:  # not started yet
            self.reader.start()
        self.reader.join()
        return [json.loads(line) for line in self.lines if line.strip()]

    def test_lines_of_many_threads_stay_whole(self):
        def send():
            for n in range(50):
                said.send({"type": "progress", "metrics": {f"metric {k}": k / 3 for k in range(400)}, "step": n})

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in [self.reader, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(message["step"] for message in self.said()), 8 * sum(range(50)))

    def test_a_message_longer_than_a_line_loses_its_metrics(self):
        self.reader.start()
        said.send({"type": "progress", "step": 1, "metrics": {f"{k:0100}": k for k in range(1000)}})
        self.assertEqual(self.said(), [{"type": "progress", "step": 1}])

    def test_a_worker_that_has_gone_fails_nothing(self):
        self.stream.close()
        said.send({"type": "progress", "step": 1})

    def test_of_reports_in_quick_succession_the_newest_goes(self):
        for step in range(1000):
            progress.send({"type": "progress", "phase": "training", "step": step, "steps": 0, "metrics": {}})
        time.sleep(progress.INTERVAL)
        progress.flush()
        progress.flush()
        self.assertEqual([m["step"] for m in self.said()], [0, 999])
        self.assertEqual(progress.step(), 999)

    def test_the_last_report_goes_before_the_last_word_and_nothing_behind_it(self):
        tell = lambda step, now: progress.send(
            {"type": "progress", "phase": "training", "step": step, "steps": 0, "metrics": {}}, now)
        tell(1, True)
        tell(2, False)
        progress.flush(now=True)
        said.done({})
        tell(3, True)
        self.assertEqual([m.get("step", m["type"]) for m in self.said()], [1, 2, "done"])

    def test_the_last_evaluation_is_what_the_model_is_known_by(self):
        tell = lambda phase, **metrics: progress.send(
            {"type": "progress", "phase": phase, "step": 1, "steps": 0, "metrics": metrics})
        tell("evaluating", loss=3.0, old=1.0)
        tell("evaluating", loss=2.0)
        tell("evaluating")
        tell("training", loss=1.0)
        self.assertEqual(progress.metrics(), {"loss": 2.0})


if __name__ == "__main__":
    unittest.main()
