"""The JSON of custom_config: plain values. TFX's classes, which its own json_utils writes too, are not stood in for."""
import json
import typing

import stoker_lacking

JsonableType = typing.Union[bool, int, float, str, bytes, typing.List[typing.Any], typing.Dict[str, typing.Any], None]


def dumps(obj):
    return json.dumps(obj, sort_keys=True)


def loads(s):
    return json.loads(s)


__path__, __getattr__ = stoker_lacking.of(__name__)
