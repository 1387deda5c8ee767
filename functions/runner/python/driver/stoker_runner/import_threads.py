"""Keeps libraries from starting threads when they are imported, in a process that enters the sandbox of a job afterwards: Landlock
holds the calling thread and those that it starts later, and not the ones that are there already (before Linux with TSYNC)."""
import ctypes
import os

# What keeps a library from starting threads when it is loaded: NumPy's OpenBLAS, and the jemalloc of pyarrow.
PREVENTED = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

_set_here = []


def prevent():
    """Sets what the environment does not set. To be called before the imports."""
    for name, value in PREVENTED.items():
        if name not in os.environ:
            os.environ[name] = value
            _set_here.append(name)


def allow():
    """Gives OpenBLAS as many threads as the process has processors, and the job an environment without what prevent has set."""
    if "OPENBLAS_NUM_THREADS" in _set_here:
        for path in _loaded("openblas"):
            _set_threads(ctypes.CDLL(path), len(os.sched_getaffinity(0)))
    for name in _set_here:
        os.environ.pop(name, None)
    _set_here.clear()


def _loaded(library):
    """Paths of the shared libraries of this process with a word in their names."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/")}
    return sorted(path for path in paths if library in os.path.basename(path))


def _set_threads(library, number):
    """Calls openblas_set_num_threads under the name that a build gives it."""
    for prefix in ("scipy_openblas", "openblas"):
        for suffix in ("", "64_", "_64"):
            function = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if function is not None:
                function(ctypes.c_int(number))
                return
