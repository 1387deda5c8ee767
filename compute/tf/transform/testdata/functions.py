"""Preprocessing functions that together use what tf.Transform offers: its mappers, its analyzers, and the TensorFlow ops that
users put beside them. Each has the raw features it takes and the function, by the name of the graph that is made of it."""
import tensorflow as tf
import tensorflow_transform as tft

FUNCTIONS = {}


def graph(*features):
    """Registers a function under its own name."""
    def register(function):
        FUNCTIONS[function.__name__] = (features, function)
        return function
    return register


OLD = {}  # those that are also made as a graph of TensorFlow 1, without functions and objects: force_tf_compat_v1


def old(function):
    """Registers a function that has a name in FUNCTIONS to be made so too."""
    OLD["old_" + function.__name__] = FUNCTIONS[function.__name__]
    return function


def dense(sparse, default):
    return tf.squeeze(tf.sparse.to_dense(tf.SparseTensor(
        sparse.indices, sparse.values, [sparse.dense_shape[0], 1]), default), axis=1)


# scaling


@graph("x", "v", "n", "xs")
def scale_by_min_max(f):
    return {"x": tft.scale_by_min_max(f["x"], -1.0, 3.0), "v": tft.scale_by_min_max(f["v"], elementwise=True),
            "n": tft.scale_by_min_max(f["n"]), "xs": tft.scale_by_min_max(f["xs"])}


@graph("x", "v", "n", "xs", "rx")
def scale_to_0_1(f):
    return {"x": tft.scale_to_0_1(f["x"]), "v": tft.scale_to_0_1(f["v"], elementwise=True), "n": tft.scale_to_0_1(f["n"]),
            "xs": tft.scale_to_0_1(f["xs"]), "rx": tft.scale_to_0_1(f["rx"])}


@old
@graph("x", "v", "n", "xs", "rx")
def scale_to_z_score(f):
    return {"x": tft.scale_to_z_score(f["x"]), "v": tft.scale_to_z_score(f["v"], elementwise=True),
            "n": tft.scale_to_z_score(f["n"]), "xs": tft.scale_to_z_score(f["xs"]), "rx": tft.scale_to_z_score(f["rx"])}


@graph("x", "v", "xs")
def scale_to_gaussian(f):
    return {"x": tft.scale_to_gaussian(f["x"]), "v": tft.scale_to_gaussian(f["v"], elementwise=True),
            "xs": tft.scale_to_gaussian(f["xs"])}


@graph("x", "n", "s")
def scale_by_min_max_per_key(f):
    return {"x": tft.scale_by_min_max_per_key(f["x"], f["s"], -2.0, 2.0), "n": tft.scale_by_min_max_per_key(f["n"], f["s"])}


@graph("x", "s", "xs", "ss")
def scale_to_0_1_per_key(f):
    return {"x": tft.scale_to_0_1_per_key(f["x"], f["s"], key_vocabulary_filename=""),
            "xs": tft.scale_to_0_1_per_key(f["xs"], tf.SparseTensor(f["xs"].indices, tf.strings.as_string(
                tf.cast(f["xs"].values > 0, tf.int32)), f["xs"].dense_shape))}


@graph("x", "s")
def scale_to_z_score_per_key(f):
    return {"x": tft.scale_to_z_score_per_key(f["x"], f["s"]),
            "large": tft.scale_to_z_score_per_key(f["x"], f["s"], key_vocabulary_filename="keys")}


# buckets


@old
@graph("x", "n", "xs", "v", "rx")
def bucketize(f):
    return {"x": tft.bucketize(f["x"], 4), "n": tft.bucketize(f["n"], 5), "xs": tft.bucketize(f["xs"], 3),
            "v": tft.bucketize(f["v"], 4, elementwise=True), "rx": tft.bucketize(f["rx"], 3)}


@graph("x", "s", "xs")
def bucketize_per_key(f):
    return {"x": tft.bucketize_per_key(f["x"], f["s"], 4)}


@graph("x", "n", "xs")
def apply_buckets(f):
    return {"x": tft.apply_buckets(f["x"], [[-1.0, 0.0, 0.5, 2.0]]), "n": tft.apply_buckets(f["n"], [[-10, 0, 7]]),
            "xs": tft.apply_buckets(f["xs"], [[0.0, 1.0]]),
            "quantiles": tft.apply_buckets(f["x"], tft.quantiles(f["x"], 6, epsilon=0.01))}


