"""The strategy of tf.distribute that the pipeline asks for by resources.strategy or resources.workers.

The module's function runs in its scope, so that models of Keras that it builds and fits are trained by it. A module that makes
a strategy by itself gets this one, whatever it asked for: how many devices and processes there are is for the pipeline
to say. With several workers a module whose training never goes through the strategy is refused, since each of them
would train the whole model alone: as soon as stoker.report or Keras's fit shows that a step was taken without it, at the
end where neither is used.
"""
import contextlib
import os

from stoker_runner import leaving, said

MIRRORED, MULTI_WORKER, TPU = "mirrored", "multi_worker", "tpu"
WAYS = "train by Keras's fit, or by tf.distribute.get_strategy().run; or set one worker and no strategy"
ESTIMATOR = ("resources.workers: trainer_fn creates an Estimator, which is trained by one process: set one worker, or train by Keras's fit in "
             "run_fn")
NO_CHIEF = 'If "cluster" is set in TF_CONFIG, it must have one "chief" node'  # of tf.estimator.RunConfig
KERAS_3 = "keras.src.backend.tensorflow.trainer"  # the module of its fit and evaluate
CLASSES = ("MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy")  # of tf.distribute, and of its experimental part


used = {}  # the strategy of this process, for people
_steps = None  # with several workers, in their scope: has an element as soon as something has run on the replicas
_reported = None  # the step of the first report of a training; a checkpoint's maybe, which took no step here


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
    try:
        with _counted(strategy, name == MULTI_WORKER) as steps, _given(tf, strategy), strategy.scope():
            yield
    except Exception as error:
        if name == MULTI_WORKER and NO_CHIEF in str(error):
            raise ValueError(ESTIMATOR) from error
        if steps or "DistributedVariable" not in str(error) and "replica context" not in str(error):
            raise
        raise ValueError(f"resources.strategy: {name}: the module has its own training loop, which does not use the strategy: {WAYS}") from error
    if steps:
        return
    if name == MULTI_WORKER:
        raise ValueError(
            "resources.workers: the module trained no step with the strategy, so each worker trained the whole model alone: " + WAYS)
    said.note("the module trained no step with the strategy")


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


@contextlib.contextmanager
def _counted(strategy, several):
    """A list that has an element as soon as something runs on the replicas of the strategy, or of a copy of it."""
    global _steps, _reported
    steps, kind = [], type(strategy.extended)
    own, run = "_call_for_each_replica" in vars(kind), kind._call_for_each_replica

    def counted(self, *args, **kwargs):
        if not steps:
            steps.append(True)
        return run(self, *args, **kwargs)

    kind._call_for_each_replica = counted
    _steps, _reported = (steps if several else None), None
    try:
        yield steps
    finally:
        _steps = None
        if own:
            kind._call_for_each_replica = run
        else:
            del kind._call_for_each_replica


def reported(phase, step):
    """Refuses, with several workers, a report of a training step that no strategy has a part in."""
    global _reported
    if _steps is None or phase != "training":
        return
    if _reported is None:
        _reported = step
    elif step > _reported:
        took(f"the module reports step {step}")


def took(what):
    """Refuses, with several workers, a training step that was taken if none has run on the strategy."""
    if _steps is not None and not _steps:
        raise ValueError(f"resources.workers: {what}, but no step has run with the strategy: each worker trains the whole model alone: {WAYS}")


def called(method, of):
    """Refuses, with several workers, fit and evaluate of Keras 3, which can't read the values of several replicas."""
    if _steps is not None and of == KERAS_3:
        raise ValueError(f"resources.workers: {method} of Keras 3 fails with MultiWorkerMirroredStrategy: set module.keras: 2, or train by "
                         "tf.distribute.get_strategy().run")


def no_estimator():
    """Refuses, with several workers, an Estimator: it starts a server of its own at the address that the strategy's has."""
    if _steps is not None:
        raise ValueError(ESTIMATOR)


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
