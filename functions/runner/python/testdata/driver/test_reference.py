"""Which features the columns of a model's one tensor are."""
import random
import unittest

from stoker_runner.reference import _matched

random.seed(1)
ROWS = 60
AGE, HEIGHT, WIDTH = ([random.random() for _ in range(ROWS)] for _ in range(3))
HOUR = [float(random.randrange(24)) for _ in range(ROWS)]
YES = [float(random.randrange(2)) for _ in range(ROWS)]
DAY, ONE = random.sample([float(i) for i in range(ROWS)], ROWS), [7.5] * ROWS
RECORDS = {("day", 0): DAY, ("one", 0): ONE, ("age", 0): AGE, ("size", 0): HEIGHT, ("size", 1): WIDTH, ("hour", 0): HOUR, ("yes", 0): YES}


def matched(*columns, records=RECORDS):
    rows = [list(row) for row in zip(*columns)]
    random.shuffle(rows)
    return _matched(rows, records)


class Columns(unittest.TestCase):
    def test_columns_that_are_features_are_known(self):
        for columns, want in [
            ((AGE,), [("age", 0)]),
            ((WIDTH, HOUR, AGE, HEIGHT), [("size", 1), ("hour", 0), ("age", 0), ("size", 0)]),
            ((YES, AGE), [("yes", 0), ("age", 0)]),
        ]:
            self.assertEqual(matched(*columns), want)

    def test_what_is_not_certain_is_not_known(self):
        for what, columns in {
            "another number": [[2 * x for x in AGE]],
            "one of them another number": [AGE, [x + 1 for x in HOUR]],
            "its contrary": [AGE, [1 - x for x in YES]],
            "whole numbers alone": [DAY],
            "whole numbers of another feature": [AGE, [float(int(x) % 2) for x in HOUR]],
            "one number in all rows": [AGE, [HOUR[0]] * ROWS],
            "a feature of one number": [AGE, ONE],
            "a part of a feature": [AGE, HEIGHT],
            "a feature twice": [AGE, AGE],
            "rows that no record is": [AGE, HEIGHT[1:] + HEIGHT[:1], WIDTH],
            "two rows that no record is": [AGE, [HEIGHT[1], HEIGHT[0], *HEIGHT[2:]], WIDTH],
        }.items():
            self.assertIsNone(matched(*columns), what)

    def test_records_must_tell_features_apart(self):
        self.assertIsNone(matched(AGE, records={**RECORDS, ("copy", 0): AGE}))
        self.assertIsNone(matched(YES, AGE, records={**RECORDS, ("copy", 0): YES}))
        self.assertIsNone(matched(AGE, records={("age", 0): 2 * AGE}))
        self.assertIsNone(matched(AGE, records={}))

    def test_rows_must_be_enough(self):
        self.assertIsNone(matched(AGE[:9]))
        self.assertIsNone(_matched([], RECORDS))


if __name__ == "__main__":
    unittest.main()
