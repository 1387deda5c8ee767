"""What is told of formats that could not be written."""
import os
import tempfile
import unittest

from stoker_runner import convert, converters, signatures

MLIR = """<unknown>:0: error: loc(callsite(fused["A:", "a"])): 'tf.ParseExampleV2' op is neither a custom op nor a flex op
<unknown>:0: note: loc(fused["StatefulPartitionedCall:", "StatefulPartitionedCall"]): called from
Some ops are not supported by the native TFLite runtime.
\tFlex ops: ParseExampleV2
"""


class Convert(unittest.TestCase):
    def setUp(self):
        self.model = tempfile.mkdtemp()
        self.serving = os.path.join(self.model, "Format-Serving")
        os.mkdir(self.serving)
        self.assignment = {"call": "train", "serving_model_dir": self.serving, "exports": ["tflite"]}

    def test_without_a_model_there_is_nothing_to_write(self):
        self.assertEqual(convert.write(self.assignment), {})
        self.assertEqual(convert.write({"call": "tune", "exports": ["tflite"]}), {})

    def test_a_file_of_the_modules_own_stands(self):
        open(os.path.join(self.serving, "saved_model.pb"), "w").close()
        os.mkdir(os.path.join(self.model, "Format-TFLite"))
        own = os.path.join(self.model, "Format-TFLite", "model.tflite")
        with open(own, "w") as file:
            file.write("own")
        self.assertEqual(convert.write(self.assignment), {})
        with open(own) as file:
            self.assertEqual(file.read(), "own")

    def test_an_error_is_told_without_where_each_op_comes_from(self):
        told = "Some ops are not supported by the native TFLite runtime. Flex ops: ParseExampleV2"
        self.assertEqual(converters.brief(MLIR), told)


class Signatures(unittest.TestCase):
    def test_inputs_are_described_as_inputs_json_has_them(self):
        signature = signatures.Signature("numbers", [("x", "float32", [None, 3])], [("y", "float32", [None])])
        self.assertEqual(signature.strings(), [])
        note = "as signature numbers of the SavedModel takes it"
        self.assertEqual(signature.described(), [{"name": "x", "type": "float32", "shape": [-1, 3], "note": note}])

    def test_a_string_that_comes_out_is_one_too(self):
        signature = signatures.Signature("s", [("x", "float32", [None])], [("label", "string", [None])])
        self.assertEqual(signature.strings(), ["label"])


if __name__ == "__main__":
    unittest.main()
