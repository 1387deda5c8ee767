"""Runs a file of TFX's pipeline DSL with a tfx that records calls and does nothing else, and prints what was called as JSON.

Arguments: the file, its folder, seconds of CPU, the user's TMPDIR or nothing. TMPDIR is the folder that the file may write to.
"""
import ctypes
import importlib.machinery
import json
import os
import re
import resource
import sys
import tempfile
import traceback

STUBBED = ("tfx", "tensorflow", "apache_beam", "kfp", "keras_tuner", "kerastuner", "ml_metadata", "absl")
# Versions that files of TFX's guides print or build the name of an image with: those whose arguments and modules Stoker knows.
VERSIONS = {"tfx": "1.21.0", "tfx.v1": "1.21.0", "tfx.version": "1.21.0", "tensorflow": "2.21.0"}
# What a pipeline's arguments become. Other calls are recorded too, but for their names only.
MOST = 10000

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the file prints is for people
path, folder, seconds, user_tmpdir = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
sys.argv[:] = [path]
# The file writes temporary files to a folder that is removed when it ends. Values name the user's temporary folder instead.
scratch = os.environ.pop("TMPDIR", "")
if user_tmpdir:
    os.environ["TMPDIR"] = user_tmpdir
if scratch:
    tempfile.tempdir = scratch
gone = []  # temporary files and folders that the file made and that recorded values name


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


# What a Name prints as stands between these, so that a text made of one is known for what it is.
BEGIN, END = "⟦stub ", "⟧"
PRINTED = re.compile(BEGIN + "([^⟧]*)" + END)
UNKNOWN = "%s has no value when a pipeline is only recorded"
FLAGS_MODULES = ("absl.flags", "tensorflow.flags", "tensorflow.app.flags", "tensorflow.compat.v1.flags", "tensorflow.compat.v1.app.flags")


class Unknown(TypeError):
    """An operation needs the value of a Name."""


class Flag:
    """What DEFINE_* of absl.flags returns. A flag has its default: files are run without arguments."""

    def __init__(self, name, default, required=False):
        self.name, self.default, self.required, self.present = name, default, required, 0

    @property
    def value(self):
        if self.required and self.default is None:
            raise Unknown("flag --%s is required and has no default: files are recorded with the defaults of their flags, give it one" % self.name)
        return self.default


class Flags:
    """absl.flags.FLAGS"""

    def __init__(self):
        self.__dict__["_all"] = {}

    def __call__(self, argv, known_only=False):
        return list(argv)[:1]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._all:
            raise AttributeError("no flag --%s is defined" % name)
        return self._all[name].value

    def __setattr__(self, name, value):
        self._all.setdefault(name, Flag(name, None)).default = value

    __setitem__ = __setattr__

    def __getitem__(self, name):
        if name not in self._all:
            raise KeyError("no flag --%s is defined" % name)
        return self._all[name]

    def __contains__(self, name):
        return name in self._all

    def __iter__(self):
        return iter(self._all)

    def __dir__(self):
        return list(self._all)

    def is_parsed(self):
        return True

    def mark_as_parsed(self):
        pass

    def flag_values_dict(self):
        return {name: flag.default for name, flag in self._all.items()}

    def set_default(self, name, value):
        self[name].default = value


FLAGS = Flags()


def define(kind, args, kwargs):
    """Does what absl.flags.DEFINE_<kind> does, without validation."""
    at = 1 if kind else 2  # DEFINE(parser, name, default, help)
    if kind == "alias":
        name, original = (list(args) + [kwargs.get("name"), kwargs.get("original_name")])[:2]
        FLAGS._all[name] = FLAGS[original]
        return FLAGS[name]
    name = args[at - 1] if len(args) >= at else kwargs.get("name")
    default = args[at] if len(args) > at else kwargs.get("default")
    if default is not None:
        if kind in ("list", "spaceseplist") and isinstance(default, str):
            default = [v.strip() for v in default.split("," if kind == "list" else None) if v.strip()]
        elif kind.startswith("multi") and (isinstance(default, (str, int, float)) or not hasattr(default, "__iter__")):
            default = [default]
        elif kind in ("bool", "boolean") and isinstance(default, str):
            default = default.lower() in ("true", "t", "1", "yes", "y")
        elif kind in ("integer", "float") and isinstance(default, str):
            default = int(default, 0) if kind == "integer" else float(default)
    FLAGS._all[name] = Flag(name, default, kwargs.get("required", False))
    return FLAGS._all[name]


def mark_required(names):
    for name in [names] if isinstance(names, (str, Flag)) else names:
        (name if isinstance(name, Flag) else FLAGS[name]).required = True


def call_flags(name, args, kwargs):
    """Calls a function of absl.flags."""
    if name.startswith("DEFINE"):
        return define(name[7:], args, kwargs)
    if name in ("mark_flag_as_required", "mark_flags_as_required"):
        return mark_required(next(iter([*args, *kwargs.values()])))
    return None


