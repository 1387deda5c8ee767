"""Forks a process for each job from this one, which has imported everything and run nothing.

Requests come as packets of JSON on the socket of STOKER_FORK_FD, one at a time, and each gets one answer:
  {"fork": home} with three descriptors: standard input, output, progress  ->  {"pid": n}, or {"refused": why}
  {"reap": pid} of a child that has exited                                 ->  {"status": as of wait(2), "maxrss": KiB}
A child stays a zombie until it is reaped, so that its number is no one else's. When the socket closes, or this process
ends in any other way, the kernel ends the children.
"""
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import warnings

from stoker_runner import rehome

PR_SET_PDEATHSIG = 1  # prctl(2)
MOST = 64 << 10  # bytes of a request; they are some hundred


def serve():
    """Answers requests until runner has none any more. Returns in each child, as the process of a job."""
    server = Server(socket.socket(fileno=int(os.environ.pop("STOKER_FORK_FD"))))
    server.answer({"ready": True})
    while True:
        text, descriptors, _, _ = socket.recv_fds(server.socket, MOST, 3)
        if not text:
            os._exit(0)
        request = json.loads(text)
        if "reap" in request:
            server.answer(reap(request["reap"]))
        elif server.fork(request["fork"], descriptors) == 0:
            return


class Server:
    """This process before it has forked: what its children must find unchanged."""

    def __init__(self, to_runner):
        self.socket = to_runner
        self.pid = os.getpid()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.mark = Mark(self.libc)
        self.memories = rehome.Memories(os.environ["HOME"])
        self.threads = threads()
        gc.collect()
        gc.freeze()  # what is imported is not looked at again: that would copy its pages in every child

    def answer(self, message):
        self.socket.send(json.dumps(message).encode())

    def fork(self, home, descriptors):
        """Makes one child, which is marked by its home: 0 there, its number here, None where it can't be."""
        refused = self.unfit()
        if refused:
            self.answer({"refused": refused})
            close(descriptors)
            return None
        sys.stdout.flush()
        sys.stderr.flush()
        self.libc.fflush(None)
        read_end, write_end = os.pipe()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads: see unfit
                pid = os.fork()
        except OSError as error:
            self.answer({"refused": str(error)})
            close([*descriptors, read_end, write_end])
            return None
        if pid == 0:
            os.close(read_end)
            self.become_child(home, descriptors, write_end)
            return 0
        close([*descriptors, write_end])
        os.read(read_end, 1)  # ends when the child leads its session, or has ended: runner may signal its group from then on
        os.close(read_end)
        self.answer({"pid": pid})
        return pid

    def unfit(self):
        """Why a child would hang: threads that it would miss. None if it would not."""
        if started_context():
            return "TensorFlow's eager context has been started"
        now = threads()
        if now > self.threads:  # fewer are fine: some libraries end theirs before a fork
            return f"{now} threads, {self.threads} after the imports"
        return None

    def become_child(self, home, descriptors, write_end):
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.pid:  # it ended before the line above
            os._exit(1)
        os.setsid()  # a group of its own too, and no way to the terminal of the worker
        os.close(write_end)
        self.mark.write(home)
        self.memories.become(home)
        self.socket.close()
        stdin, output, progress = descriptors
        for old, new in ((stdin, 0), (output, 1), (output, 2), (progress, int(os.environ["STOKER_PROGRESS_FD"]))):
            os.dup2(old, new)
        close(descriptor for descriptor in descriptors if descriptor > 3)
        reseed()


def reap(pid):
    _, status, usage = os.wait4(pid, 0)
    return {"status": status, "maxrss": usage.ru_maxrss}


def started_context():
    """Whether TensorFlow has run something. The function that says so is private: where it is gone, the threads decide."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    try:
        return eager is not None and eager.context()._initialized
    except AttributeError:
        return False


def threads():
    return len(os.listdir("/proc/self/task"))


def reseed():
    """As in a process of its own: Python's random and TensorFlow see to themselves, NumPy's state is everyone's."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def close(descriptors):
    for descriptor in descriptors:
        os.close(descriptor)


class Mark:
    """STOKER_MODULE as others see it in /proc/<pid>/environ: memory that setenv doesn't change. It has been given space
    by runner, with slashes."""

    def __init__(self, libc):
        libc.getenv.restype = ctypes.c_void_p
        self.address = libc.getenv(b"STOKER_MODULE")
        self.space = len(os.fsencode(os.environ["STOKER_MODULE"]))

    def write(self, mark):
        value = os.fsencode(mark)
        if len(value) > self.space:
            raise ValueError(f"no space for the mark {mark} in the environment")
        ctypes.memmove(self.address, value.ljust(self.space, b"/"), self.space)
