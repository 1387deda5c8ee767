"""Says what an interpreter has, as one JSON object. It runs with -I -c, on any Python 3; its argument is the list of modules to look for."""
import importlib.util
import json
import os
import re
import sys

if sys.version_info < (3, 8):  # too old to be asked for more
    print(json.dumps({"interpreter": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3]}))
    sys.exit()

from importlib import metadata  # noqa: E402


def version(package):
    """A package's version, with what it was installed from where that is not a registry: two of one version may differ."""
    text = package.read_text("direct_url.json")
    if not text:
        return package.version
    origin = json.loads(text)
    hashes = origin.get("archive_info", {}).get("hashes", {})
    return "%s @ %s" % (package.version, hashes.get("sha256") or origin.get("url"))


packages = {}
for package in metadata.distributions():  # the first of a name is the one that is imported
    name = package.metadata["Name"]
    if name:
        packages.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version(package))

sites = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)]

print(json.dumps({
    "interpreter": sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "packages": packages,
    "modules": [w["module"] for w in json.loads(sys.argv[1]) if importlib.util.find_spec(w["module"])],
    "sites": sites,
    "watched": [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")] + sites,
}))