@graph("x", "n", "xs")
def apply_buckets_with_interpolation(f):
    return {"x": tft.apply_buckets_with_interpolation(f["x"], tft.quantiles(f["x"], 5, epsilon=0.01)),
            "n": tft.apply_buckets_with_interpolation(f["n"], [[-10, 0, 7]]),
            "xs": tft.apply_buckets_with_interpolation(f["xs"], [[0.0, 1.0, 2.0]])}


@graph("x")
def one_hot_of_buckets(f):
    return {"x": tf.one_hot(tft.bucketize(f["x"], 4), 5, on_value=2.0, off_value=-1.0)}


# vocabularies


@graph("s", "ss", "n")
def vocabulary(f):
    return {"s": tft.compute_and_apply_vocabulary(f["s"]), "ss": tft.compute_and_apply_vocabulary(f["ss"]),
            "n": tft.compute_and_apply_vocabulary(f["n"])}


@graph("s", "ss", "n", "rs")
def vocabulary_with_buckets(f):
    return {"s": tft.compute_and_apply_vocabulary(f["s"], num_oov_buckets=3, top_k=4),
            "ss": tft.compute_and_apply_vocabulary(f["ss"], num_oov_buckets=1, vocab_filename="words"),
            "n": tft.compute_and_apply_vocabulary(f["n"], num_oov_buckets=5, top_k=3),
            "rs": tft.compute_and_apply_vocabulary(f["rs"], num_oov_buckets=2, frequency_threshold=3)}


@graph("s")
def vocabulary_options(f):
    reserved = tft.compute_and_apply_vocabulary(f["s"], reserved_tokens=["<pad>", "<unk>"], default_value=1)
    return {"default": tft.compute_and_apply_vocabulary(f["s"], default_value=-7, top_k=3, fingerprint_shuffle=True),
            "frequency": tft.compute_and_apply_vocabulary(f["s"], store_frequency=True), "reserved": reserved}


@graph("s")
def vocabulary_in_records(f):
    return {"s": tft.compute_and_apply_vocabulary(f["s"], file_format="tfrecord_gzip", num_oov_buckets=2),
            "default": tft.compute_and_apply_vocabulary(f["s"], file_format="tfrecord_gzip", vocab_filename="records")}


@old
@graph("s", "ss", "x")
def apply_vocabulary(f):
    words = tft.vocabulary(tf.concat([f["s"], f["ss"].values], 0), weights=None)

    def lookup(x, name):
        table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
            name, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 4)
        return table.lookup(x), table.size()

    return {"s": tft.apply_vocabulary(f["s"], words), "ss": tft.apply_vocabulary(f["ss"], words, num_oov_buckets=2),
            "own": tft.apply_vocabulary(f["s"], words, lookup_fn=lookup)}


@graph("s", "n")
def tables_in_the_graph(f):
    words = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b", ""], [1.5, 2.5, 3.5]), -1.0)
    numbers = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
        tf.constant([0, 1, -1], tf.int64), ["zero", "one", "minus one"]), "many")
    return {"s": words.lookup(f["s"]), "n": numbers.lookup(f["n"]), "size": tf.zeros_like(f["n"]) + words.size()}


@graph("xo", "so")
def vocabulary_of_missing(f):
    return {"s": tft.compute_and_apply_vocabulary(dense(f["so"], ""), num_oov_buckets=10),
            "x": tft.bucketize(dense(f["xo"], 0.0), 5)}


# text


@graph("t")
def ngrams(f):
    words = tf.compat.v1.strings.split(tf.squeeze(f["t"], 1))
    return {"t": tft.ngrams(words, (1, 3), " "), "one": tft.ngrams(words, (1, 1), "")}


@graph("t")
def ngrams_vocabulary(f):
    words = tf.compat.v1.strings.split(tf.squeeze(f["t"], 1), sep=" ")
    return {"t": tft.compute_and_apply_vocabulary(tft.ngrams(words, (1, 2), "_"), top_k=20)}


