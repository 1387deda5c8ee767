"""What is told of an exception: short, and with what to do about it."""
import os
import sys
import tempfile
import unittest

from stoker_runner import faults, graph_errors

TRACED = """Graph execution error:

Detected at node IteratorGetNext defined at (most recent call last):
  File "/m/penguin_utils.py", line 56, in run_fn

  File "/lib/keras/trainer.py", line 399, in fit
      return self.function(iterator)

Name: <unknown>, Feature: body_mass_g_xf (data type: float) is required but could not be found.
\t [[{{node IteratorGetNext}}]] [Op:__inference_multi_step_on_iterator_1496]"""

ROOTS = """Graph execution error:

Detected at node 'model/add' defined at (most recent call last):
    File "/m/penguin_utils.py", line 56, in run_fn
      model.fit(
Node: 'model/add'
2 root error(s) found.
  (0) INVALID_ARGUMENT:  required broadcastable shapes
\t [[{{node model/add}}]]
0 successful operations."""


USER_CODE = """Exception encountered when calling layer 'wide' (type Wide).

in user code:

    File "/m/penguin_utils.py", line 56, in step  *
        return helper(y)
    File "/m/features.py", line 3, in helper  *
        return d["label"]

    KeyError: 'label'


Call arguments received by layer 'wide' (type Wide):
  \u2022 x=tf.Tensor(shape=(2, 2), dtype=float32)
"""


class Graph(unittest.TestCase):
    def test_an_error_while_a_function_is_traced_is_told_by_its_own_name(self):
        self.assertEqual(graph_errors.brief(USER_CODE), "KeyError: 'label'")
        self.assertEqual(graph_errors.traced(USER_CODE)[0], [("/m/penguin_utils.py", 56, "step"), ("/m/features.py", 3, "helper")])
        self.assertEqual(graph_errors.brief("in user code:"), "in user code:")

    def test_an_error_is_told_without_where_each_op_comes_from(self):
        told = "Name: <unknown>, Feature: body_mass_g_xf (data type: float) is required but could not be found."
        self.assertEqual(graph_errors.brief(TRACED), told)

    def test_a_trace_that_is_unavailable_is_left_out(self):
        text = "Graph execution error:\n\nDetected at node Parse defined at (most recent call last):\n<stack traces unavailable>\nKey: heating.  Can't parse.\n\t [[{{node Parse}}]]\n\t [[IteratorGetNext]] [Op:__inference_1]"
        self.assertEqual(graph_errors.brief(text), "Key: heating.  Can't parse.")

    def test_several_causes_are_told(self):
        told = "2 root error(s) found.; (0) INVALID_ARGUMENT:  required broadcastable shapes; 0 successful operations."
        self.assertEqual(graph_errors.brief(ROOTS), told)

    def test_other_words_stay(self):
        for text in ("no such thing\n  at all", "Graph execution error:\n\nDetected at node x", ""):
            self.assertEqual(graph_errors.brief(text), text)


class Told(unittest.TestCase):
    def told(self, error, **assignment):
        return faults.describe(error, {"path": [], "keras": "3", "keras_auto": True}, assignment)

    def test_an_error_of_autograph_names_the_line_of_the_module(self):
        import tensorflow as tf

        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "wide.py"), "w") as file:
            file.write("import tensorflow as tf\n\ndef helper(d):\n    return d['label']\n\n@tf.function\ndef step(x):\n    return helper({'a': x})\n")
        sys.path.insert(0, folder)
        self.addCleanup(sys.path.remove, folder)
        import wide

        with self.assertRaises(KeyError) as raised:
            wide.step(tf.ones(2))
        told = faults.describe(raised.exception, {"path": [folder], "keras": "3", "keras_auto": True}, {})
        self.assertEqual(told, (faults.MODULE, "wide.py:4 in helper: KeyError: 'label'"))

    def test_an_error_in_a_graph_is_one_line(self):
        kind, message = self.told(RuntimeError(TRACED))
        self.assertEqual(kind, faults.INPUT)
        self.assertTrue(message.startswith("RuntimeError: Name: <unknown>, Feature: body_mass_g_xf"), message)

    def test_a_path_that_the_job_lacks_is_named(self):
        error = TypeError("expected str, bytes or os.PathLike object, not NoneType")
        told = "TypeError: expected str, bytes or os.PathLike object, not NoneType (fn_args.transform_graph_path is None)"
        self.assertEqual(self.told(error, schema_path="/s"), (faults.MODULE, told))
        self.assertEqual(self.told(error, schema_path="/s", transform_graph_path="/t")[1], f"TypeError: {error}")
        self.assertEqual(self.told(TypeError("another"))[1], "TypeError: another")


if __name__ == "__main__":
    unittest.main()
