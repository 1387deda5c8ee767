"""How an exception is reported: whose fault it is, and in which line of the user's own code it came up."""
import errno
import os
import sys
import traceback

from stoker_runner import bad_data, graph_errors, keras_choice, no_estimators, packages

HOST, INPUT, MODULE, RESOURCES = "host", "input", "module", "resources"  # kinds of functions/module
OTHER_KERAS = "other-keras"  # a kind between this driver and functions/runner: the module needs the other one

HEAD, TAIL = 3000, 1500  # characters that are kept of a message; in JSON one takes up to 12 bytes of a line's 64 KiB


def describe(error, setup, assignment):
    """The kind and the message of an error."""
    try:
        kind, hint = _judged(error, setup, assignment)
    except Exception as worse:  # an exception is the user's code too
        kind, hint = MODULE, f"and its cause is not known: {type(worse).__name__}"
    frame = _frame(error, setup)
    return kind, shortened("".join((f"{frame}: " if frame else "", _words(error), f" ({hint})" if hint else "")))


def show(error):
    """Puts the traceback into the log, from the first frame that isn't ours. What is wrong with what the module has or
    returns needs none."""
    tb, last = error.__traceback__, ""
    while tb is not None and _ours(tb.tb_frame.f_code.co_filename):
        last = tb.tb_frame.f_code.co_filename if not _frozen(tb.tb_frame.f_code.co_filename) else last
        tb = tb.tb_next
    if tb is None and os.path.basename(last) not in ("entry.py", "estimator.py"):
        tb = error.__traceback__
    traceback.print_exception(type(error), error, tb)
    sys.stderr.flush()


def shortened(text):
    """A message that a line of the progress stream holds, without its middle if need be, in valid Unicode."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]} ... {len(text) - HEAD - TAIL} characters ... {text[-TAIL:]}"


def _judged(error, setup, assignment):
    """Whose fault an error is, and what to do about it if that is known."""
    needed = keras_choice.needed([text(e) for e in _chain(error)])
    if needed and needed != setup["keras"]:
        return OTHER_KERAS, f"needs Keras {needed}" + ("" if setup["keras_auto"] else f": set module.keras: {needed}")
    if isinstance(error, (ImportError, AttributeError)) and no_estimators.hint(text(error)):
        return MODULE, no_estimators.hint(text(error))
    if isinstance(error, ImportError):
        return MODULE, packages.hint(error, setup["path"])
    if _full_disk(error):
        return HOST, ""
    if isinstance(error, MemoryError) or bad_data.is_tensorflow(error, "ResourceExhaustedError"):
        return RESOURCES, ""
    if isinstance(error, TypeError) and "NoneType" in text(error):
        return MODULE, _absent(assignment)
    found = bad_data.describe(error, text(error), assignment)
    return (INPUT, found) if found is not None else (MODULE, "")


def _absent(assignment):
    """Names the paths that a module may have taken for granted and this job lacks."""
    absent = [f"fn_args.{name}" for name in ("transform_graph_path", "schema_path") if not assignment.get(name)]
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} None" if absent else ""


def _full_disk(error):
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in text(error)  # as TensorFlow says it


def text(error):
    """What an exception says of itself, if it can: its code is the user's."""
    try:
        return str(error).strip()
    except Exception as worse:
        return f"its message can't be read: {type(worse).__name__}"


def _words(error):
    name, words = type(error).__name__, graph_errors.brief(text(error))
    if isinstance(error, SystemExit):
        return f"{name}: the module called sys.exit({words}) before it was done"
    if isinstance(error, KeyboardInterrupt):
        words = words or "from the keyboard, or by SIGINT"
    if isinstance(error, SyntaxError):
        words = error.msg
    if words.startswith(f"{name}: "):  # as AutoGraph writes it
        return words
    return f"{name}: {words}" if words else name


def _chain(error):
    """An error, and those that it came from."""
    chain = []
    while error is not None and not any(error is known for known in chain):
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _frame(error, setup):
    """Where in the user's own files an error came up: the innermost frame there, or the line of a syntax error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_below(error.filename, setup) or os.path.basename(error.filename)}:{error.lineno}"
    for file, line, function in reversed(graph_errors.traced(text(error))[0]):  # AutoGraph's own frames are of copies
        if _below(file, setup):
            return f"{_below(file, setup)}:{line} in {function}"
    frames = [(_below(f.filename, setup), f) for f in traceback.extract_tb(error.__traceback__)]
    for name, frame in reversed(frames):
        if name:
            return f"{name}:{frame.lineno}" + (f" in {frame.name}" if frame.name != "<module>" else "")
    return ""


def _below(path, setup):
    """The path of one of the module's files as the user knows it; "" for files of others."""
    for folder in reversed(setup["path"]):  # the root comes last
        if path.startswith(os.path.join(folder, "")):
            return os.path.relpath(path, folder)
    return ""


def _ours(path):
    return _frozen(path) or os.path.dirname(path) == os.path.dirname(__file__)


def _frozen(path):
    return path.startswith("<frozen ")