@graph("t")
def split_as_before(f):
    lines = tf.squeeze(f["t"], 1)
    split = lambda separators, skip: tf.raw_ops.StringSplit(input=lines, delimiter=separators, skip_empty=skip)
    return {name: tf.SparseTensor(*split(*how)) for name, how in
            {"at": (" \t", True), "all": (" \t", False), "bytes": ("", True)}.items()}


@graph("t")
def bag_of_words(f):
    return {"t": tft.bag_of_words(tf.compat.v1.strings.split(tf.squeeze(f["t"], 1)), (1, 2), " ")}


@graph("t")
def tfidf(f):
    words = tft.compute_and_apply_vocabulary(tf.compat.v1.strings.split(tf.squeeze(f["t"], 1)), num_oov_buckets=1, top_k=6)
    index, weight = tft.tfidf(words, 7)
    return {"index": index, "weight": weight}


@graph("t")
def tfidf_not_smooth(f):
    words = tft.compute_and_apply_vocabulary(tf.compat.v1.strings.split(tf.squeeze(f["t"], 1)), default_value=6, top_k=6)
    index, weight = tft.tfidf(words, 7, smooth=False)
    return {"index": index, "weight": weight}


@graph("ss", "rs")
def word_count(f):
    return {"ss": tft.word_count(f["ss"]), "rs": tft.word_count(f["rs"])}


@graph("ss")
def deduplicate_tensor_per_row(f):
    return {"ss": tft.deduplicate_tensor_per_row(f["ss"])}


@graph("v")
def deduplicate_dense_rows(f):
    return {"v": tft.deduplicate_tensor_per_row(tf.round(f["v"]))}


@graph("s", "ss", "rs")
def hash_strings(f):
    return {"s": tft.hash_strings(f["s"], 10), "ss": tft.hash_strings(f["ss"], 1000), "rs": tft.hash_strings(f["rs"], 7),
            "keyed": tft.hash_strings(f["s"], 100, key=[123, 456])}


@graph("s", "t")
def strings(f):
    s = f["s"]
    return {
        "lower": tf.strings.lower(s), "upper": tf.strings.upper(s), "strip": tf.strings.strip(s),
        "length": tf.cast(tf.strings.length(s), tf.int64), "substr": tf.strings.substr(s, 0, 0),
        "join": tf.strings.join([s, "x", tf.squeeze(f["t"], 1)], "_"),
        "replace": tf.strings.regex_replace(s, "[0-9]+", "#"), "first": tf.strings.regex_replace(s, "([a-z])(.)", r"\2\1", False),
        "match": tf.cast(tf.strings.regex_full_match(s, "[a-z]*"), tf.int64),
        "hash": tf.strings.to_hash_bucket_fast(s, 97), "legacy": tf.strings.to_hash_bucket(s, 97),
        "equal": tf.cast(tf.equal(s, "a"), tf.int64)}


@graph("s")
def strings_utf8(f):
    s = tf.strings.regex_replace(f["s"], r"[^\x00-\x7F]", "?")
    return {"lower": tf.strings.lower(s, encoding="utf-8"), "length": tf.cast(tf.strings.length(s, unit="UTF8_CHAR"), tf.int64),
            "s": s}


@graph("n", "x", "s")
def numbers_and_strings(f):
    digits = tf.strings.regex_replace(f["s"], "[^0-9]", "")
    digits = tf.where(tf.equal(tf.strings.length(digits), 0), tf.fill(tf.shape(digits), "-1"), tf.strings.substr(digits, 0, 3))
    return {
        "n": tf.strings.as_string(f["n"]), "x": tf.strings.as_string(f["x"]), "short": tf.strings.as_string(f["x"], shortest=True),
        "scientific": tf.strings.as_string(f["x"], scientific=True), "places": tf.strings.as_string(f["x"], precision=2),
        "padded": tf.strings.as_string(f["n"], width=6, fill="0"), "wide": tf.strings.as_string(f["x"], width=12, precision=3),
        "bool": tf.strings.as_string(f["x"] > 0), "int": tf.strings.to_number(digits, tf.int64),
        "float": tf.strings.to_number(tf.strings.join([digits, ".25e1"]), tf.float32)}


@graph("s")
def to_number(f):
    return {"s": tf.strings.to_number(f["s"])}


