"""The strategy of tf.distribute that the pipeline asks for by resources.strategy or resources.workers.

The module's function runs in its scope, so that models of Keras that it builds and fits are trained by it. A module that makes
a strategy by itself gets this one, whatever it asked for: how many devices and processes there are is for the pipeline
to say. With several workers a module whose training never goes through the strategy is refused, since each of them
would train the whole model alone.
"""
import contextlib
import os

from stoker_guest import leaving, said

MIRRORED, MULTI_WORKER, TPU = "mirrored", "multi_worker", "tpu"
WAYS = "train by Keras's fit, or by tf.distribute.get_strategy().run; or ask for one worker and no strategy"
CLASSES = ("MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy")  # of tf.distribute, and of its experimental part


used = {}  # the strategy of this process, for people


@contextlib.contextmanager
def scope(assignment):
    """What is called in it is trained by the strategy that the assignment names, if it names one."""
    name = assignment.get("strategy")
    if not name:
        yield
        return
    import tensorflow as tf

    strategy = MAKERS[name](tf)
    leaving.listen_again()  # TensorFlow takes SIGTERM for itself where several processes train
    replicas = strategy.num_replicas_in_sync
    said.note(f"resources.strategy: {name}: {type(strategy).__name__} of {replicas} replica{'s' if replicas != 1 else ''}")
    used.update(strategy=type(strategy).__name__, replicas=replicas)
    steps = _count_steps(strategy)
    try:
        with _given(tf, strategy), strategy.scope():
            yield
    except Exception as error:
        if steps or "DistributedVariable" not in str(error) and "replica context" not in str(error):
            raise
        raise ValueError(f"resources.strategy: {name}: the module has a loop of its own, which does not train by the strategy: {WAYS}") from error
    if steps:
        return
    if name == MULTI_WORKER:
        raise ValueError(
            "resources.workers: the module has trained no step by the strategy, so that each worker has trained the whole model alone: " + WAYS)
    said.note("the module has trained no step by the strategy")


def _mirrored(tf):
    return tf.distribute.MirroredStrategy()


def _multi_worker(tf):
    return tf.distribute.MultiWorkerMirroredStrategy()


def _tpu(tf):
    name = os.environ.get("TPU_NAME") or "local"
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except Exception as error:
        raise ConnectionError(f"resources.strategy: tpu: the TPU {name!r} can't be reached from this worker: {error}") from error


MAKERS = {MIRRORED: _mirrored, MULTI_WORKER: _multi_worker, TPU: _tpu}


def _count_steps(strategy):
    """A list that has an element as soon as something runs on the replicas of the strategy."""
    steps, extended = [], strategy.extended
    run = extended._call_for_each_replica

    def counted(*args, **kwargs):
        if not steps:
            steps.append(True)
        return run(*args, **kwargs)

    extended._call_for_each_replica = counted
    return steps


@contextlib.contextmanager
def _given(tf, strategy):
    """Has the classes of strategies give this one to whoever makes one, and a TPU that is set up not be set up again."""
    places = [(place, name) for place in (tf.distribute, tf.distribute.experimental) for name in CLASSES if hasattr(place, name)]
    kept = [(place, name, getattr(place, name)) for place, name in places]
    kept.append((tf.tpu.experimental, "initialize_tpu_system", tf.tpu.experimental.initialize_tpu_system))
    try:
        for place, name, original in kept[:-1]:
            setattr(place, name, _giving(original, strategy))
        if isinstance(strategy, tf.distribute.TPUStrategy):
            tf.tpu.experimental.initialize_tpu_system = lambda *args, **kwargs: None
        yield
    finally:
        for place, name, original in kept:
            setattr(place, name, original)


def _giving(original, strategy):
    """A class that gives the strategy instead of an instance of its own, and takes for one what is one of the original."""
    class Given(type(original)):
        def __call__(cls, *args, **kwargs):
            return strategy

        def __instancecheck__(cls, value):
            return isinstance(value, original)

    return Given(original.__name__, (original,), {"__doc__": original.__doc__})
