"""What keeps jobs apart, as the Go package functions/runner/process does it for processes that are started for one job."""
import ctypes
import os
import sys

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38  # prctl(2)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # of all architectures
ALL_THREADS = 1 << 3  # LANDLOCK_RESTRICT_SELF_TSYNC, version 8
PATH_BENEATH = 1
OF_FILES = 1 << 1 | 1 << 2 | 1 << 14  # rights that can be granted on a file: to write, read and cut it off

_libc = ctypes.CDLL(None, use_errno=True)


def hide_memory():
    """Has other processes of the same user neither read nor change this one's memory, which many jobs will have."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def show_memory():
    """Makes this process an ordinary one again: runner reads what belongs to a job in /proc."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class OtherThreads(Exception):
    """This process has threads that the kernel can't put into a sandbox together with the calling one."""


def enter(sandbox):
    """Holds this process, and all that it starts, to a sandbox of runner's: landlock(7). None is none."""
    if not sandbox:
        return
    all_threads = sandbox["all_threads"]
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1 and not all_threads and not sandbox["spare_threads"]:
        raise OtherThreads(f"{threads - 1} threads were started by imports; this kernel's Landlock does not restrict them to the job's sandbox")
    attr = _Ruleset(sandbox["handled"], 0, sandbox["scoped"])
    size = ctypes.sizeof(attr) if attr.scoped else 8  # all that the first versions know
    ruleset = _call(CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), 0)
    try:
        for rule in sandbox["rules"]:
            _grant(ruleset, rule["path"], rule["rights"])
        if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "forbid new privileges")
        _call(RESTRICT_SELF, ruleset, ALL_THREADS if all_threads else 0)
    finally:
        os.close(ruleset)


def _grant(ruleset, path, rights):
    """Grants nothing on what is not there, or can't be reached."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{parent}"):
            rights &= OF_FILES
        _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(_PathBeneath(rights, parent)), 0)
    finally:
        os.close(parent)


def _call(number, *arguments):
    result = _libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result
