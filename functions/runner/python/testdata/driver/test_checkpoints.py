"""When the files of a module are taken for whole."""
import os
import tempfile
import threading
import time
import unittest

import heard
from stoker_runner import checkpoints

heard.listen()
folder = tempfile.mkdtemp()
checkpoints._folders, checkpoints._step = [folder], lambda: 7
now = 1000.0
checkpoints._clock = lambda: now


def write(name, text="x"):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


class Taken(unittest.TestCase):
    """Whoever says that files are whole waits until the worker has copied them."""

    def test_it_is_waited_for(self):
        checkpoints._taken = os.path.join(tempfile.mkdtemp(), "taken")
        began, number = time.monotonic(), checkpoints._sent + 1

        def take():
            with open(checkpoints._taken, "w") as file:
                file.write(f"{number}\n")

        worker = threading.Timer(0.2, take)
        worker.start()
        checkpoints.said_whole(1)
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        worker.join()
        checkpoints._taken = None

    def test_where_none_says_so_it_is_waited_for_once(self):
        checkpoints._taken, checkpoints.LONGEST = os.path.join(tempfile.mkdtemp(), "taken"), 0.1
        checkpoints.said_whole(1)
        self.assertIsNone(checkpoints._taken)
        checkpoints.said_whole(1)


class Checkpoints(unittest.TestCase):
    def setUp(self):
        for root, _, files in os.walk(folder):
            for name in files:
                os.remove(os.path.join(root, name))
        self.steps(within=100)
        heard.messages.clear()

    def steps(self, within):
        """The steps of the checkpoints said within so many seconds, so far."""
        global now
        end = now + within
        now = end
        return [m["step"] for m in heard.of("checkpoint", all=True)]

    def test_nothing_is_said_of_nothing(self):
        checkpoints.reached(1)
        checkpoints.last(sure=True)
        self.assertEqual(self.steps(5), [])

    def test_the_end_of_an_epoch_is_whole_at_once_and_once(self):
        write("a")
        checkpoints.reached(3)
        checkpoints.reached(4)
        self.assertEqual(self.steps(5), [3])

    def test_ends_of_short_epochs_are_not_all_sent(self):
        for step in range(10):
            write("b", str(step))
            checkpoints.reached(step)
        self.assertEqual(self.steps(0), [0])

    def test_what_is_being_written_is_not_sent(self):
        for name in ("model.h5.tmp", "ckpt-1_temp/part-00000-of-00001.data", "tmp-3/x", "x.partial"):
            write("e")
            write(name)
            checkpoints.reached(3)
            self.assertEqual(self.steps(0), [], name)
            self.setUp()

    def test_the_module_knows_best(self):
        write("g.tmp")
        checkpoints.said_whole(5)
        checkpoints.said_whole(0)
        self.assertEqual(self.steps(0), [5, 7])

    def test_logs_and_removals_are_nothing_to_go_on_from(self):
        path = write("h")
        checkpoints.reached(1)
        os.remove(path)
        write("train/events.out.tfevents.1.host.v2")
        self.assertEqual(self.steps(5), [1])
        checkpoints.reached(2)
        checkpoints.last(sure=True)
        self.assertEqual(self.steps(5), [1])

    def test_the_last_ones_are_not_lost(self):
        write("i")
        checkpoints.reached(1)
        write("i", "more")
        checkpoints.last(sure=True)
        self.assertEqual(self.steps(0), [1, 7])

    def test_what_may_be_torn_is_for_the_worker_to_judge(self):
        write("j.tmp")
        checkpoints.last(sure=False)
        self.assertEqual([m["step"] for m in heard.of("checkpoint", settled=True)], [7])

    def test_large_folders_are_kept_less_often(self):
        self.assertEqual(checkpoints._pause({"a": (10, 0)}), 1)
        self.assertEqual(checkpoints._pause({"a": (250_000_000, 0), "b": (250_000_000, 0)}), 10)

    def test_so_many_files_are_not_looked_at(self):
        checkpoints.MAX_FILES, most = 3, checkpoints.MAX_FILES
        try:
            for n in range(5):
                write(f"many/{n}")
            self.assertIsNone(checkpoints.look())
        finally:
            checkpoints.MAX_FILES = most


if __name__ == "__main__":
    unittest.main()
