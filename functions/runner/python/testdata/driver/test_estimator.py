"""What is asked of a trainer_fn, which process exports, and which export is taken: all that needs no Estimator."""
import contextlib
import json
import os
import tempfile
import unittest
from unittest import mock

from stoker_runner import estimator, no_estimators


def made(*paths):
    """A folder with models at these paths."""
    folder = tempfile.mkdtemp()
    for path in paths:
        os.makedirs(os.path.join(folder, path), exist_ok=True)
        with open(os.path.join(folder, path, "saved_model.pb"), "w"):
            pass
    return folder


class Exports(unittest.TestCase):
    def newest(self, *paths):
        folder = made(*paths)
        return os.path.relpath(estimator.newest(folder), folder)

    def test_the_newest_of_all_exporters_is_taken(self):
        self.assertEqual(self.newest("export/best/99", "export/best/1000", "export/last/500"), "export/best/1000")
        self.assertEqual(
            self.newest("export/best/1000", "export/last/1001", "export/last/temp-1002"), "export/last/1001"
        )

    def test_an_evaluation_model_has_no_exporter(self):
        self.assertEqual(self.newest("7", "11"), "11")

    def test_a_folder_may_be_the_model_itself(self):
        self.assertEqual(self.newest("."), ".")

    def test_nothing_exported_is_said(self):
        for folder in (made(), made("export/best/temp-1"), os.path.join(made(), "gone")):
            with self.assertRaisesRegex(RuntimeError, "exported nothing below .*FinalExporter"):
                estimator.newest(folder)


class Spec(unittest.TestCase):
    def test_exactly_four_keys(self):
        spec = dict.fromkeys(estimator.KEYS)
        self.assertIs(estimator._checked(spec), spec)
        for wrong, words in [
            ({}, "returned a dict of \\[\\]"),
            ({**spec, "hooks": 1}, "'hooks'"),
            (None, "returned a NoneType"),
            (list(spec), "returned a list"),
        ]:
            with self.assertRaisesRegex(ValueError, words):
                estimator._checked(wrong)

    def test_a_schema_is_needed(self):
        with self.assertRaisesRegex(ValueError, "has a schema parameter"):
            estimator._schema(mock.Mock(schema_path=None))


class Chief(unittest.TestCase):
    def test_one_process_of_a_cluster_exports(self):
        cluster = {"chief": ["a:1"], "worker": ["b:1"]}
        for config, chief in [
            (None, True), ({}, True), ({"task": {"type": "worker", "index": 0}}, True),
            ({"cluster": cluster, "task": {"type": "chief", "index": 0}}, True),
            ({"cluster": cluster, "task": {"type": "worker", "index": 0}}, False),
            ({"cluster": cluster, "task": {"type": "master", "index": 0}}, True),
            ({"cluster": cluster, "task": {"type": "master", "index": 1}}, False),
            ({"cluster": cluster, "task": {"type": "evaluator", "index": 0}}, False),
            ({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}, True),
            ({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}, False),
            ({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}, False),
            ({"cluster": {"master": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}, False),
            ({"cluster": {"master": ["a:1"], "worker": ["b:1"]}, "task": {"type": "master", "index": 0}}, True),
        ]:
            with self.subTest(config=config), self.environment(config):
                self.assertEqual(estimator._chief(), chief)

    @contextlib.contextmanager
    def environment(self, config):
        with mock.patch.dict(os.environ):
            os.environ.pop("TF_CONFIG", None)
            if config is not None:
                os.environ["TF_CONFIG"] = json.dumps(config)
            yield


class Missing(unittest.TestCase):
    def test_errors_that_mean_no_estimators(self):
        for text in [
            "module 'tensorflow' has no attribute 'estimator'",
            "cannot import name 'estimator' from 'tensorflow' (/x/__init__.py)",
            "No module named 'tensorflow_estimator'",
            "No module named 'tensorflow.estimator'",
            "module 'tensorflow._api.v2.compat.v1' has no attribute 'estimator'",
        ]:
            self.assertIn("stoker python setup --estimator", no_estimators.hint(text))
        for text in [
            "module 'tensorflow' has no attribute 'estimators'",
            "'Pipeline' object has no attribute 'estimator_type'",
            "",
        ]:
            self.assertEqual(no_estimators.hint(text), "")


if __name__ == "__main__":
    unittest.main()