@graph("s", "n", "x")
def crossed(f):
    year = tf.strings.as_string(f["n"])
    bucket = tf.strings.as_string(tft.apply_buckets(f["x"], [[0.0, 1.0]]))
    joined = tf.strings.join([tf.strings.lower(f["s"]), year, bucket], separator="_X_")
    return {"cross": tft.hash_strings(joined, 500), "vocabulary": tft.compute_and_apply_vocabulary(joined, num_oov_buckets=2)}


@graph("ss", "ns")
def sparse_cross(f):
    return {"cross": tf.sparse.cross_hashed([f["ss"], f["ns"]], num_buckets=1000)}


@graph("ss", "ns", "n")
def sparse_cross_of_texts(f):
    return {"cross": tf.sparse.cross([f["ss"], f["ns"], tf.expand_dims(f["n"], 1)])}


# missing values, sparse and ragged tensors


@graph("xo", "no", "so")
def fill_missing(f):
    x = dense(f["xo"], float("nan"))
    return {"x": tf.where(tf.math.is_nan(x), tft.mean(f["xo"].values) * tf.ones_like(x), x), "n": dense(f["no"], -1),
            "s": dense(f["so"], "absent")}


@graph("xs", "ns", "ss")
def first_value_or_default(f):
    def first(sparse, default):
        wide = tf.sparse.to_dense(tf.sparse.slice(sparse, [0, 0], [sparse.dense_shape[0], 1]), default_value=default)
        return tf.reshape(wide, [-1])

    return {"x": first(f["xs"], 0.0), "n": first(f["ns"], 0), "s": first(f["ss"], "")}


@graph("xs", "ns", "ss")
def sparse_to_dense_with_shape(f):
    return {"x": tft.sparse_tensor_to_dense_with_shape(f["xs"], [None, 6]),
            "n": tft.sparse_tensor_to_dense_with_shape(f["ns"], [None, 6], -1),
            "s": tft.sparse_tensor_to_dense_with_shape(f["ss"], [None, 6], "?")}


@graph("sp", "ss")
def sparse_left_align(f):
    sp = f["sp"]
    return {"sp": tft.sparse_tensor_left_align(sp), "ss": tft.sparse_tensor_left_align(f["ss"])}


@graph("sp")
def sparse_feature(f):
    sp = f["sp"]
    full = tf.reshape(tf.sparse.to_dense(sp, validate_indices=False), [-1, 8])
    return {"sp": sp, "dense": full, "sum": tf.reshape(tf.sparse.reduce_sum(sp, 1), [-1])}


@graph("xs", "ns", "ss")
def sparse_as_it_is(f):
    return {"xs": f["xs"], "ns": tf.SparseTensor(f["ns"].indices, f["ns"].values * 2 + 1, f["ns"].dense_shape), "ss": f["ss"]}


@graph("xs", "ns")
def sparse_reduced(f):
    xs, ns = f["xs"], f["ns"]
    rows = xs.dense_shape[0]
    return {"sum": tf.reshape(tf.sparse.reduce_sum(xs, axis=1), [rows]), "max": tf.reshape(tf.sparse.reduce_max(xs, axis=1), [rows]),
            "count": tf.math.unsorted_segment_sum(tf.ones_like(ns.values), ns.indices[:, 0], ns.dense_shape[0]),
            "mean": tf.math.unsorted_segment_mean(xs.values, xs.indices[:, 0], rows)}


@graph("xs", "ss")
def sparse_fill_empty_rows(f):
    xs, _ = tf.sparse.fill_empty_rows(f["xs"], -1.0)
    ss, empty = tf.sparse.fill_empty_rows(f["ss"], "none")
    return {"xs": xs, "ss": ss, "empty": tf.cast(empty, tf.int64)}


@graph("xs", "ns")
def sparse_joined(f):
    joined = tf.sparse.concat(1, [f["xs"], tf.cast(f["ns"], tf.float32)], expand_nonconcat_dims=True)
    return {"joined": joined, "filtered": tf.sparse.retain(f["xs"], f["xs"].values > 0)}


@graph("rx", "rn", "rs")
def ragged(f):
    return {"rx": f["rx"] * 2.0, "rn": f["rn"] + 1, "rs": tf.ragged.map_flat_values(tf.strings.upper, f["rs"])}


