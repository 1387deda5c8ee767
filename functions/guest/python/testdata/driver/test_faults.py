"""What is told of an exception: short, and with what to do about it."""
import unittest

from stoker_guest import faults, graph_errors

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


class Graph(unittest.TestCase):
    def test_an_error_is_told_without_where_each_op_comes_from(self):
        told = "Name: <unknown>, Feature: body_mass_g_xf (data type: float) is required but could not be found."
        self.assertEqual(graph_errors.brief(TRACED), told)

    def test_several_causes_are_told(self):
        told = "2 root error(s) found.; (0) INVALID_ARGUMENT:  required broadcastable shapes; 0 successful operations."
        self.assertEqual(graph_errors.brief(ROOTS), told)

    def test_other_words_stay(self):
        for text in ("no such thing\n  at all", "Graph execution error:\n\nDetected at node x", ""):
            self.assertEqual(graph_errors.brief(text), text)


class Told(unittest.TestCase):
    def told(self, error, **assignment):
        return faults.told(error, {"path": [], "keras": "3", "keras_auto": True}, assignment)

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
