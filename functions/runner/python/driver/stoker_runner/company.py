"""The processes of one cluster, seen through to their common end."""
import contextlib
import ctypes
import functools
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
import time

from stoker_runner import leaving, said

LINE = 64 << 10  # bytes of a line that are passed on in one piece
SETTLE = 1.5  # seconds in which another worker may report the reason why the first one failed
PATIENCE = 60  # seconds that the others have to end behind the chief, or behind one that left as it was asked to

# Words of errors that report another process's end, and not of a reason of their own.
CONSEQUENCES = ("Unavailable", "UNAVAILABLE", "Socket closed", "Connection reset", "Connection refused", "Broken pipe",
                "Cancelled", "CANCELLED", "AbortedError", "ABORTED", "heartbeat", "peer", "oordination service")


class Worker:
    """One of the processes. What it does comes as events: (worker, "log" | "said" | "left", line or status)."""

    def __init__(self, index, job, events):
        self.index, self.events = index, events
        self.done = self.status = None  # its last word, once it is said; how it left
        listener, speaker = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "--check-hash-based-pycs", "always", "-m", "stoker_runner", "job"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, pass_fds=[speaker], preexec_fn=functools.partial(_go_with, os.getpid()),
            env={**os.environ, **job[0]["env"], "STOKER_PROGRESS_FD": str(speaker)})
        os.close(speaker)
        self.readers = [self._read(os.fdopen(listener, "rb"), "said"), self._read(self.process.stdout, "log")]
        _thread(self._wait)
        self._assign(job)

    def _assign(self, job):
        try:
            with self.process.stdin as lines:
                lines.write("".join(json.dumps(part) + "\n" for part in job).encode())
        except BrokenPipeError:
            pass  # it has left, and how it left is reported

    def _read(self, pipe, kind):
        def lines():
            for line in iter(lambda: pipe.readline(LINE), b""):
                self.events.put((self, kind, line))
        return _thread(lines)

    def _wait(self):
        status = self.process.wait()
        for reader in self.readers:
            reader.join(1)  # a child that it left behind may hold a pipe open
        self.events.put((self, "left", status))


class Company:
    """All of them, and what is known of how they get on."""

    def __init__(self, jobs):
        self.events = queue.Queue(1000)
        self.failures = []  # (worker, kind or None, message, status), in the order of their coming
        self.until = None  # when to wait no longer
        self.workers = [Worker(index, job, self.events) for index, job in enumerate(jobs)]

    def over(self):
        late = self.until is not None and time.monotonic() > self.until
        return late or all(w.status is not None for w in self.workers)

    def attend(self):
        """Passes on what they say until it is known what becomes of the job."""
        handle = {"log": self.log, "said": self.said, "left": self.left}
        while not self.over():
            with contextlib.suppress(queue.Empty):
                worker, kind, what = self.events.get(timeout=0.1)
                handle[kind](worker, what)

    def log(self, worker, line):
        sys.stdout.buffer.write(b"[worker %d] " % worker.index + line + (b"" if line.endswith(b"\n") else b"\n"))
        sys.stdout.buffer.flush()

    def said(self, worker, line):
        if not line.strip():
            return  # ends what someone else may have begun
        try:
            message = json.loads(line)
            kind = message["type"]
        except (ValueError, TypeError, KeyError):
            return self.log(worker, b"on the progress descriptor: " + repr(line[:1024]).encode())
        if kind == "done":
            worker.done = message
            if worker.index == 0:
                self.wait(PATIENCE)
        elif kind == "error":
            self.failed(worker, message["error"]["kind"], message["error"]["message"])
        elif worker.index == 0:
            said.send(message)

    def left(self, worker, status):
        worker.status = status
        if worker.done is None and not any(w is worker for w, *_ in self.failures):
            self.failed(worker, None, how(status), status)

    def failed(self, worker, kind, message, status=1):
        """Notes a failure. Behind the chief's last word it is nobody's any more: what others leave is thrown away."""
        said.note(f"worker {worker.index} failed: {message}")
        if self.workers[0].done is None:
            self.failures.append((worker, kind, message, status))
            self.wait(PATIENCE if status == leaving.STATUS else SETTLE)

    def wait(self, seconds):
        if self.until is None:
            self.until = time.monotonic() + seconds

    def reason(self):
        """The failure that the others come of: the first, unless that one only reports another process's end."""
        causes = [f for f in self.failures if not any(word in f[2] for word in CONSEQUENCES)]
        return (causes or self.failures)[0]

    def end(self):
        """Leaves no process behind, and nothing unsaid that was in their pipes."""
        for worker in self.workers:
            worker.process.kill()
        while any(w.status is None for w in self.workers):
            worker, kind, what = self.events.get()
            if kind == "left":
                worker.status = what
            elif kind == "log":
                self.log(worker, what)


def see_through(jobs):
    """Runs the jobs side by side, and returns the status to leave with, the last word being said."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the workers, of one process group, get it too: it is theirs
    company = Company(jobs)
    try:
        company.attend()
    finally:
        company.end()
    if not company.failures:
        said.send(company.workers[0].done)
        return 0
    worker, kind, message, status = company.reason()
    if kind is None and status < 0:
        _die(-status)
    if kind is None and status == leaving.STATUS:
        return status
    said.error(kind or "module", f"worker {worker.index}: {message}")
    return 1


def how(status):
    """How a process left that said nothing of why."""
    if status < 0:
        return f"ended by signal {-status}"
    return f"exited with status {status}" if status else "exited without reporting a result"


def _die(number):
    """Leaves as the worker left, so that it is reported as what it is."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):  # which nobody handles
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


_libc = ctypes.CDLL(None)


def _go_with(parent):
    """Has the kernel end a worker whose parent was killed (PR_SET_PDEATHSIG), where it can."""
    if sys.platform == "linux":
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the line above
            os._exit(1)


def _thread(run):
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