@graph("rx", "rn", "rs")
def ragged_to_dense(f):
    return {"rx": f["rx"].to_tensor(-1.0, shape=[None, 3]), "rn": tf.sparse.reset_shape(f["rn"].to_sparse()),
            "first": f["rs"].to_tensor("", shape=[None, 1])[:, 0]}


@graph("rx", "rs")
def ragged_reduced(f):
    return {"sum": tf.reduce_sum(f["rx"], 1), "mean": tf.reduce_mean(f["rx"], 1), "max": tf.reduce_max(f["rx"], 1),
            "lengths": f["rs"].row_lengths(), "join": tf.strings.reduce_join(f["rs"], 1, separator=",")}


@graph("t")
def ragged_split(f):
    words = tf.strings.split(tf.squeeze(f["t"], 1))
    return {"words": words, "count": words.row_lengths(), "lower": tf.strings.lower(words.to_tensor("", shape=[None, 2]))}


# numbers


@graph("x", "y", "n", "m")
def arithmetic(f):
    x, y, n = f["x"], tf.squeeze(f["y"], 1), f["n"]
    m = tf.squeeze(f["m"], 1)
    return {
        "add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "no_nan": tf.math.divide_no_nan(x, y), "neg": -x,
        "abs": tf.abs(x), "sign": tf.sign(x), "square": tf.square(x), "sqrt": tf.sqrt(x), "rsqrt": tf.math.rsqrt(x),
        "max": tf.maximum(x, y), "min": tf.minimum(x, y), "clip": tf.clip_by_value(x, -1.0, 1.0), "floor": tf.floor(x),
        "ceil": tf.math.ceil(x), "round": tf.round(x), "rint": tf.math.rint(x), "reciprocal": tf.math.reciprocal(x),
        "squared_difference": tf.math.squared_difference(x, y), "mod": tf.math.floormod(x, 3.0),
        "floordiv": x // 2.0, "int_div": n // 7, "int_mod": n % 7, "negative_div": n // -3, "negative_mod": n % -3,
        "truncated": tf.truncatediv(n, 7), "truncated_mod": tf.truncatemod(n, 7), "int_mul": n * 3 - m, "int_abs": tf.abs(n),
        "int_max": tf.maximum(n, m), "add_n": tf.add_n([x, y, x])}


@graph("x", "y")
def transcendental(f):
    x = f["x"]
    return {"exp": tf.exp(x), "expm1": tf.math.expm1(x), "log": tf.math.log(x), "log1p": tf.math.log1p(tf.maximum(x, 0.0)),
            "tanh": tf.tanh(x), "sigmoid": tf.sigmoid(x), "softplus": tf.math.softplus(x), "sin": tf.sin(x), "cos": tf.cos(x),
            "atan": tf.atan(x), "erf": tf.math.erf(x), "pow": tf.pow(tf.abs(x), 1.5), "relu": tf.nn.relu(x),
            "atan2": tf.atan2(x, tf.squeeze(f["y"], 1) + 1.0), "elu": tf.nn.elu(x), "relu6": tf.nn.relu6(x)}


@graph("x", "y", "n")
def more_functions(f):
    x, y = f["x"], tf.squeeze(f["y"], 1)
    unit, finite = tf.clip_by_value(x, -1.0, 1.0), tf.where(tf.math.is_finite(x), tf.clip_by_value(x, -80.0, 80.0), tf.zeros_like(x))
    return {"tan": tf.tan(unit), "asin": tf.asin(unit), "acos": tf.acos(unit), "atanh": tf.atanh(unit * 0.9), "sinh": tf.sinh(finite),
            "cosh": tf.cosh(finite), "asinh": tf.asinh(finite), "acosh": tf.acosh(tf.abs(finite) + 1.0), "erfc": tf.math.erfc(unit),
            "softsign": tf.nn.softsign(finite), "selu": tf.nn.selu(finite), "no_nan": tf.math.multiply_no_nan(x, y),
            "int_pow": tf.pow(tf.math.floormod(f["n"], 10), tf.constant(3, tf.int64))}


