"""Reads and writes whole files, messages of protobuf and folders."""
import os

import stoker_lacking

from tfx.dsl.io import fileio


def read_string_file(file_name):
    with fileio.open(file_name) as f:
        return f.read()


def read_bytes_file(file_name):
    with fileio.open(file_name, "rb") as f:
        return f.read()


def write_string_file(file_name, string_value):
    _write(file_name, "w", string_value)


def write_bytes_file(file_name, content):
    _write(file_name, "wb", content)


def _write(file_name, mode, content):
    if os.path.dirname(file_name):
        fileio.makedirs(os.path.dirname(file_name))
    with fileio.open(file_name, mode) as f:
        f.write(content)


def parse_pbtxt_file(file_name, message):
    """Fills a message from a text file, and returns it."""
    from google.protobuf import text_format

    return text_format.Parse(read_bytes_file(file_name), message)


def parse_json_file(file_name, message):
    """Fills a message from a JSON file, and returns it."""
    from google.protobuf import json_format

    return json_format.Parse(read_bytes_file(file_name), message)


def write_pbtxt_file(file_name, proto):
    from google.protobuf import text_format

    write_string_file(file_name, text_format.MessageToString(proto))


class SchemaReader:
    """Reads a schema: the older way of saying parse_pbtxt_file(path, Schema())."""

    def read(self, schema_path):
        from tensorflow_metadata.proto.v0 import schema_pb2

        return parse_pbtxt_file(schema_path, schema_pb2.Schema())


def get_only_uri_in_dir(dir_path):
    """The path of the one file or folder in a folder."""
    names = fileio.listdir(dir_path)
    if len(names) != 1:
        raise RuntimeError(f"Only one file per dir is supported: {dir_path}.")
    return os.path.join(dir_path, names[0].rstrip("/"))


def all_files_pattern(file_pattern):
    return os.path.join(file_pattern, "*")


def copy_file(src, dst, overwrite=False):
    if os.path.dirname(dst):
        fileio.makedirs(os.path.dirname(dst))
    fileio.copy(src, dst, overwrite)


def copy_dir(src, dst):
    """Copies a folder with all below it. A dst that is there is replaced."""
    delete_dir(dst)
    for folder, _, names in fileio.walk(src):
        to = os.path.join(dst, os.path.relpath(folder, src)) if folder.rstrip("/") != src.rstrip("/") else dst
        fileio.makedirs(to)
        for name in names:
            fileio.copy(os.path.join(folder, name), os.path.join(to, name))


def delete_dir(path):
    """Removes a folder if it is there."""
    if fileio.isdir(path):
        fileio.rmtree(path)


__path__, __getattr__ = stoker_lacking.of(__name__)
