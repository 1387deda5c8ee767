"""What is done yet when a process leaves at once, and before the last word."""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from stoker_runner import ending

LEAVES = """
import atexit, sys, threading, time
from stoker_runner import ending
file = open("file", "w"); file.write("text")
binary = open("binary", "wb"); binary.write(b"bytes")
atexit.register(print, "atexit ran")
def late():
    time.sleep(0.2)
    print("the thread ended")
threading.Thread(target=late).start()
class Held:
    def __del__(self):
        open("dropped", "w").write("yes")
held = Held(); held.itself = held; del held
import ctypes
ctypes.CDLL(None).printf(b"said by C, ")
print("printed", end="")
ending.leave(7)
"""


class Settling(unittest.TestCase):
    def thread(self, run):
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_thread_that_writes_the_model_is_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "variables", "part")
            os.mkdir(os.path.dirname(path))
            pathlib.Path(path).write_text("half")

            def write():
                time.sleep(0.3)
                pathlib.Path(path).write_text("whole")

            self.thread(write)
            ending.settle([folder, os.path.join(folder, "none")], still=600)
            self.assertEqual(pathlib.Path(path).read_text(), "whole")

    def test_one_that_only_lives_on_is_not(self):
        over = threading.Event()
        self.thread(over.wait)
        self.addCleanup(over.set)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "model").write_text("whole")
            settling = threading.Thread(target=ending.settle, args=([folder], 0.3), daemon=True)
            settling.start()
            settling.join(480)
            self.assertFalse(settling.is_alive())

    def test_a_file_is_being_written_if_it_has_just_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            pathlib.Path(path).write_text("whole")
            for age, being in ((0, True), (9999, False), (-9999, False)):  # the last: a clock that was set back
                os.utime(path, (time.time() - age,) * 2)
                self.assertEqual(ending.being_written([folder], still=600), being, age)


class Leaving(unittest.TestCase):
    def test_what_was_begun_is_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", LEAVES], cwd=folder, capture_output=True, text=True)
            kept = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(kept, {"file": "text", "binary": "bytes", "dropped": "yes"})
        self.assertEqual(done.stdout, "said by C, printedthe thread ended\natexit ran\n")

    def test_a_handler_that_fails_keeps_nothing_from_ending(self):
        text = "import atexit, sys; from stoker_runner import ending; atexit.register(lambda: 1 / 0); sys.stdout.close(); ending.leave(3)"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("ZeroDivisionError", done.stderr)


if __name__ == "__main__":
    unittest.main()
