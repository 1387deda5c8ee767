"""What a process refuses that could only fork children that hang, and how what it imports may fail. The rest needs a worker: the Go
tests of functions/runner have it."""
import contextlib
import io
import os
import socket
import sys
import tempfile
import threading
import time
import types
import unittest

from stoker_runner import fork, preload, rehome


@unittest.skipUnless(sys.platform == "linux", "forks are for Linux")
class Refusals(unittest.TestCase):
    def setUp(self):
        while fork.threads() > 1:  # those of the test before are joined, and the kernel counts them a moment longer
            time.sleep(0.001)
        os.environ["STOKER_MODULE"] = "/home" + "/" * 8
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server = fork.Server(theirs)
        self.addCleanup(self.ours.close)
        self.addCleanup(theirs.close)

    def start_thread(self):
        over = threading.Event()
        thread = threading.Thread(target=over.wait)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)

    def test_a_fresh_process_may_fork(self):
        self.assertIsNone(self.server.unfit())

    def test_one_with_an_eager_context_may_not(self):
        eager = types.ModuleType("tensorflow.python.eager.context")
        started = types.SimpleNamespace(_initialized=False)
        eager.context = lambda: started
        sys.modules[eager.__name__] = eager
        self.addCleanup(sys.modules.pop, eager.__name__)
        self.assertIsNone(self.server.unfit())
        started._initialized = True
        self.assertIn("eager context", self.server.unfit())
        del started._initialized  # a TensorFlow that has another name for it
        self.assertIsNone(self.server.unfit())

    def test_one_with_more_threads_may_not(self):
        self.start_thread()
        self.assertIn("threads", self.server.unfit())

    def test_a_refusal_is_told_and_costs_no_descriptor(self):
        self.start_thread()
        before = os.listdir("/proc/self/fd")
        self.assertIsNone(self.server.fork("/home", [os.dup(0), os.dup(0), os.dup(0)]))
        self.assertEqual(os.listdir("/proc/self/fd"), before)
        self.assertIn(b'"refused"', self.ours.recv(1000))

    def test_a_child_leads_a_session_of_its_own_as_soon_as_it_is_told_of(self):
        os.environ["STOKER_PROGRESS_FD"] = "50"
        self.addCleanup(os.environ.pop, "STOKER_PROGRESS_FD")
        pid = self.server.fork("/tmp", [os.open("/dev/null", os.O_RDWR) for _ in range(3)])
        if pid == 0:
            os._exit(0)
        self.addCleanup(os.waitpid, pid, 0)
        self.assertEqual((os.getsid(pid), os.getpgid(pid)), (pid, pid))

    def test_a_mark_without_room_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no space"):
            self.server.mark.write("/home/much/longer")


class Homes(unittest.TestCase):
    def test_what_libraries_remember_of_the_home_is_below_the_new_one(self):
        library = types.ModuleType("library")
        library.temporary, library.settings, library.near, library.other = "/old", "/old/.library", "/older", ["/old"]
        sys.modules["library"] = library
        self.addCleanup(sys.modules.pop, "library")
        sys.path.insert(0, "/old")
        self.addCleanup(lambda: sys.path.pop(0))
        rehome.Memories("/old").become("/new")
        self.assertEqual((library.temporary, library.settings, library.near, library.other), ("/new", "/new/.library", "/older", ["/old"]))
        self.assertEqual(sys.path[0], "/new")


class Imports(unittest.TestCase):
    def test_what_is_not_installed_is_passed_over_in_silence(self):
        self.assertEqual(self.said("no_such_package,no_such_package.deeper"), "")

    def test_what_is_broken_is_told_and_passed_over(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"broken": "1 / 0", "lacking": "import no_such_package", "fine": "ok = True"}.items():
                with open(os.path.join(folder, name + ".py"), "w") as file:
                    file.write(text)
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            said = self.said("broken,lacking,fine")
        self.assertIn("ZeroDivisionError", said)
        self.assertIn("No module named 'no_such_package'", said)
        self.assertTrue(sys.modules["fine"].ok)

    def said(self, names):
        os.environ["STOKER_PRELOAD"] = names
        with contextlib.redirect_stderr(io.StringIO()) as said:
            preload.everything()
        return said.getvalue()


if __name__ == "__main__":
    unittest.main()
