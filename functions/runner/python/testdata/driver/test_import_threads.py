import os
import unittest
from unittest import mock

from stoker_runner import import_threads


class ImportThreads(unittest.TestCase):
    def test_the_job_finds_the_environment_as_it_was(self):
        with mock.patch.dict(os.environ, {"JE_ARROW_MALLOC_CONF": "theirs"}):
            os.environ.pop("OPENBLAS_NUM_THREADS", None)
            import_threads.prevent()
            self.assertEqual("1", os.environ["OPENBLAS_NUM_THREADS"])
            self.assertEqual("theirs", os.environ["JE_ARROW_MALLOC_CONF"])
            import_threads.allow()
            self.assertNotIn("OPENBLAS_NUM_THREADS", os.environ)
            self.assertEqual("theirs", os.environ["JE_ARROW_MALLOC_CONF"])

    def test_openblas_gets_its_threads_under_any_name(self):
        for name in ("openblas_set_num_threads", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads64_"):
            library = mock.Mock(spec=[name])
            import_threads._set_threads(library, 7)
            (number,), _ = getattr(library, name).call_args
            self.assertEqual(7, number.value)


if __name__ == "__main__":
    unittest.main()
