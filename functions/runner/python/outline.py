"""Reads source files as the interpreter would, and runs none of them. It prints a JSON object for each: where it is no Python, or the
names that it binds at its top. It runs with -I -c, on any Python 3.8 or newer; its arguments are the files."""
import ast
import importlib.util
import json
import sys

MOST = 2000  # names of a file
OPENERS = ("exec", "eval", "globals", "locals", "vars", "setattr", "__getattr__", "__dict__")  # they may bind any name
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def binding(name, node):
    found = {"name": name, "line": node.lineno, "column": node.col_offset + 1}
    if isinstance(node, ast.AsyncFunctionDef):
        found["coroutine"] = True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
        args = node.args
        most = len(args.args) + len(getattr(args, "posonlyargs", ()))
        found["function"] = True
        found["least"], found["most"] = most - len(args.defaults), -1 if args.vararg else most
        found["keywords"] = [arg.arg for arg, default in zip(args.kwonlyargs, args.kw_defaults) if default is None]
    return found


def installed(name):
    """Whether this interpreter finds a package. Nothing of it is run."""
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return True  # a module that is there, and odd


def imported(node, alias):
    found = binding(alias.asname or alias.name, node)
    found["from"], found["original"] = "." * node.level + (node.module or ""), alias.name
    found["installed"] = not node.level and installed(node.module.split(".")[0])
    return found


def bound(node):
    """The names that a node itself binds, with the node that says where."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, node
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], node
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node
    elif hasattr(node, "lineno") and not isinstance(node, ast.alias):
        for field in ("name", "rest"):  # of except and match
            if isinstance(getattr(node, field, None), str):
                yield getattr(node, field), node


def outline(tree):
    names, todo = [], [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom):
            names.extend(imported(node, alias) for alias in node.names)
        names.extend(binding(*one) for one in bound(node))
        if not isinstance(node, SCOPES):
            todo.extend(ast.iter_child_nodes(node))
    opened = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            names.extend(binding(name, node) for name in node.names)
        word = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        opened = opened or word in OPENERS or isinstance(node, ast.alias) and node.name == "*"
    names.sort(key=lambda found: (found["line"], found["column"]))
    return {"names": names[:MOST], "open": opened or len(names) > MOST}


def read(name):
    try:
        with open(name, "rb") as file:
            return outline(ast.parse(file.read(), name))
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        return {"error": str(getattr(error, "msg", error)), "line": line, "column": column}
    except (RecursionError, MemoryError):
        return {"error": "too deeply nested for Python to read", "line": 1, "column": 1}


for path in sys.argv[1:]:
    print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], **read(path)}))
