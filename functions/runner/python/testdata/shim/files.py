"""fileio and io_utils on files of this machine."""
import os

from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.dsl.io import fileio
from tfx.utils import io_utils, json_utils


def fails(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return str(error)
    raise AssertionError(f"{call.__name__}{args} went through")


with fileio.open("a", "wb+") as f:
    f.write(b"x")
fileio.copy("a", "b")
assert "overwrite" in fails(OSError, fileio.copy, "a", "b")
fileio.copy("a", "b", overwrite=True)
fails(OSError, fileio.rename, "a", "b")
fileio.rename("a", "c")
assert (
    sorted(fileio.listdir(".")) == ["b", "c"] and fileio.glob("[bc]") and fileio.exists("b") and not fileio.isdir("b")
)
fails(fileio.NotFoundError, fileio.remove, "a")
fails(fileio.NotFoundError, fileio.open, "a")
fileio.makedirs("d/e")
fileio.makedirs("d/e")
fails(OSError, fileio.mkdir, "d")
assert fileio.stat("b").st_size == 1

io_utils.write_string_file("d/e/text", "é")
io_utils.write_bytes_file("d/e/bytes", b"\xff")
assert io_utils.read_string_file("d/e/text") == "é" and io_utils.read_bytes_file("d/e/bytes") == b"\xff"
os.mkdir("copy")
io_utils.write_string_file("copy/old", "is replaced")
io_utils.copy_dir("d", "copy")
assert [(d, sorted(f)) for d, _, f in fileio.walk("copy")] == [("copy", []), ("copy/e", ["bytes", "text"])]
assert io_utils.get_only_uri_in_dir("d") == "d/e"
assert fails(RuntimeError, io_utils.get_only_uri_in_dir, "d/e") == "Only one file per dir is supported: d/e."
io_utils.copy_file("b", "new/folder/b")
assert fileio.exists("new/folder/b")
io_utils.delete_dir("copy")
io_utils.delete_dir("copy")
assert not fileio.exists("copy")

io_utils.write_string_file("schema.pbtxt", 'feature { name: "fare" type: FLOAT }')
schema = schema_pb2.Schema()
assert io_utils.parse_pbtxt_file("schema.pbtxt", schema) is schema and schema.feature[0].name == "fare"
assert io_utils.SchemaReader().read("schema.pbtxt") == schema
io_utils.write_string_file("schema.json", '{"feature": [{"name": "fare", "type": "FLOAT"}]}')
assert io_utils.parse_json_file("schema.json", schema_pb2.Schema()) == schema
io_utils.write_pbtxt_file("again.pbtxt", schema)
assert io_utils.parse_pbtxt_file("again.pbtxt", schema_pb2.Schema()) == schema
assert json_utils.loads(json_utils.dumps({"b": 1, "a": [None]})) == {"a": [None], "b": 1}
