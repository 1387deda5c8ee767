"""Free ports of this machine that nobody else gets before the workers of a cluster listen there."""
import contextlib
import socket

SHARED = "TF_GRPC_REUSE_PORT"  # has TensorFlow's server listen on a port that this process holds (SO_REUSEPORT)


@contextlib.contextmanager
def held(count):
    """Addresses of so many ports, bound and not listened at, so that no connection comes here."""
    with contextlib.ExitStack() as stack:
        yield [_hold(stack.enter_context(socket.socket())) for _ in range(count)]


def _hold(holder):
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return "%s:%d" % holder.getsockname()
