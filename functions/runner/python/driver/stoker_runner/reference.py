"""What the model in memory answers for rows that it is evaluated on, so that its files can be compared with it.

The model is the one that Keras's fit or evaluate, or stoker.report(model=...), saw last, or the one that the module wrote
to the files, where these hold another state; the rows are those that the first was evaluated on, as it was given them. They are written with the features of each, by which the worker finds the raw rows
that they came from: package compute/tf/skew reads the file, and documents it. Nothing here fails a training: where nothing
can be said, the file says why.
"""
import base64
import functools
import glob
import hashlib
import json
import os
import time
import weakref

from stoker_runner import exports, leaving, said
from stoker_runner.arrivals import when_imported

FEW = 500  # rows of a source that is not read whole: some of them are found again by their features
MANY = 2000  # rows of a source that is, so that its answers are known as a set
MOST_RECORDS = 20000  # rows of files by which the columns of one tensor are known
MOST_NUMBERS = 10_000_000  # that these rows have
FEWEST = 10  # rows that are one record alone, by which columns are known
SECONDS = 120  # that all of it may take
MOST_VALUES = 5000  # of one feature or output in a row
MOST_WEIGHTS = 2 << 30  # bytes that are compared with those of the files

EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # distances of 1 to the next number

_model = None
_sources = []  # what the model was evaluated on, the last first
_labels = []  # names by which labels were asked for
_before = {}  # by id of a model: the weights that it had before its first fit
_derived = None  # the last dataset that was made of the evaluation data
_asked = False  # whether anybody will read it
_columns = None  # of the one tensor that the model is given: the feature and the number in it that each is; None where that isn't known


class Nothing(Exception):
    """Says why there is nothing to compare, in words for the user."""


def begin(assignment):
    """Keeps what is to be asked later, if this assignment wants it."""
    global _asked
    if not (assignment.get("predictions") or {}).get("memory_path"):
        return
    _asked = True
    exports.listen(_numbers)
    when_imported("tensorflow.python.data.ops.dataset_ops", _follow)


def fitting(model):
    """Keras's fit is about to train a model."""
    exports.give(model)
    if _asked and _untrained(model) is None:
        try:
            _before[id(model)] = weakref.ref(model), _weights(model) or set()
        except Exception:  # it has none yet, or they can't be read: nobody compares with them then
            pass


def _untrained(model):
    """The weights that a model had before it was trained; None where they are not known."""
    of, weights = _before.get(id(model), (None, None))
    return weights if of is not None and of() is model else None


def seen(model, source=None):
    """A model was trained or evaluated, on what a source holds: a dataset, or arrays as (x, y)."""
    global _model
    if not _asked:
        return
    _model = model
    if source is not None:
        _sources[:] = [source] + [known for known in _sources if known is not source][:2]


def labelled(name):
    """A dataset was asked for with the label of that name."""
    if _asked and name and name not in _labels:
        _labels.append(name)


def evaluation(dataset):
    """A dataset was made of the evaluation data."""
    global _derived
    if _asked:
        dataset._stoker_evaluation = True
        _derived = dataset
    return dataset


def _follow(module):
    """Follows the datasets that a module makes of that of its evaluation data: the last is what its own loop reads."""
    first = module.DatasetV2.__init__

    def __init__(self, *args, **kwargs):
        global _derived
        first(self, *args, **kwargs)
        try:
            inputs = self._inputs()
            if any(getattr(one, "_stoker_evaluation", False) for one in inputs) and _eager():
                self._stoker_evaluation = True
                _derived = self
        except Exception:  # what it is made of is no public part of TensorFlow
            pass

    module.DatasetV2.__init__ = __init__


def _eager():
    import tensorflow as tf

    return tf.executing_eagerly()


def write(assignment):
    """Writes what the model answers, once the training is over."""
    if not _asked:
        return
    path = assignment["predictions"]["memory_path"]
    head, rows = {"labels": _labels}, []
    try:
        rows = _answers(assignment, head)
    except Nothing as reason:
        head["note"] = str(reason)
    except Exception as error:
        head["note"] = f"the model in memory can't be asked: {type(error).__name__}"
        said.note(f"the model in memory is not compared with its files: {type(error).__name__}: {str(error)[:2000]}")
    if leaving.stopping():
        leaving.go()
    try:
        with open(path, "w", encoding="utf-8") as file:
            for line in [head, *rows]:
                file.write(json.dumps(line, allow_nan=False) + "\n")
    except (OSError, ValueError) as error:
        said.note(f"the model in memory is not compared with its files: {error}")
        if os.path.exists(path):
            os.remove(path)


