"""Products of float32 matrices by NumPy, whose BLAS is OpenBLAS; the process is started with OPENBLAS_NUM_THREADS=1."""
import time

import numpy as np

kept = {}


def product(request):
    """Multiplies so many times, and returns the CPU time."""
    m, k, n = request["m"], request["k"], request["n"]
    if (m, k, n) not in kept:
        random = np.random.default_rng(1)
        a, b = random.standard_normal((m, k), np.float32), random.standard_normal((k, n), np.float32)
        kept[m, k, n] = a, b, np.empty((m, n), np.float32)
    a, b, c = kept[m, k, n]
    np.matmul(a, b, out=c)
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(request["times"]):
        np.matmul(a, b, out=c)
    return {"examples": request["times"], "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def blas(_):
    """The library that multiplies."""
    found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"NumPy {np.__version__}, {found['name']} {found['version']}"
