"""What TensorFlow says of an error in a graph, without where each op was made: that is in the log, and comes first."""
import itertools
import re

HEADING = "Graph execution error:"
TRACE = ("Detected at node", "<stack traces unavailable>", "Node: ", " ", "\t")  # beginnings of its lines
USER_CODE = "in user code:"  # begins what AutoGraph writes of an exception while a function was traced
FRAME = re.compile(r' *File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)')
NODE = "[[{{node"  # begins the name of an op, behind what is wrong with it
FETCHED = re.compile(r"\s*\[\[\w+\]\] \[Op:\w+\]$")  # the op that was fetched, on a line of its own


def brief(text):
    """The words behind the trace, on one line; a text of another kind, or with nothing behind it, as it is."""
    if USER_CODE in text:
        return traced(text)[1] or text
    if not text.startswith(HEADING):
        return text
    lines = [line for line in text.splitlines()[1:] if line.strip()]
    said = (line.partition(NODE)[0].strip() for line in itertools.dropwhile(_traced, lines) if not FETCHED.match(line))
    return "; ".join(filter(None, said)) or text


def _traced(line):
    return line.startswith(TRACE)


def traced(text):
    """The frames of what AutoGraph writes, (file, line, function), the innermost last; and the words behind them, with the
    exception's own name."""
    frames, words, source = [], [], False
    for line in text.partition(USER_CODE)[2].splitlines():
        frame = FRAME.match(line)
        if frame:
            frames.append((frame["file"], int(frame["line"]), frame["function"]))
            words, source = [], True
        elif source:
            source = False  # the line of code
        elif line.strip() and not line.strip().startswith(("Call arguments received by", "Arguments received by", "\u2022 ")):
            words.append(line.strip())
    return frames, " ".join(words)