def _answers(assignment, head):
    """The lines of all rows; head gets what is known of them together."""
    import tensorflow as tf

    if _model is None:
        if exports.last() is not None and not exports.learned(exports.last()):
            raise Nothing(_emphasized("no training was seen: neither fit of Keras nor a step of its optimizers, and no weights were read: the files "
                                  "contain the model's initial weights, unless the module sets weights in another way"))
        raise Nothing("no model was seen: the module calls neither Keras's fit nor stoker.report(model=...)")
    sources = [source for source in _sources if _readable(tf, source)]
    if not sources and _derived is not None and (assignment.get("transformed") or not assignment.get("transform_graph_path")):
        sources = [_derived]
    if not sources:
        raise Nothing("the model was not evaluated on a dataset or on arrays: pass one with stoker.report(model=..., data=...)")
    head.update(weights=_compared(assignment), precision=_precision(_model))
    if head["weights"] == "other":
        rows = _answers_of_files(tf, sources, assignment, head)
        if rows:
            return rows
    return _answers_to(tf, sources, assignment, head)


def _answers_of_files(tf, sources, assignment, head):
    """The lines of all rows by the model that the module wrote to the files, in the state that it had then; none where that can't be asked."""
    global _model
    trained, arrays = _model, _arrays_of_files(assignment)
    model, numbers = exports.written(set(arrays))
    if model is None:
        return []
    weights, changed = _weights_of(model), False
    kept = [weight.numpy() for weight in weights]
    try:
        if [_fingerprint(array) for array in kept] != numbers:
            changed = True
            for weight, number in zip(weights, numbers):
                weight.assign(arrays[number]())
        _model = model
        rows = _answers_to(tf, sources, assignment, head)
    except Exception as error:
        said.note(f"the model that was saved last can't predict from the data of the model that was trained last: {type(error).__name__}")
        return []
    finally:
        _model = trained
        if changed:
            for weight, array in zip(weights, kept):
                weight.assign(array)
    head.update(weights="written", precision=_precision(model), remark="the files hold other weights than the model that was trained last: "
                "compared with the model that was written, as it was then")
    if not exports.learned(model):
        head["remark"] = _emphasized("the model that was written is not the one that was trained, and was never seen to be trained or to read "
                                 "weights: the files may hold the weights that it began with")
    return rows


def _emphasized(text):
    said.note(f"WARNING: {text}")
    return text


def _answers_to(tf, sources, assignment, head):
    if _shared(_model):
        raise Nothing("the model has variables that several workers share, as a batch normalization has: train with one worker so that it can be compared")
    _refuse_random(tf, sources)
    _find_columns(tf, sources[0], assignment)
    end, rows, whole = time.monotonic() + SECONDS, [], False
    for source in sources:
        found, whole = _of_source(tf, source, assignment, end)
        rows += found
    head["epoch"] = whole and len(sources) == 1
    if not rows:
        raise Nothing("the data that the model was evaluated on have no rows")
    return [line for line, _ in rows] + _synthetic(tf, sources[0], assignment, head)


def _synthetic(tf, source, assignment, head):
    """The lines of rows that stand in for raw ones: the model is given their transformed features in the form that the source's have."""
    path = assignment["predictions"].get("synthetic_path")
    x = next((x for x, _ in _batches(tf, source)), None)
    if not path:
        return []
    if not isinstance(x, dict) and not _columns:
        head["synthetic_note"] = "the model is given no named features, and which of them its numbers are is not certain"
        return []
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file):
            features = json.loads(text)
            try:
                given = _side_by_side(tf, x, features) if _columns else {name: _like(tf, part, features[name]) for name, part in x.items()}
                (line, _), = _rows(tf, given, None)
            except Exception as error:  # that row is not compared
                said.note(f"the model in memory can't predict synthetic row {number}: {type(error).__name__}: {str(error)[:500]}")
                continue
            lines.append({**line, "synthetic": number})
    return lines


