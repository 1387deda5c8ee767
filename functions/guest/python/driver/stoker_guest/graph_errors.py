"""What TensorFlow says of an error in a graph, without where each op was made: that stands in the log, and comes first."""
import itertools

HEADING = "Graph execution error:"
TRACE = ("Detected at node", "Node: ", " ", "\t")  # beginnings of its lines
NODE = "[[{{node"  # begins the name of an op, behind what is wrong with it


def brief(text):
    """The words behind the trace, on one line; a text of another kind, or with nothing behind it, as it is."""
    if not text.startswith(HEADING):
        return text
    lines = [line for line in text.splitlines()[1:] if line.strip()]
    said = (line.partition(NODE)[0].strip() for line in itertools.dropwhile(_traced, lines))
    return "; ".join(filter(None, said)) or text


def _traced(line):
    return line.startswith(TRACE)
