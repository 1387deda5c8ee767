"""Copies the pages of the site, and the generator's settings, into a folder.

    python pages.py FOLDER

Pages keep their paths in the repository, so that links between them need no change. Links to other
files lead to the code host. A link to no file is an error, and so is a page that the navigation
of zensical.toml leaves out. Anchors are checked by the generator.
"""

import pathlib
import posixpath
import re
import shutil
import sys
import tomllib

HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "infra/threats.md",
    "infra/changelog/README.md",
    "infra/docs/**/*.md",
    "infra/docs/**/*.svg",
    "infra/docs/**/*.webp",
]
CODE = "https://github.com/stoker-ml/stoker/blob/main/"

# A code block, code in a line, or the path that a link or a picture names.
LINK = re.compile(r'(?ms)^ *```.*?^ *```|`[^`]*`|(?<=\]\()([^):#\s]+)(?=[)#])|(?<=src=")([^":]+)(?=")|(?<=srcset=")([^":]+)(?=")')

# A code block outside of lists, or the indentation in an item of a list, with the rest of the line
# if a numbered item follows. The generator, unlike the code host, needs an indentation of four
# spaces or more, and an empty line between numbered items that have several paragraphs.
ITEM = re.compile(r"(?ms)^```.*?^```|^  ([^\n]*\n(?=\d+\. ))?")


def main(folder):
    names = {path.relative_to(ROOT).as_posix() for pattern in PAGES for path in ROOT.glob(pattern)}
    errors = unlisted({name for name in names if name.endswith(".md")})
    for made in ("pages", "html"):
        shutil.rmtree(folder / made, ignore_errors=True)
    shutil.copytree(HERE / "static", folder / "pages")
    shutil.copyfile(HERE / "zensical.toml", folder / "zensical.toml")
    for name in sorted(names):
        copy = folder / "pages" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
        if name.endswith(".md"):
            text = LINK.sub(lambda link: target(link, name, names, errors), copy.read_text())
            copy.write_text(ITEM.sub(indented, text))
    if errors:
        sys.exit("\n".join(errors))


def target(link, name, names, errors):
    """Returns what replaces a link of a page."""
    if link.lastindex is None:
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[0]))
    if path in names:
        return link[0]
    if not (ROOT / path).exists():
        errors.append(f"{name}: the link {link[0]} leads to no file")
    return CODE + path


def indented(item):
    """Returns what replaces the indentation in an item of a list."""
    if item[0].startswith("```"):
        return item[0]
    return f"    {item[1]}\n" if item[1] else "    "


def unlisted(pages):
    """Returns an error for each page that isn't in the navigation."""
    listed = set()

    def collect(entry):
        if isinstance(entry, str):
            listed.add(entry)
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                collect(part)

    collect(tomllib.loads((HERE / "zensical.toml").read_text())["project"]["nav"])
    missing = [f"{page}: not in nav of infra/site/zensical.toml" for page in sorted(pages - listed)]
    return missing + [f"{page}: in nav of infra/site/zensical.toml, but not a page" for page in sorted(listed - pages)]


main(pathlib.Path(sys.argv[1]))
