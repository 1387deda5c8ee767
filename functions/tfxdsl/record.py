"""Runs a file of TFX's pipeline DSL with a tfx that records calls and does nothing else, and prints what was called as JSON.

Arguments: the file, its folder, seconds of CPU. Status 3 says that the file failed; the last lines on standard error say why.
"""
import ctypes
import importlib.machinery
import json
import os
import resource
import sys
import traceback

STUBBED = ("tfx", "tensorflow", "apache_beam", "kfp", "keras_tuner", "kerastuner", "ml_metadata", "absl")
# Versions that files of TFX's guides print or build the name of an image with: those whose arguments and modules Stoker knows.
VERSIONS = {"tfx": "1.21.0", "tfx.v1": "1.21.0", "tfx.version": "1.21.0", "tensorflow": "2.21.0"}
# What a pipeline's arguments become. Other calls are recorded too, but for their names only.
MOST = 10000

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the file prints is for people
path, folder, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.argv[:] = [path]


def without_network():
    libc = ctypes.CDLL(None, use_errno=True)
    flags = 0x40000000 | (0 if os.geteuid() == 0 else 0x10000000)  # CLONE_NEWNET, CLONE_NEWUSER
    try:
        return libc.unshare(flags) == 0
    except AttributeError:
        return False


isolated = without_network()
for limit, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, 2 << 30), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 16 << 20)):
    try:
        resource.setrlimit(limit, (most, most))
    except (ValueError, OSError):
        pass  # a lower limit holds already, or this system has none

calls = []


def line():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == path:
            return frame.f_lineno
        frame = frame.f_back
    return 0


class Name:
    """Anything of a package that is stubbed: it can be called, looked into, subclassed and compared."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, attribute):
        if attribute == "__version__":
            return VERSIONS.get(self._name, "0")
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        return Name(self._name + "." + attribute)

    def __setattr__(self, attribute, value):
        self.__dict__[attribute] = value

    def __call__(self, *args, **kwargs):
        if self._name in ("absl.app.run", "tensorflow.compat.v1.app.run", "tensorflow.app.run"):
            return (args[0] if args else kwargs["main"])(sys.argv)
        return Call(self._name, args, kwargs)

    def __getitem__(self, key):
        return Name("%s[%s]" % (self._name, key if isinstance(key, (str, int)) else "..."))

    def __mro_entries__(self, bases):
        return ()

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __bool__(self):
        return True

    def __or__(self, other):
        return self

    __ror__ = __add__ = __radd__ = __or__

    def __fspath__(self):
        raise TypeError("%s is not known when a pipeline is only recorded" % self._name)


class Outputs:
    def __init__(self, call):
        self._call = call

    def __getitem__(self, key):
        return Channel(self._call, key)

    def __getattr__(self, key):
        return Channel(self._call, key)


class Channel(Name):
    def __init__(self, call, key):
        Name.__init__(self, "%s.outputs[%s]" % (call._name, key))
        self.__dict__.update(_of=call, _key=key)


class Call(Name):
    def __init__(self, name, args, kwargs):
        Name.__init__(self, name)
        if len(calls) >= MOST:
            raise RuntimeError("more than %d calls of tfx" % MOST)
        self.__dict__.update(_args=args, _kwargs=kwargs, _line=line(), _number=len(calls), outputs=Outputs(self))
        calls.append(self)

    def with_id(self, *_args, **_kwargs):
        return self

    with_platform_config = with_beam_pipeline_args = add_upstream_node = add_downstream_node = with_id


class Finder:
    """Finds what is stubbed first, and all that nobody else has last."""

    def __init__(self, stubbed):
        self._stubbed = stubbed

    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if self._stubbed and root not in STUBBED or not self._stubbed and root in sys.builtin_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        module.__path__ = []
        module.__getattr__ = lambda attribute: getattr(Name(name), attribute)


def plain(value, depth=0):
    if depth > 20:
        return {"$unknown": "nested too deeply"}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"$unknown": repr(value)}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, dict):
        return {"$name:" + k._name if isinstance(k, Name) else str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Channel):
        return {"$channel": str(value._key), "of": value._of._number}
    if isinstance(value, Call):
        return {"$call": value._number}
    if isinstance(value, Name):
        return {"$name": value._name}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return {"$unknown": getattr(value, "__qualname__", type(value).__qualname__)}


sys.dont_write_bytecode = True
sys.path[:0] = [folder]
sys.meta_path.insert(0, Finder(True))
sys.meta_path.append(Finder(False))


def run():
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    main = type(sys)("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


failed = None
try:
    run()
except SyntaxError as error:
    failed = {"line": error.lineno or 1, "message": "SyntaxError: %s" % error.msg, "syntax": True}
except SystemExit as error:
    if error.code not in (None, 0) and not calls:
        failed = {"line": 0, "message": "it exits with %r" % (error.code,)}
except BaseException as error:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    failed = {"line": frames[-1].lineno if frames else 0, "message": "%s: %s" % (type(error).__name__, error)}
json.dump(
    {
        "isolated": isolated,
        "failed": failed,
        "calls": [{"name": c._name, "line": c._line, "args": plain(c._args), "kwargs": plain(c._kwargs)} for c in calls],
    },
    out,
)
out.flush()
os._exit(0)  # whatever threads the file has left
