"""Files by path: of this machine by the standard library, those with a scheme (gs://...) by TensorFlow, as in TFX."""
import builtins
import glob as _glob
import os
import shutil
import typing

import stoker_lacking

__all__ = [
    "NotFoundError",
    "PathType",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "open",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

PathType = typing.Union[bytes, str]
NotFoundError = FileNotFoundError


def _remote(path):
    """TensorFlow's functions for a path with a scheme, None for one of this machine."""
    if "://" not in os.fsdecode(path):
        return None
    from tensorflow.io import gfile

    return gfile


def open(path, mode="r"):
    remote = _remote(path)
    return remote.GFile(path, mode) if remote else builtins.open(path, mode)


def copy(src, dst, overwrite=False):
    remote = _remote(src) or _remote(dst)
    if remote:
        return remote.copy(src, dst, overwrite)
    _keep(dst, overwrite)
    shutil.copyfile(src, dst)


def rename(src, dst, overwrite=False):
    remote = _remote(src) or _remote(dst)
    if remote:
        return remote.rename(src, dst, overwrite)
    _keep(dst, overwrite)
    os.rename(src, dst)


def _keep(dst, overwrite):
    if not overwrite and os.path.exists(dst):
        raise OSError(f"{dst!r} is there already, and overwrite is false")


def exists(path):
    return (_remote(path) or os.path).exists(path)


def glob(pattern):
    return (_remote(pattern) or _glob).glob(pattern)


def isdir(path):
    return (_remote(path) or os.path).isdir(path)


def listdir(path):
    return (_remote(path) or os).listdir(path)


def makedirs(path):
    remote = _remote(path)
    return remote.makedirs(path) if remote else os.makedirs(path, exist_ok=True)


def mkdir(path):
    return (_remote(path) or os).mkdir(path)


def remove(path):
    return (_remote(path) or os).remove(path)


def rmtree(path):
    return (_remote(path) or shutil).rmtree(path)


def stat(path):
    return (_remote(path) or os).stat(path)


def walk(top, topdown=True, onerror=None):
    return (_remote(top) or os).walk(top, topdown, onerror)


__path__, __getattr__ = stoker_lacking.of(__name__)
