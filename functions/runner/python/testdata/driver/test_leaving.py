"""How a process leaves that is asked to. Each test runs a module's text in a process, and sends it SIGTERM."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

JOB = """
import os, sys, time, signal, threading
from stoker_runner import checkpoints, leaving, progress, said
import stoker
leaving.PATIENCE, leaving.HASTE = 1.0, 0.1
said.to(int(os.environ["STOKER_PROGRESS_FD"]))
progress.begin({"working_dir": sys.argv[1]})
def ready():
    open(sys.argv[1] + "/state", "w").write("state")
    print("ready", flush=True)
def loop():
    while not stoker.stopping():
        time.sleep(0.01)
try:
    exec(sys.argv[2])
    leaving.finish()
except leaving.Leaving:
    leaving.go()
except BaseException:
    leaving.finish()
    raise
said.done({})
"""


def run(text, to="it"):
    """The status, the messages and the seconds to the end of a process with this text that is asked to leave."""
    hear, tell = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, tempfile.mkdtemp(), text], stdout=subprocess.PIPE, pass_fds=[tell],
        env=dict(os.environ, STOKER_PROGRESS_FD=str(tell)), start_new_session=True)
    os.close(tell)
    assert process.stdout.readline() == b"ready\n"
    began = time.monotonic()
    (os.killpg if to == "all" else os.kill)(process.pid, signal.SIGTERM)
    stuck = threading.Timer(20, process.kill)
    stuck.start()
    with os.fdopen(hear) as messages, process.stdout:
        said = messages.read()
    stuck.cancel()
    return process.wait(), said, time.monotonic() - began


class Leaving(unittest.TestCase):
    def test_a_loop_that_asks_leaves_by_itself(self):
        status, said, took = run("ready(); loop(); print('saved')")
        self.assertEqual(status, 75)
        self.assertIn("checkpoint", said)
        self.assertNotIn("done", said)
        self.assertLess(took, 0.8)

    def test_what_is_raised_by_a_module_that_was_told_is_no_failure(self):
        status, said, _ = run("ready(); loop(); raise RuntimeError('stopped')")
        self.assertEqual((status, "checkpoint" in said), (75, True))

    def test_a_fit_is_left_at_a_batch(self):
        status, said, took = run("""
ready()
while True:
    try:
        leaving.check()
        time.sleep(0.01)
    except Exception:
        pass
""")
        self.assertEqual((status, "checkpoint" in said), (75, True))
        self.assertLess(took, 0.9)

    def test_a_module_that_never_looks_is_ended_with_its_files_kept(self):
        status, said, took = run("ready(); time.sleep(30)")
        self.assertEqual((status, "checkpoint" in said), (75, True))
        self.assertLess(took, 5)

    def test_one_that_looks_no_more_is_ended_too(self):
        status, said, took = run("stoker.stopping(); ready(); time.sleep(30)")
        self.assertEqual((status, "checkpoint" in said), (75, True))
        self.assertGreater(took, 0.9)

    def test_who_is_busy_in_a_library_is_heard_all_the_same(self):
        status, said, _ = run("""
import ctypes
lock, mutex = ctypes.CDLL(None).pthread_mutex_lock, ctypes.create_string_buffer(64)
lock(mutex)
ready()
lock(mutex)
""")
        self.assertEqual((status, "checkpoint" in said), (75, True))

    def test_work_that_is_done_in_time_is_done(self):
        status, said, _ = run("stoker.stopping(); ready(); time.sleep(0.3)")
        self.assertEqual((status, "done" in said), (0, True))

    def test_a_handler_of_the_modules_own_has_its_way(self):
        status, said, _ = run("signal.signal(signal.SIGTERM, lambda *_: os._exit(3)); ready(); time.sleep(30)")
        self.assertEqual((status, said), (3, ""))
        status, said, _ = run("signal.signal(signal.SIGTERM, lambda *_: None); ready(); time.sleep(0.8)")
        self.assertEqual((status, "done" in said), (0, True))
        status, said, _ = run("signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); time.sleep(0.5)")
        self.assertEqual((status, "done" in said), (0, True))

    def test_children_are_ended_as_ever_and_say_nothing(self):
        status, said, _ = run("""
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=lambda: (stoker.report(5), time.sleep(30)))
child.start()
time.sleep(0.2)
child.terminate()
child.join(10)
assert child.exitcode == -15, child.exitcode
assert not stoker.stopping()
leaving._looked = False
stoker.report(6)
ready()
time.sleep(30)
""")
        self.assertEqual((status, '"step": 5' in said, '"step": 6' in said), (75, False, True))


if __name__ == "__main__":
    unittest.main()
