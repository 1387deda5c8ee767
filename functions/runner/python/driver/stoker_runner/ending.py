"""How a process leaves: as Python does, but without taking the libraries apart: that takes half a second, and sometimes
crashes."""
import atexit
import ctypes
import gc
import io
import os
import sys
import threading
import time
import traceback

STILL = 2.0  # seconds: what has not changed for so long is not being written


def settle(folders, still=STILL):
    """Returns when no thread of the module's writes in the folders any more: what they hold is the result. A thread that
    only lives on is not waited for here; Python would wait forever."""
    while going_on() and being_written(folders, still):
        going_on(0.1)


def going_on(seconds=0):
    """Whether a thread is there that Python would wait for at its end; seconds is how long to wait for one."""
    threads = [t for t in threading.enumerate() if not t.daemon and t is not threading.current_thread()]
    for thread in threads[:1]:
        thread.join(seconds)
    return bool(threads)


def being_written(folders, still):
    now = time.time()
    return any(abs(now - os.lstat(path).st_mtime) < still for path in files(folders) if os.path.lexists(path))


def files(folders):
    for top in folders:
        for folder, _, names in os.walk(top):
            yield from (os.path.join(folder, name) for name in names)


def leave(status):
    """Ends this process. Threads that are no daemons are waited for, what was registered with atexit runs, and what the
    module has opened is written and closed, before."""
    for last_call in (threading._shutdown, atexit._run_exitfuncs, write_files, gc.collect, write_streams):
        try:
            last_call()
        except BaseException:
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, or nobody reads it
            pass
    os._exit(status)


def write_files():
    """Writes what waits in files that nobody closed. Those that nothing holds are closed by gc.collect."""
    written = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    for thing in gc.get_objects():
        if isinstance(thing, written) and not thing.closed and thing.writable():
            thing.flush()


def write_streams():
    """Writes what libraries in C have printed, which waits in streams of their own."""
    ctypes.CDLL(None).fflush(None)
