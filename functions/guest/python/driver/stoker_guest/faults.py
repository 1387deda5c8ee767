"""What an exception is told as."""


def told(error):
    """The kind and the message of an error."""
    return "module", f"{type(error).__name__}: {error}"
