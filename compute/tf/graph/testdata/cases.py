# One small model for each op that models have and graphs of tf.Transform don't, saved and called by TensorFlow itself.
import os
import tempfile

f32, i32, i64 = tf.float32, tf.int32, tf.int64
rng = np.random.default_rng(5)


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def example(**features):
    def feature(v):
        if isinstance(v[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))
        if isinstance(v[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=v))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=v))

    made = {k: feature(v) for k, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString(deterministic=True)


records = np.array([
    example(a=[1.5], b=[1, 2, 3], s=[b"x"], t=[b"p", b"q"], g=[7, 8]),
    example(s=[b""], b=[4], a=[-0.25], g=[9]),
    example(a=[1e-40], s=[b"\xff\x00"], h=[0.5, 0.75]),
], object)


def parse(x):
    parsed = tf.io.parse_example(x, {
        "a": tf.io.FixedLenFeature([1], f32),
        "s": tf.io.FixedLenFeature([], tf.string, "absent"),
        "h": tf.io.FixedLenFeature([2], f32, [0.5, 0.5]),
        "b": tf.io.VarLenFeature(i64),
        "t": tf.io.VarLenFeature(tf.string),
        "g": tf.io.RaggedFeature(i64, row_splits_dtype=i32),
        "k": tf.io.RaggedFeature(f32, row_splits_dtype=i64),
    })
    out = {}
    for name, v in parsed.items():
        if isinstance(v, tf.SparseTensor):
            out |= {name + "i": v.indices, name + "v": v.values, name + "d": v.dense_shape}
        elif isinstance(v, tf.RaggedTensor):
            out |= {name + "v": v.values, name + "r": v.row_splits}
        else:
            out[name] = v
    return out


def sequence(steps, **context):
    def feature_list(values):
        made = [tf.train.Feature(float_list=tf.train.FloatList(value=v)) if v and isinstance(v[0], float) else
                tf.train.Feature(int64_list=tf.train.Int64List(value=v)) for v in values]
        return tf.train.FeatureList(feature=made)

    made = tf.train.SequenceExample(
        context=tf.train.Example.FromString(example(**context)).features,
        feature_lists=tf.train.FeatureLists(feature_list={k: feature_list(v) for k, v in steps.items()}))
    return made.SerializeToString(deterministic=True)


sequences = np.array([
    sequence({"x": [[1.5, 2.0], [0.5, -1.0]], "n": [[1, 2], [], [3]], "g": [[4], [5, 6]]}, a=[0.25], b=[1, 2]),
    sequence({"x": [[-0.5, 1e-40]], "n": [], "g": []}, a=[1.0], s=[b"x"]),
], object)


def parse_sequence(x):
    context, lists, lengths = tf.io.parse_sequence_example(
        x, {"a": tf.io.FixedLenFeature([1], f32), "s": tf.io.FixedLenFeature([], tf.string, "absent"), "b": tf.io.VarLenFeature(i64)},
        {"x": tf.io.FixedLenSequenceFeature([2], f32), "n": tf.io.VarLenFeature(i64), "g": tf.io.RaggedFeature(i64, row_splits_dtype=i64)})
    out = {"lx": lengths["x"]}
    for name, v in {**context, **lists}.items():
        if isinstance(v, tf.SparseTensor):
            out |= {name + "i": v.indices, name + "v": v.values, name + "d": v.dense_shape}
        elif isinstance(v, tf.RaggedTensor):
            out |= {name + "v": v.flat_values} | {f"{name}r{i}": r for i, r in enumerate(v.nested_row_splits)}
        else:
            out[name] = v
    return out


def parse_1(x):
    raw = tf.raw_ops.ParseExample(
        serialized=x, names=tf.constant([], tf.string), sparse_keys=["b", "t"], dense_keys=["a", "h"],
        dense_defaults=[tf.constant([], f32), tf.constant([0.5, 0.5], f32)], sparse_types=[i64, tf.string],
        dense_shapes=[[1], [2]])
    names = ["indices", "values", "shapes", "dense"]
    return {f"{n}{i}": t for n, group in zip(names, raw) for i, t in enumerate(group)}


class Case(tf.Module):
    def __init__(self, call, *inputs, variables=()):
        super().__init__()
        self.state = [tf.Variable(v) for v in variables]
        self.call, self.inputs = call, [np.asarray(v) for v in inputs]

    def save(self, folder):
        specs = [tf.TensorSpec([None] * v.ndim, v.dtype if v.dtype.kind not in "SO" else tf.string, name=f"x{i}")
                 for i, v in enumerate(self.inputs)]

        def run(*args):
            got = self.call(*args, *self.state)
            return got if isinstance(got, dict) else {"y": got}

        traced = tf.function(run, input_signature=specs, autograph=False)
        tf.saved_model.save(self, folder, signatures=traced)
        tensors = [tf.constant(v, tf.string) if v.dtype.kind in "SO" else tf.constant(v) for v in self.inputs]
        return {k: v.numpy() for k, v in traced(*tensors).items()}


seg = dict(i=np.array([2, 0, 1, 1], np.int64), s=np.array([0, 0, 2, 2], np.int32))
sparse = [np.array([[0, 1], [2, 0], [2, 3]], np.int64), floats(3), np.array([3, 4], np.int64), floats(4, 2)]
raw = tf.raw_ops
CASES = {
    "BatchMatMulV2": Case(lambda a, b: tf.matmul(a, b), floats(2, 1, 3, 4), floats(5, 4, 2)),
    "BatchMatMulV2 turned": Case(lambda a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True), floats(2, 4, 3), floats(2, 2, 4)),
    "BatchMatMul": Case(lambda a, b: raw.BatchMatMul(x=a, y=b), floats(2, 3, 4), floats(2, 4, 2)),
    "MatMul": Case(lambda a, b: tf.matmul(a, b, transpose_b=True), floats(7, 33), floats(5, 33)),
    "BiasAdd": Case(lambda a, b: tf.nn.bias_add(a, b), floats(2, 3, 4), floats(4)),
    "Gather": Case(lambda a, i: raw.Gather(params=a, indices=i), floats(4, 3), np.array([[0, 3], [1, 1]], np.int64)),
    "LeakyRelu": Case(lambda a: tf.nn.leaky_relu(a) + tf.nn.leaky_relu(a, 0.3), floats(3, 4)),
    "LogSoftmax": Case(lambda a: tf.nn.log_softmax(a), 5 * floats(3, 4)),
    "ParseExampleV2": Case(parse, records),
    "ParseExample": Case(parse_1, records),
    "ParseSequenceExampleV2": Case(parse_sequence, sequences),
    "ReadVariableOp": Case(lambda a, v: a + v, floats(2, 3), variables=[floats(3)]),
    "ReadVariableOp of integers": Case(lambda a, v, w: tf.cast(v + a, i64) + w, np.array([1, 2], np.int32),
                                       variables=[np.array([3, 4], np.int32), np.array([5, 6], np.int64)]),
    "ReadVariableOp in a loop": Case(
        lambda n, v: tf.while_loop(lambda i, x: i < n[0], lambda i, x: (i + 1, x * v + v), [0, tf.ones([2])])[1],
        np.array([3], np.int32), variables=[floats(2)]),
    "ResourceGather": Case(lambda i, v: raw.ResourceGather(resource=v.handle, indices=i, dtype=f32),
                           np.array([[0, 3], [1, 1]], np.int32), variables=[floats(4, 3)]),
    "Select of rows": Case(lambda a, b: raw.Select(condition=a[:, 0] > 0, x=a, y=b), floats(4, 3), floats(4, 3)),
    "Select": Case(lambda a, b: raw.Select(condition=a > b, x=a, y=b), floats(4, 3), floats(4, 3)),
    "SparseSegmentMean": Case(lambda a, i, s: raw.SparseSegmentMean(data=a, indices=i, segment_ids=s), floats(4, 3), seg["i"], seg["s"]),
    "SparseSegmentSqrtN": Case(lambda a, i, s: raw.SparseSegmentSqrtN(data=a, indices=i, segment_ids=s), floats(4, 3), seg["i"], seg["s"]),
    "SparseSegmentSum": Case(lambda a, i, s: raw.SparseSegmentSum(data=a, indices=i, segment_ids=s), floats(4, 3), seg["i"], seg["s"]),
    "SparseSegmentMeanWithNumSegments": Case(
        lambda a, i, s: raw.SparseSegmentMeanWithNumSegments(data=a, indices=i, segment_ids=s, num_segments=5), floats(4, 3), seg["i"], seg["s"]),
    "SparseSegmentSqrtNWithNumSegments": Case(
        lambda a, i, s: raw.SparseSegmentSqrtNWithNumSegments(data=a, indices=i, segment_ids=s, num_segments=5), floats(4, 3), seg["i"], seg["s"]),
    "SparseSegmentSumWithNumSegments": Case(
        lambda a, i, s: raw.SparseSegmentSumWithNumSegments(data=a, indices=i, segment_ids=s, num_segments=5), floats(4, 3), seg["i"], seg["s"]),
    "SparseReshape": Case(lambda i, s, t: dict(zip("is", raw.SparseReshape(input_indices=i, input_shape=s, new_shape=t))),
                          sparse[0], sparse[2], np.array([2, -1, 3], np.int64)),
    "SparseTensorDenseMatMul": Case(
        lambda i, v, s, b: raw.SparseTensorDenseMatMul(a_indices=i, a_values=v, a_shape=s, b=b), *sparse),
}


def encode(v):
    if v.dtype.kind in "SO":
        return {"dtype": "string", "shape": v.shape, "strings": [bytes(b) for b in v.reshape(-1)]}
    return {"dtype": str(v.dtype), "shape": v.shape, "bytes": v.astype(v.dtype.newbyteorder("<")).tobytes()}


def check(input):
    answers = {}
    for number, (name, case) in enumerate(CASES.items()):
        folder = os.path.join(input["folder"], str(number))
        want = case.save(folder)
        answers[name] = {"folder": folder, "inputs": [encode(v) for v in case.inputs], "outputs": {k: encode(v) for k, v in want.items()}}
    return answers