class Name:
    """Anything of a package that is stubbed: it can be called, looked into, subclassed and compared."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, attribute):
        if attribute == "__version__":
            return VERSIONS.get(self._name, "0")
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        if attribute == "FLAGS" and self._name in FLAGS_MODULES:
            return FLAGS
        return Name(self._name + "." + attribute)

    def __repr__(self):
        return BEGIN + self._name + END

    def __setattr__(self, attribute, value):
        self.__dict__[attribute] = value

    def __call__(self, *args, **kwargs):
        if self._name in ("absl.app.run", "tensorflow.compat.v1.app.run", "tensorflow.app.run"):
            return (args[0] if args else kwargs.get("main") or sys.modules["__main__"].main)(sys.argv)
        module, _, function = self._name.rpartition(".")
        if module in FLAGS_MODULES and (function.startswith("DEFINE") or function.startswith("mark_flag")):
            return call_flags(function, args, kwargs)
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

    __ror__ = __add__ = __radd__ = __rshift__ = __rrshift__ = __or__  # Beam's pipes, and placeholders of TFX joined

    def __fspath__(self):
        raise Unknown(UNKNOWN % self._name)

    __int__ = __float__ = __index__ = __fspath__


def refuse(sign):
    def operator(self, other=None, *_):
        raise Unknown((UNKNOWN % self._name) + ": " + sign + " needs one")

    return operator


def compare(sign):
    def operator(self, other):
        if self._name.startswith("tfx."):  # a predicate of a placeholder, as in tfx.dsl.Cond
            return Name("%s %s ..." % (self._name, sign))
        raise Unknown((UNKNOWN % self._name) + ": " + sign + " needs one")

    return operator


for method, sign in {"xor": "^", "and": "&", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<"}.items():
    for prefix in ("__", "__r"):
        setattr(Name, prefix + method + "__", refuse(sign))
for method, sign in {"neg": "-", "pos": "+", "abs": "abs"}.items():
    setattr(Name, "__" + method + "__", refuse(sign))
for method, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Name, "__" + method + "__", compare(sign))


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


def lasting(value):
    """A text with the user's temporary folder for the one that is removed."""
    if not scratch or scratch not in value:
        return value
    for found in re.findall(re.escape(scratch) + r"/[^/\s]+", value):
        if os.path.exists(found) and found not in gone:
            gone.append(found)
    return value.replace(scratch, (user_tmpdir or "/tmp").rstrip("/") or "/")


def text(value):
    """A text, unless it is made of something that has no value."""
    if BEGIN in value:
        return {"$unknown": PRINTED.sub(r"\1", value)}
    return lasting(value)


def plain(value, depth=0):
    if depth > 20:
        return {"$unknown": "nested too deeply"}
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if value is ...:
        return {"$unknown": "..."}
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"$unknown": repr(value)}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, dict):
        return {"$name:" + k._name if isinstance(k, Name) else lasting(str(k)): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Channel):
        return {"$channel": str(value._key), "of": value._of._number}
    if isinstance(value, Call):
        return {"$call": value._number}
    if isinstance(value, Name):
        return {"$name": value._name}
    if isinstance(value, os.PathLike):
        return plain(os.fspath(value), depth + 1)
    return {"$unknown": getattr(value, "__qualname__", type(value).__qualname__)}


def record(call):
    gone.clear()
    return {"name": call._name, "line": call._line, "args": plain(call._args), "kwargs": plain(call._kwargs), "gone": [lasting(p) for p in gone]}


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


def explain(error):
    """The message of an error, in which a Name is what the file calls it."""
    message, cause = lasting("%s: %s" % (type(error).__name__, error)), error
    while cause is not None and not isinstance(cause, Unknown):
        cause = cause.__cause__ or cause.__context__  # os.path.join raises another error
    if cause is not None:
        return "TypeError: %s" % cause
    if found := PRINTED.search(message):
        return "%s (%s)" % (PRINTED.sub(r"\1", message), UNKNOWN % found[1])
    if re.search("'(Name|Call|Channel|Outputs)'", message):
        return "%s (%s)" % (message, UNKNOWN % "what is imported from a package that is not run, as tfx is not,")
    return message


failed = None
try:
    run()
except SyntaxError as error:
    failed = {"line": error.lineno or 1, "message": "SyntaxError: %s" % error.msg, "syntax": True}
except SystemExit as error:
    if error.code not in (None, 0) and not calls:
        failed = {"line": 0, "message": "it exits with %s" % PRINTED.sub(r"\1", repr(error.code))}
except BaseException as error:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    failed = {"line": frames[-1].lineno if frames else 0, "message": explain(error)}
json.dump(
    {
        "isolated": isolated,
        "failed": failed,
        "calls": [record(c) for c in calls],
    },
    out,
)
out.flush()
os._exit(0)  # whatever threads the file has left
