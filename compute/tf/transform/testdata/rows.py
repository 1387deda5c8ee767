"""Rows of serialized tf.Examples: clean ones to analyze, nasty ones to transform. Seeded, so that they are always the same."""
import random

import tensorflow as tf

FEATURES = {
    "x": tf.io.FixedLenFeature([], tf.float32),
    "y": tf.io.FixedLenFeature([1], tf.float32),
    "v": tf.io.FixedLenFeature([3], tf.float32),
    "n": tf.io.FixedLenFeature([], tf.int64),
    "m": tf.io.FixedLenFeature([1], tf.int64),
    "s": tf.io.FixedLenFeature([], tf.string),
    "t": tf.io.FixedLenFeature([1], tf.string),
    "xs": tf.io.VarLenFeature(tf.float32),
    "ns": tf.io.VarLenFeature(tf.int64),
    "ss": tf.io.VarLenFeature(tf.string),
    "xo": tf.io.VarLenFeature(tf.float32),  # optional: one value or none
    "no": tf.io.VarLenFeature(tf.int64),
    "so": tf.io.VarLenFeature(tf.string),
    "rx": tf.io.RaggedFeature(tf.float32, value_key="rx", row_splits_dtype=tf.int64),
    "rn": tf.io.RaggedFeature(tf.int64, value_key="rn", row_splits_dtype=tf.int64),
    "rs": tf.io.RaggedFeature(tf.string, value_key="rs", row_splits_dtype=tf.int64),
    "sp": tf.io.SparseFeature(["spi"], "spv", tf.float32, [8]),
}

FLOATS = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.4028235e38, -3.4028235e38, 1e-40,
          1e30, -1e30, 1e-30, 123456.789, 2147483648.0, -2147483649.0, 9.3e18, 0.1, -0.1, 255.5, 100.0, 1e7]
INTS = [0, 1, -1, 2, 7, -7, -8, 100, 255, 256, 2**31 - 1, 2**31, -2**31 - 1, 2**63 - 1, -2**63, 2**53 + 1, 16777217, -10, 3, 12]
STRINGS = [b"", b" ", b"a", b"b", b"Taxi", b"taxi 9", b"\xff\xfe", "Grüße".encode(), "日本語".encode(), b"A B", b"\tx ", b"a\nb",
           b"nul\0nul", b"12", b"-3.5e2", b"1e400", b"nan", b"0x10", b"x" * 300, "ÀÉ".encode(), b"007", b"\xc3", "İß".encode()]
WORDS = [b"the", b"cat", b"sat", b"on", b"mat", b"The", b"a", b"dog", b"dog", b"ran"]
TEXTS = [b"", b" ", b"the cat", b"the the the", b"  two  spaces ", b"cat\tsat\non", b"unknown words here", b"\xff the \xfe",
         "Grüße dog".encode(), b"a", b"dog ran on the mat on the mat", b"word " * 30]
LISTS = {"xs", "ns", "ss"}
OPTIONAL = {"xo", "no", "so"}
SPARSE = "sp"


def example(features):
    lists = {}
    for name, (kind, values) in features.items():
        lists[name] = tf.train.Feature(**{kind: {"float_list": tf.train.FloatList, "int64_list": tf.train.Int64List,
                                                  "bytes_list": tf.train.BytesList}[kind](value=values)})
    return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString(deterministic=True)


def row(rng, floats, ints, strings, texts, missing):
    """One row. Lists have up to four values, where missing is said they may be empty or not there at all."""
    draws = {tf.float32: ("float_list", floats), tf.int64: ("int64_list", ints), tf.string: ("bytes_list", strings)}
    values = {}
    for name, feature in FEATURES.items():
        kind, draw = draws[feature.dtype]
        size = 1
        if name == SPARSE:
            places = rng.sample(range(8), rng.choice([0, 1, 3]))
            values["spi"] = ("int64_list", places)
            values["spv"] = ("float_list", [floats(rng) for _ in places])
            continue
        if name in OPTIONAL:
            size = rng.choice([0] + [1] * 8 + [2]) if missing else 1
        elif name.startswith("r"):
            size = rng.randrange(5)
        elif name in LISTS:
            size = rng.choice([0, 1, 1, 1, 2, 4]) if missing else rng.choice([1, 1, 1, 2])
        elif name == "v":
            size = 3
        elif name == "t":
            draw = texts
        if size or not missing or rng.random() < 0.5:  # an empty list, or none at all
            values[name] = (kind, [draw(rng) for _ in range(size)])
    return example(values)


def clean():
    """200 rows as a user may have them."""
    rng = random.Random(1)
    keys = [b"a", b"b", b"Taxi", b"taxi 9", b"12", b"007", "Grüße".encode()]
    return [row(rng, lambda r: r.gauss(1, 2), lambda r: r.choice([r.randrange(-20, 100), r.randrange(4)]),
                lambda r: r.choices(keys, [9, 5, 4, 3, 2, 1, 1])[0],
                lambda r: b" ".join(r.choice(WORDS) for _ in range(r.randrange(1, 6))), False) for _ in range(200)]


def nasty(seed):
    """48 rows: eight that are good, then the bad ones."""
    rng = random.Random(seed)
    rows = clean()[:8]
    while len(rows) < 48:
        rows.append(row(rng, lambda r: r.choice(FLOATS + [r.gauss(1, 2) for _ in range(12)]),
                        lambda r: r.choice(INTS + [r.randrange(-20, 100) for _ in range(6)]),
                        lambda r: r.choice(STRINGS), lambda r: r.choice(TEXTS), True))
    return rows
