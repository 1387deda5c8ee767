"""Says what an interpreter has, as one JSON object. It runs with -I -c, on any Python 3; its argument is the list of
modules to look for."""
import hashlib
import importlib.util
import json
import os
import re
import sys
import urllib.parse
import urllib.request

if sys.version_info < (3, 8):  # too old to be asked for more
    print(json.dumps({"interpreter": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3]}))
    sys.exit()

from importlib import metadata  # noqa: E402


def version(package):
    """A package's version, with what it was installed from where that is not a registry: two of one may differ."""
    text = package.read_text("direct_url.json")
    if not text:
        return package.version
    origin = json.loads(text)
    return "%s @ %s" % (package.version, content(package, origin) or origin.get("url"))


def content(package, origin):
    """What distinguishes two packages of one address: a digest, or the commit."""
    hashes = origin.get("archive_info", {}).get("hashes", {})
    commit = origin.get("vcs_info", {}).get("commit_id")
    if origin.get("dir_info", {}).get("editable"):
        return digest(own_sources(origin["url"]))
    return hashes.get("sha256") or commit or digest(installed(package))


def installed(package):
    """The files of a package with their digests, as the installer wrote them down; without commands, which name this
    Python."""
    lines = (package.read_text("RECORD") or "").splitlines()
    return sorted(line for line in lines
                  if ",sha256=" in line and ".dist-info/" not in line and not line.startswith(".."))


def own_sources(url):
    """Each Python file below the folder of a package that is edited where it lies, with its digest. All are watched."""
    top = urllib.request.url2pathname(urllib.parse.urlsplit(url).path)
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if is_code(folder, name))
        watched.append(folder)
        for path in (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")):
            if len(watched) > MOST_WATCHED:
                sys.exit("%s holds more than %d folders and files: install it without -e" % (top, MOST_WATCHED))
            watched.append(path)
            with open(path, "rb") as file:
                yield "%s %s" % (os.path.relpath(path, top), hashlib.sha256(file.read()).hexdigest())


def is_code(folder, name):
    return name[0] != "." and name != "__pycache__" and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))


def digest(lines):
    """That of some lines; None of none."""
    lines = list(lines)
    return lines and hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest() or None


MOST_WATCHED = 20000
sites = [path for path in sys.path
         if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)]
watched = [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")] + sites
packages = {}
for package in metadata.distributions():  # the first of a name is the one that is imported
    name = package.metadata["Name"]
    if name:
        packages.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version(package))

print(json.dumps({
    "interpreter": sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "packages": packages,
    "modules": [w["module"] for w in json.loads(sys.argv[1]) if importlib.util.find_spec(w["module"])],
    "sites": sites,
    "watched": watched,
}))