def _side_by_side(tf, x, features):
    """A batch of one row with the features in the columns that they have in another batch."""
    widths = {name: sum(1 for other, _ in _columns if other == name) for name, _ in _columns}
    if any(len(features[name]) != width for name, width in widths.items()):
        raise ValueError("a feature has a different number of values")
    return tf.constant([[float(features[name][number]) for name, number in _columns]], x.dtype)


def _find_columns(tf, source, assignment):
    """Finds out what the columns are of the one tensor that a model is given, if rows without raw examples are to be compared."""
    global _columns
    _columns = None
    x = next((x for x, _ in _batches(tf, source)), None)
    if not assignment["predictions"].get("synthetic_path") or not isinstance(x, tf.Tensor) or x.shape.rank != 2 or not x.dtype.is_floating:
        return
    rows = []
    try:
        for x, _ in _batches(tf, source):
            rows += x.numpy().astype("float32").tolist()
            if len(rows) >= FEW:
                break
        _columns = _matched(rows, _numbers_of_records(tf, assignment["eval_files"]))
    except Exception as error:
        said.note(f"the columns of the model's input are not known: {type(error).__name__}: {str(error)[:500]}")


def _matched(rows, records):
    """The number of a feature that each column of some rows is; None where that isn't certain.

    records has the numbers of all records by feature and place: {("age", 0): [...]}. A column is one of them by its values alone if they
    are fractions of many values: no other number has the same ones by chance. Of such a column on its own the others are known by the
    records that rows are: each must have the value of its row there, and have more than one. What is true of two numbers is not certain.
    """
    import numpy as np

    rows = np.array(rows, dtype=np.float32)
    records = {key: np.array(values, dtype=np.float32) for key, values in records.items()}
    if not records or not len(rows):
        return None
    found = [[key for key, values in records.items() if np.isin(column, values).all()] for column in rows.T]
    sure = [i for i, column in enumerate(rows.T) if len(found[i]) == 1 and len(np.unique(column[column != np.floor(column)])) >= FEWEST]
    if not sure:
        return None
    by_key = {}
    for number, key in enumerate(zip(*(records[found[i][0]].tolist() for i in sure))):
        by_key.setdefault(key, []).append(number)
    known = [by_key.get(key, []) for key in zip(*(rows[:, i].tolist() for i in sure))]
    alone = [i for i, numbers in enumerate(known) if len(numbers) == 1]
    if not all(known) or len({known[i][0] for i in alone}) < FEWEST:
        return None
    at = np.array([known[i][0] for i in alone])
    columns = []
    for i, column in enumerate(rows.T):
        if i not in sure:
            found[i] = [key for key in found[i] if (records[key][at] == column[alone]).all()]
            if len(found[i]) != 1 or len(np.unique(column[alone])) < 2:
                return None
        columns.append(found[i][0])
    whole = {name: [number for other, number in records if other == name] for name, _ in columns}
    if any(sorted(number for other, number in columns if other == name) != numbers for name, numbers in whole.items()):
        return None  # a part of a feature, or one that is there twice
    return columns


def _numbers_of_records(tf, patterns):
    """The numbers of all features that have as many in each record, by feature and place; none where there are too many."""
    lists, count, size = {}, 0, 0
    for path in (path for pattern in patterns for path in sorted(glob.glob(pattern))):
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        for record in tf.data.TFRecordDataset(path, compression_type="GZIP" if packed else ""):
            count += 1
            for name, feature in tf.train.Example.FromString(record.numpy()).features.feature.items():
                values = feature.float_list.value or feature.int64_list.value
                size += len(values)
                lists.setdefault(name, []).append(list(values))
            if count > MOST_RECORDS or size > MOST_NUMBERS:
                return {}
    return {(name, i): [values[i] for values in of]
            for name, of in lists.items() if len(of) == count and len({len(values) for values in of}) == 1 for i in range(len(of[0]))}


def _like(tf, part, values):
    """A batch of one row with these values, of the type and the form of another batch."""
    values = [base64.b64decode(value["b64"]) if isinstance(value, dict) else value for value in values]
    if part.dtype.is_floating:
        values = [float(value) for value in values]
    flat = tf.constant(values, part.dtype, shape=[len(values)])
    if isinstance(part, tf.SparseTensor) and part.shape.rank == 2:
        indices = tf.constant([[0, i] for i in range(len(values))], tf.int64, shape=[len(values), 2])
        return tf.SparseTensor(indices, flat, [1, len(values)])
    if isinstance(part, tf.RaggedTensor) and part.shape.rank == 2:
        return tf.RaggedTensor.from_row_lengths(flat, [len(values)])
    return tf.reshape(flat, [1, *part.shape[1:]])


