"""What is done yet when a process leaves at once."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

LEAVES = """
import atexit, sys, threading, time
from stoker_guest import ending
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
print("printed", end="")
ending.leave(7)
"""


class Leaving(unittest.TestCase):
    def test_what_was_begun_is_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", LEAVES], cwd=folder, capture_output=True, text=True)
            kept = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(kept, {"file": "text", "binary": "bytes", "dropped": "yes"})
        self.assertEqual(done.stdout, "printedthe thread ended\natexit ran\n")

    def test_a_handler_that_fails_keeps_nothing_from_ending(self):
        text = "import atexit, sys; from stoker_guest import ending; atexit.register(lambda: 1 / 0); sys.stdout.close(); ending.leave(3)"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("ZeroDivisionError", done.stderr)


if __name__ == "__main__":
    unittest.main()
