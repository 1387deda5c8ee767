"""A converter in a process of its own: some end the process they run in, which would be the job's."""
import os
import signal
import subprocess
import sys
import tempfile

import stoker_lacking

from tfx.components.trainer.rewriting.rewriter import RewriteError

_SHOWN = 4096  # bytes of a converter's last words that are kept


def run(what, module, *arguments):
    """Runs a Python module as a program. RewriteError says how it ended, if not well, and what it said last."""
    shim = os.path.dirname(stoker_lacking.__file__)
    env = dict(
        os.environ,
        CUDA_VISIBLE_DEVICES="-1",  # the job's process holds the GPU's memory
        PYTHONPATH=os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), shim])),
    )
    with tempfile.TemporaryFile() as said:
        ended = subprocess.run(
            [sys.executable, "-m", module, *arguments], env=env, stdin=subprocess.DEVNULL, stderr=said
        )
        said.seek(max(0, said.seek(0, os.SEEK_END) - _SHOWN))
        last_words = said.read().decode(errors="replace").strip()
    if ended.returncode:
        print(last_words, file=sys.stderr)
        raise RewriteError(f"{what} {_ending(ended.returncode)}: {_telling(last_words)}")


def _ending(code):
    """How a process ended: a negative code is a signal's."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"


def _telling(text):
    """The line that says most: LLVM's error, which a dump of the stack may follow; else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    errors = [line for line in lines if line.startswith("LLVM ERROR")]
    return (errors or lines)[-1]


__path__, __getattr__ = stoker_lacking.of(__name__)