@graph("v", "x", "rx", "n")
def more_shapes(f):
    v, rx, n = f["v"], f["rx"], f["n"]
    first, rest = tf.split(v, [1, -1], axis=1)
    same, = tf.raw_ops.IdentityN(input=[tf.ensure_shape(v, [None, 3])])
    ids = tf.math.floormod(n, 3)
    return {"first": first, "rest": rest, "padded": tf.pad(v, [[0, 0], [1, 2]], constant_values=-7.0), "same": same,
            "min": tf.reduce_min(rx, 1), "prod": tf.math.unsorted_segment_prod(rx.values, rx.value_rowids(), rx.nrows()),
            "exclusive": tf.cumsum(tf.clip_by_value(v, -1e3, 1e3), 1, exclusive=True, reverse=True),
            "counts": tf.gather(tf.math.bincount(tf.cast(ids, tf.int32), minlength=3, maxlength=3, dtype=tf.int64), ids)}


@graph("s")
def patterns_that_are_tensors(f):
    digits, letters = tf.constant("[0-9]"), tf.constant("[a-zé]+.*")
    return {"replace": tf.strings.regex_replace(f["s"], digits, r"<\0>"), "match": tf.cast(tf.strings.regex_full_match(f["s"], letters), tf.int64)}


@graph("x", "y", "n", "m")
def comparisons(f):
    x, y, n, m = f["x"], tf.squeeze(f["y"], 1), f["n"], tf.squeeze(f["m"], 1)
    number = lambda b: tf.cast(b, tf.int64)
    return {"equal": number(tf.equal(x, y)), "not_equal": number(tf.not_equal(x, y)), "less": number(x < y),
            "less_equal": number(n <= m), "greater": number(x > 0.0), "greater_equal": number(n >= 0),
            "and": number(tf.logical_and(x > 0, n > 0)), "or": number(tf.logical_or(x > 0, n > 0)),
            "not": number(tf.logical_not(x > 0)), "xor": number(tf.math.logical_xor(x > 0, n > 0)), "nan": number(tf.math.is_nan(x)),
            "inf": number(tf.math.is_inf(x)), "finite": number(tf.math.is_finite(x)), "where": tf.where(n > m, x, y),
            "scalar_where": tf.where(x > 0, 1.0, 0.0)}


@graph("v", "x")
def control_flow(f):
    doubled = tf.map_fn(lambda row: row * 2.0 + tf.reduce_sum(row), tf.clip_by_value(f["v"], -1e6, 1e6))
    count = tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + tf.cast(i, tf.float32)), [0, tf.zeros_like(f["x"])])[1]
    return {"mapped": doubled, "loop": count, "branch": tf.cond(tf.size(f["x"]) > 3, lambda: f["x"] + 1.0, lambda: f["x"] - 1.0)}


@graph("x", "n")
def searched(f):
    x = f["x"]
    edges = tf.constant([-1.0, 0.0, 0.0, 2.5])
    return {"right": tf.cast(tf.searchsorted(edges, x, side="right"), tf.int64),
            "left": tf.cast(tf.searchsorted(edges, x, side="left"), tf.int64),
            "bucketize": tf.cast(tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 2.5]), tf.int64)}


@graph("x", "n")
def casts(f):
    x, n = f["x"], f["n"]
    back = lambda v: tf.cast(v, tf.int64)
    return {"to_int64": tf.cast(x, tf.int64), "to_int32": back(tf.cast(x, tf.int32)), "to_float": tf.cast(n, tf.float32),
            "to_double": tf.cast(tf.cast(n, tf.float64) / 3.0, tf.float32), "to_bool": back(tf.cast(x, tf.bool)),
            "int_to_bool": back(tf.cast(n, tf.bool)), "narrow": back(tf.cast(n, tf.int32)), "byte": back(tf.cast(n, tf.uint8)),
            "small": back(tf.cast(n, tf.int8)), "short": back(tf.cast(n, tf.int16)), "unsigned": back(tf.cast(n, tf.uint32)),
            "saturate": back(tf.saturate_cast(n, tf.int32)), "double_to_int": tf.cast(tf.cast(x, tf.float64), tf.int64)}


