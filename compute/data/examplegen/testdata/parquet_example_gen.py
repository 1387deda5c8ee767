# The tf.Examples that TFX's ParquetExampleGen makes of a Parquet file that pyarrow writes, in the order of the rows. TFX takes zeros, empty
# strings and False for missing values: there are none here.
import io, random, sys
from unittest import mock

# What the module imports and dict_to_example does not use; the environment does not have all of it.
for name in ["tfx.dsl", "tfx.dsl.io", "tfx.proto", "tfx.utils"]:
    sys.modules[name] = mock.MagicMock()

import pyarrow as pa
import pyarrow.parquet as pq
from tfx.components.example_gen import utils


def column(r, rows, draw, nulls):
    return [None if nulls and r.random() < 0.3 else draw() for _ in range(rows)]


def table(seed):
    r = random.Random(seed)
    rows = r.randint(1, 40)
    word = lambda: "".join(r.choice("aäb \n,") for _ in range(r.randint(1, 6)))
    draws = {
        "int8": (pa.int8(), lambda: r.randint(-128, -1)),
        "int16": (pa.int16(), lambda: r.randint(1, 2**15 - 1)),
        "int32": (pa.int32(), lambda: r.randint(1, 2**31 - 1)),
        "int64": (pa.int64(), lambda: r.randint(1, 2**63 - 1)),
        "uint8": (pa.uint8(), lambda: r.randint(1, 255)),
        "uint32": (pa.uint32(), lambda: r.randint(2**31, 2**32 - 1)),
        "uint64": (pa.uint64(), lambda: r.randint(1, 2**63 - 1)),
        "half": (pa.float32(), lambda: r.random() + 1e-3),
        "double": (pa.float64(), lambda: r.uniform(-1e30, 1e30)),
        "bool": (pa.bool_(), lambda: True),
        "text": (pa.string(), word),
        "large text": (pa.large_string(), word),
        "bytes": (pa.binary(), lambda: word().encode()),
        "category": (pa.dictionary(pa.int32(), pa.string()), lambda: r.choice(["red", "green"])),
        "null": (pa.null(), lambda: None),
        "ints": (pa.list_(pa.int64()), lambda: [r.randint(0, 9) for _ in range(r.randint(0, 4))]),
        "floats": (pa.list_(pa.float32()), lambda: [r.random() for _ in range(r.randint(0, 4))]),
        "words": (pa.list_(pa.string()), lambda: [word() for _ in range(r.randint(0, 3))]),
    }
    arrays, names = [], []
    for name in r.sample(sorted(draws), r.randint(1, len(draws))):
        kind, draw = draws[name]
        arrays.append(pa.array(column(r, rows, draw, r.random() < 0.5), kind))
        names.append(name)
    return pa.table(arrays, names), r


def answer(seed):
    made, r = table(seed)
    out = io.BytesIO()
    pq.write_table(made, out, compression=r.choice(["none", "snappy", "gzip", "zstd"]), use_dictionary=r.random() < 0.5,
                   data_page_version=r.choice(["1.0", "2.0"]), row_group_size=r.randint(1, 50), version=r.choice(["1.0", "2.4", "2.6"]))
    read = pq.read_table(io.BytesIO(out.getvalue()))
    chunks = pq.ParquetFile(io.BytesIO(out.getvalue())).metadata.row_group(0)
    chunks = [chunks.column(i) for i in range(chunks.num_columns)]
    return {
        "file": out.getvalue(),
        "run_length_booleans": any(c.physical_type == "BOOLEAN" and "PLAIN" not in c.encodings for c in chunks),
        "records": [utils.dict_to_example(row).SerializeToString(deterministic=True) for row in read.to_pylist()],
    }


def check(seeds):
    return [answer(seed) for seed in seeds]