def _shared(model):
    """Whether a model has variables that all workers read together: to read them in this one alone would stop or break the others."""
    workers = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {})
    if sum(len(tasks) for tasks in workers.values()) < 2:
        return False
    return any(getattr(getattr(weight, "synchronization", None), "name", "") == "ON_READ" for weight in _weights_of(model))


def _readable(tf, source):
    return isinstance(source, tf.data.Dataset) or _arrays(source)


def _arrays(source):
    """Whether a source is x, or (x, y), with rows in memory."""
    x = source[0] if isinstance(source, (list, tuple)) and source else source
    parts = list(x.values()) if isinstance(x, dict) else [x]
    return bool(parts) and all(hasattr(part, "shape") and hasattr(part, "__getitem__") and len(part.shape) for part in parts)


def _batches(tf, source):
    """What a source holds, batch by batch, as (x, y)."""
    if isinstance(source, tf.data.Dataset):
        for element in source:
            yield _unpacked(element)
        return
    x, y = _unpacked(source)
    rows = len(next(iter(x.values())) if isinstance(x, dict) else x)
    for first in range(0, rows, 64):
        yield tf.nest.map_structure(lambda part: tf.convert_to_tensor(part[first:first + 64]), (x, y))


def _unpacked(element):
    if isinstance(element, tuple):
        return element[0], element[1] if len(element) > 1 else None
    return element, None


def _of_source(tf, source, assignment, end):
    """Rows of a source, each with the outputs as numbers, and whether they are all of it, each once."""
    rows, over = [], False
    count = _records(tf, assignment["eval_files"])
    most = max(FEW, 2 * count) if count <= MANY else FEW  # twice: to see that they come again
    for x, y in _batches(tf, source):
        rows += _rows(tf, x, y)
        if len(rows) >= most or time.monotonic() > end or leaving.stopping():
            break
    else:
        over = True
    if over:
        again = [row for x, y in _batches(tf, source) for row in _rows(tf, x, y)] if len(rows) <= MANY else []
        return rows[:MANY], bool(again) and _alike(rows, again)
    if 0 < count <= MANY and len(rows) >= 2 * count:
        return rows[:count], _alike(rows[:count], rows[count:2 * count])
    return rows[:MANY], False


def _records(tf, patterns):
    """How many records files hold, if they are few; a larger number than MANY else."""
    count = 0
    for path in (path for pattern in patterns for path in sorted(glob.glob(pattern))):
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        for _ in tf.data.TFRecordDataset(path, compression_type="GZIP" if packed else ""):
            count += 1
            if count > MANY:
                return count
    return count


def _alike(some, others):
    """Whether two sets of rows have the same answers, in whatever order."""
    import numpy as np

    if len(some) != len(others):
        return False
    a, b = (np.sort(np.array([numbers for _, numbers in rows], dtype=np.float64), axis=0) for rows in (some, others))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True))


def _rows(tf, x, y):
    """The lines of a batch, each with all its numbers."""
    outputs = _outputs(tf, _called(tf, x))
    features = {name: _lists(tf, part) for name, part in x.items()} if isinstance(x, dict) else _named(x)
    labels = y if isinstance(y, dict) else {} if y is None else {"": y}
    labels = {name: _lists(tf, part) for name, part in labels.items()}
    count = min(len(rows) for rows in outputs.values())
    lines = []
    for i in range(count):
        line = {key: {name: rows[i] for name, rows in part.items() if i < len(rows) and len(rows[i]) <= MOST_VALUES}
                for key, part in (("features", features), ("label", labels), ("outputs", outputs))}
        numbers = [_number(value) for name in sorted(line["outputs"]) for value in line["outputs"][name]]
        lines.append((line, numbers))
    return lines


