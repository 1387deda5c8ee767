"""The driver of TFX modules: see the Go package functions/guest/python for its modes and its protocol."""
import os
import sys

from stoker_guest import job, said


def main(mode):
    said.to(int(os.environ["STOKER_PROGRESS_FD"]))
    if mode == "job":
        sys.exit(job.serve(sys.stdin))
    sys.exit(f"stoker_guest: no mode {mode!r}")


main(sys.argv[1])
