"""When what a module has written below its folders is whole: then a checkpoint message has the worker keep it for
another attempt.

At the ends of epochs and trials, and when the module says so. In between, and after a crash, the worker itself finds out
which files are whole: functions/execution/scan.go.
"""
import os
import re
import threading
import time

from stoker_runner import said

TICK = 0.5  # seconds
FRESH = 10.0  # a file that looks half written is one if it changed within so many seconds
LONGEST = 30.0  # that a worker may take for a copy
MAX_FILES = 50_000
BYTES_A_SECOND = 50e6  # as checkpoints of large folders are more costly, they are rarer

HALF_WRITTEN = re.compile(r"(^|[._-])(tmp|temp|temporary|part|partial|incomplete)([._-]|$)", re.IGNORECASE)
APPENDED = re.compile(r"(^|/)events\.out\.tfevents\.[^/]*$|\.log$")  # whole at any moment: they go with the others

_lock = threading.RLock()
_folders = []
_kept = {}  # what the files were when they were kept last
_when = 0.0  # that was
_step = int  # how far the training is: 0 before start says better
_sent = 0  # how many were sent
_taken = None  # the file in which functions/runner says how many of them were taken
_clock = time.monotonic


def start(folders, step, tick):
    """Looks after folders from now on. step says how far the training is; tick is called every now and then."""
    global _folders, _kept, _step, _taken
    home = os.environ.get("STOKER_MODULE")  # the job's; of several workers only the chief lives there, and is heard
    _taken = os.path.join(home, ".stoker-taken") if home and home == os.environ.get("HOME") else None
    _folders, _step = [folder for folder in folders if folder], step
    _kept = look() or {}
    threading.Thread(target=_tick, args=(tick,), name="stoker-progress", daemon=True).start()


def look():
    """The size and time of change of each file below the folders, by path. None if there are too many."""
    files, folders = {}, list(_folders)
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    stat = entry.stat(follow_symlinks=False)
                    files[entry.path] = (stat.st_size, stat.st_mtime_ns)
        except FileNotFoundError:
            continue  # the module has removed it meanwhile
        if len(files) > MAX_FILES:
            return None
    return files


def reached(step):
    """An epoch or a trial has ended, at step: its files are whole. Nothing is sent if there is nothing new, or just
    after another one."""
    files = look()
    with _lock:
        if not files or _clock() - _when < _pause(files) or not _new(files) or _half_written(files):
            return
        _send(files, step)
        _wait()


def said_whole(step):
    """The module itself says that all is whole."""
    with _lock:
        _send(look() or {}, step or _step())
        _wait()


def last(sure):
    """The process is about to leave: what is new now is kept, or lost. Unless it is sure that nobody is writing, only
    what the worker finds to be whole."""
    if not sure:
        said.send({"type": "checkpoint", "step": int(_step()), "all": True, "settled": True})
        return
    files = look()
    with _lock:
        if files and _new(files):
            _send(files, _step())


def _send(files, step):
    global _kept, _when, _sent
    _kept, _when, _sent = files, _clock(), _sent + 1
    said.send({"type": "checkpoint", "step": int(step), "all": True})


def _wait():
    """Returns when the worker has taken what was sent: who calls writes nothing meanwhile. Where no worker says so,
    none is waited for again."""
    global _taken
    end = time.monotonic() + LONGEST
    while _taken:
        try:
            with open(_taken, encoding="utf-8") as file:
                if file.read() == f"{_sent}\n":
                    return
        except OSError:
            pass  # not yet
        if time.monotonic() > end:
            _taken = None
        time.sleep(0.002)


def _pause(files):
    return max(1.0, sum(size for size, _ in files.values()) / BYTES_A_SECOND)


def _new(files):
    """Whether there is something new to go on from. Logs are nothing, nor is it that files have gone."""
    return any(_kept.get(path) != state and not APPENDED.search(path) for path, state in files.items())


def _half_written(files):
    """A path that looks half written, or None."""
    since = time.time_ns() - int(FRESH * 1e9)
    for path, (_, changed) in files.items():
        if changed > since and any(HALF_WRITTEN.search(part) for part in path[_root(path):].split(os.sep)):
            return path
    return None


def _root(path):
    return max(len(folder) for folder in _folders if path.startswith(folder))


def _tick(tick):
    while True:
        time.sleep(TICK)
        tick()