def _named(x):
    """The features of the rows of one tensor, whose columns are known or else have no names."""
    named = {}
    for name, number in sorted(_columns or []):
        named.setdefault(name, []).append(x.numpy()[:, _columns.index((name, number))])
    return {name: [_values(row) for row in zip(*columns)] for name, columns in named.items()}


def _number(value):
    return float(value) if isinstance(value, (int, float)) else {"NaN": float("nan")}.get(value, 0.0)


def _called(tf, x):
    """What the model answers, on the processor that will serve it in the check."""
    with tf.device("/CPU:0"):
        try:
            return _model(x, training=False)
        except TypeError:
            return _model(x)


def _outputs(tf, answer):
    """The rows of each output by name; one without a name is the only one."""
    if isinstance(answer, dict):
        named = dict(answer)
    elif isinstance(answer, (list, tuple)):
        names = getattr(_model, "output_names", None) or []
        if len(names) != len(answer):
            names = [str(i) for i in range(len(answer))]
        named = dict(zip(names, answer))
    else:
        named = {"": answer}
    for name, part in named.items():
        if not isinstance(part, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)) or not part.shape.rank:
            raise Nothing(f"output {name!r} of the model in memory has type {type(part).__name__}, expected a tensor with a batch dimension")
    return {str(name): _lists(tf, part) for name, part in named.items()}


def _lists(tf, part):
    """The values of each row as JSON has them."""
    import numpy as np

    if isinstance(part, tf.SparseTensor):
        rows = [[] for _ in range(int(part.dense_shape[0]))]
        for row, value in zip(part.indices.numpy()[:, 0].tolist(), _values(part.values.numpy())):
            rows[row].append(value)
        return rows
    if isinstance(part, tf.RaggedTensor):
        return [_values((row.flat_values if isinstance(row, tf.RaggedTensor) else row).numpy()) for row in part]
    array = part.numpy() if hasattr(part, "numpy") else np.asarray(part)
    if not array.ndim:
        return []
    return [_values(row) for row in array]


def _values(array):
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    if flat.dtype.kind in "OSU":
        return [_text(value) for value in flat.tolist()]
    if flat.dtype.kind in "biu":
        return [int(value) for value in flat.tolist()]
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [words.get(str(value), value) for value in flat.astype(np.float64).tolist()]


def _text(value):
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def _refuse_random(tf, sources):
    """Stops at a model that has another answer each time: what it says is nothing to compare with."""
    for x, y in _batches(tf, sources[0]):
        if not _alike(_rows(tf, x, y), _rows(tf, x, y)):
            raise Nothing("the model in memory gives different predictions for the same rows")
        return


def _precision(model):
    """How coarse the numbers are that the model computes in; 0 for float32 and finer ones."""
    layers = [model, *(getattr(model, "layers", None) or [])]
    return max(EPSILON.get(str(getattr(layer, "compute_dtype", "")), 0.0) for layer in layers)


def _weights_of(model):
    return list(getattr(model, "weights", None) or getattr(model, "variables", None) or ())


def _numbers(model):
    """A number for each weight of a model, which those of the same values alone share; None where they are too large
    or can't be read here."""
    if _shared(model):
        return None
    arrays = [weight.numpy() for weight in _weights_of(model)]
    if sum(array.nbytes for array in arrays) > MOST_WEIGHTS:
        return None
    return [_fingerprint(array) for array in arrays]


def _weights(model):
    numbers = _numbers(model)
    return None if numbers is None else set(numbers)


def _fingerprint(array):
    return f"{array.shape} {array.dtype} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _arrays_of_files(assignment):
    """How to read each array of the files, by its number; none where there are no files."""
    import tensorflow as tf

    prefix = os.path.join(assignment["serving_model_dir"], "variables", "variables")
    if not os.path.exists(prefix + ".index"):
        return {}
    reader = tf.train.load_checkpoint(prefix)
    names = [name for name in reader.get_variable_to_shape_map() if name != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    return {_fingerprint(reader.get_tensor(name)): functools.partial(reader.get_tensor, name) for name in names}


def _compared(assignment):
    """Whether the files hold the weights of the model in memory (same), or those it had before it was trained (before), or
    neither (other); "" where that isn't known."""
    own, written = _weights(_model), _arrays_of_files(assignment).keys()
    if not own or not written:
        return ""
    if own <= written:
        return "same"
    before = _untrained(_model)
    return "before" if before and before <= written else "other"
