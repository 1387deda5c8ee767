"""Answers requests, one JSON object a line: a script, a function in it and its argument. The answer has the CPU time of the call."""
import json
import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # libraries print to stdout, which is for answers

import tensorflow as tf

# With more than one thread TensorFlow takes more CPU time for the same rows.
tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
tf.config.threading.set_inter_op_parallelism_threads(int(sys.argv[1]))

scripts = {}
for line in sys.stdin:
    request = json.loads(line)
    script = scripts.setdefault(request["script"], {"tf": tf})
    if len(script) == 1:
        exec(request["script"], script)
    answer = {}
    try:
        begun = time.process_time()
        answer["out"] = script[request["function"]](request["in"])
        answer["cpu"] = time.process_time() - begun
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), file=answers, flush=True)
