"""The driver of TFX modules: see the Go package functions/runner/python for its modes and its protocol."""
import os
import sys

from stoker_runner import ending, import_threads, job, said, sandbox


def main(mode):
    if mode in ("idle", "fork"):
        sandbox.hide_memory()
        if mode == "idle" and sys.platform == "linux":
            import_threads.prevent()
        from stoker_runner import preload
        preload.everything()
    if mode == "fork":
        from stoker_runner import fork
        fork.serve()  # goes on in each child
        sys.argv[1] = "job"
    elif mode not in ("idle", "job"):
        sys.exit(f"stoker_runner: no mode {mode!r}")
    said.to(int(os.environ["STOKER_PROGRESS_FD"]))
    ending.leave(job.serve(sys.stdin))


if __name__ == "__main__":
    main(sys.argv[1])
