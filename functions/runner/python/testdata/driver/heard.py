"""What a job says, for tests: messages are kept instead of sent."""
from stoker_runner import said

messages = []


def listen():
    said.send = messages.append


def of(kind, **fields):
    """The messages of a type with such fields, so far."""
    return [m for m in messages if m["type"] == kind and all(m.get(key) == value for key, value in fields.items())]
