"""SIGTERM: what can be kept is kept, and the process leaves with the status of one that was asked to.

Keras's fit is left by an exception at the end of a batch. model.stop_training would not do: fit then takes the part of
an epoch for a whole one, and BackupAndRestore removes its backup as after a training that is finished. So the backup of
the last epoch (or of the last save_freq batches) stands, and what came since is trained again, to the same result.
Loops of the module's own ask stoker.stopping(). A module that does neither is ended as soon as its files have been
kept. One that sets a handler of its own has its way.
"""
import os
import signal
import sys
import threading
import time

from stoker_runner import checkpoints, said

STATUS = 75  # EX_TEMPFAIL: module.ExitStopped
PATIENCE = 5.0  # seconds in which a process that checks may leave by itself
HASTE = 0.5  # and where nobody looks

_asked = False
_seen = False
_looked = False
_over = threading.Lock()  # held by whoever says the last word


class Leaving(BaseException):
    """Ends a fit. No Exception: nobody is to take it for a failed trial."""


def install():
    """From now on SIGTERM is a request to leave. Children that the module forks have the system's own way again."""
    signal.signal(signal.SIGTERM, _ask)
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)  # heard at once, whatever TensorFlow is busy with
    threading.Thread(target=_listen, args=(read_end,), name="stoker-leaving", daemon=True).start()
    os.register_at_fork(after_in_child=_be_a_child)


def listen_again():
    """Takes SIGTERM back from a library that has taken it behind Python's back. For the main thread."""
    if signal.getsignal(signal.SIGTERM) is _ask:
        signal.signal(signal.SIGTERM, _ask)


def check():
    """Raises Leaving if the process is to leave. For where a training can be left."""
    global _looked
    _looked = True
    if stopping():
        raise Leaving


def stopping():
    """Returns whether the process is to leave. A caller that gets True is taken to leave its work unfinished."""
    global _looked, _seen
    _looked = True
    _seen = _seen or _asked
    return _asked


def finish():
    """Nothing but the last word is to come, and a request to leave too late, unless the module has followed one: what
    it left is no result then, nor is an exception a failure."""
    if _seen:
        go()
    _over.acquire()


def go(sure=True):
    """Keeps what is new, and leaves. sure: the module writes nothing at this moment."""
    _over.acquire()
    checkpoints.last(sure)
    said.note("left before the end, as it was asked to")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STATUS)


def _ask(*_):
    global _asked
    _asked = True


def _listen(pipe):
    while True:
        if signal.SIGTERM in os.read(pipe, 64) and signal.getsignal(signal.SIGTERM) is _ask:
            _ask()
            time.sleep(PATIENCE if _looked else HASTE)
            go(sure=False)


def _be_a_child():
    signal.set_wakeup_fd(-1)
    if signal.getsignal(signal.SIGTERM) is _ask:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