@graph("x", "v", "n", "y")
def shapes(f):
    x, v = f["x"], f["v"]
    both = tf.stack([x, x * 2], axis=1)
    return {"stack": both, "concat": tf.concat([both, v], axis=1), "expand": tf.expand_dims(x, 1), "slice": v[:, 1:],
            "column": v[:, 0], "last": v[:, -1], "reverse": tf.reverse(v, [1]), "step": v[:, ::2], "tile": tf.tile(f["y"], [1, 2]),
            "reshape": tf.reshape(v, [-1, 3, 1]), "transpose": tf.transpose(tf.reshape(v, [-1, 3, 1]), [0, 2, 1]),
            "gather": tf.gather(v, [2, 0], axis=1), "pick": tf.gather([10.0, 20.0, 30.0], tf.math.floormod(f["n"], 3)),
            "one_hot": tf.one_hot(f["n"], 4), "split": tf.split(v, 3, axis=1)[1], "unstack": tf.unstack(v, axis=1)[2],
            "pad": tf.pad(v, [[0, 0], [1, 0]]), "ones": tf.ones_like(x), "zeros": tf.zeros_like(f["n"]),
            "fill": tf.fill(tf.shape(x), 7.0), "range": tf.cast(tf.range(tf.shape(x)[0]), tf.int64),
            "broadcast": tf.broadcast_to(f["y"], [tf.shape(x)[0], 2]), "numbers": tf.linspace(0.0, 1.0, 3) + v}


@graph("v", "n", "x")
def reductions(f):
    v = f["v"]
    return {"sum": tf.reduce_sum(v, 1), "mean": tf.reduce_mean(v, 1), "max": tf.reduce_max(v, 1), "min": tf.reduce_min(v, 1),
            "prod": tf.reduce_prod(v, 1), "any": tf.cast(tf.reduce_any(v > 0, 1), tf.int64),
            "all": tf.cast(tf.reduce_all(v > 0, 1), tf.int64), "argmax": tf.argmax(v, 1), "argmin": tf.argmin(v, 1),
            "keep": tf.reduce_sum(v, 1, keepdims=True), "cumsum": tf.cumsum(v, 1),
            "softmax": tf.nn.softmax(tf.where(tf.math.is_finite(v), tf.clip_by_value(v, -1e4, 1e4), tf.zeros_like(v))),
            "norm": tf.norm(v, axis=1), "l2": tf.math.l2_normalize(v, 1), "top": tf.math.top_k(tf.where(tf.math.is_nan(v), tf.zeros_like(v), v), 2).values,
            "logsumexp": tf.reduce_logsumexp(v, 1), "std": tf.math.reduce_std(v, 1)}


# whole data sets


def bounded(v):
    """Finite numbers of at most 100, so that it is known how large the terms of a sum are."""
    return tf.where(tf.math.is_finite(v), tf.clip_by_value(v, -100.0, 100.0), v)


@graph("v")
def pca(f):
    return {"v": tf.matmul(bounded(f["v"]), tft.pca(f["v"], 2, tf.float32))}


@graph("v")
def covariance(f):
    v = bounded(f["v"])
    return {"v": tf.matmul(v, tft.covariance(f["v"], tf.float32)), "dot": tf.linalg.matvec(tf.ones([2, 3]) * 0.5, v[0])[0] + v}


@graph("x", "n", "s")
def analyzers(f):
    x = f["x"]
    return {"mean": x - tft.mean(x), "var": x / tft.var(x), "sum": x - tft.sum(x), "size": f["n"] - tft.size(x),
            "range": x * (tft.max(x) - tft.min(x)), "location": x - tft.tukey_location(x), "scale": x / tft.tukey_scale(x)}


@graph("x", "s", "n")
def estimated_probability_density(f):
    return {"x": tft.estimated_probability_density(f["x"], boundaries=5), "s": tft.estimated_probability_density(f["s"], categorical=True)}


@graph("n", "s", "x")
def segments(f):
    ids = tf.sort(tf.math.floormod(f["n"], 4))
    return {"ids": tft.segment_indices(ids)}


@old
@graph("x", "n", "s", "xo", "ss")
def everything(f):
    return {"x": tft.scale_to_z_score(f["x"]), "n": tft.scale_to_0_1(f["n"]), "b": tft.bucketize(f["x"], 10),
            "s": tft.compute_and_apply_vocabulary(f["s"], num_oov_buckets=10), "h": tft.hash_strings(f["s"], 100),
            "xo": tft.scale_to_z_score(dense(f["xo"], 0.0)), "ss": tft.compute_and_apply_vocabulary(f["ss"]),
            "hot": tf.one_hot(tft.compute_and_apply_vocabulary(f["s"], top_k=4), 5)}
