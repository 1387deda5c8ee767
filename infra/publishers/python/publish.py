"""Tells Stoker that something is ready: publish.py KIND PIPELINE RUN DATA.json [structured]

KIND is examples.ready, transform.ready or hparams.ready; DATA.json is what the kind's JSON Schema says (events/schema). What is told
twice, with the same id, counts once.

NATS_URL is where the bus is. Who you are: NATS_CREDS, a .creds file, or NATS_NKEY, a file with a seed, or a user and a password in the URL.
Whom you trust: NATS_CA, a file with certificates; with tls:// in the URL and without it the system's.
NATS_INBOX_PREFIX: below which answers are heard, where permissions want that (`stoker access nats`).
"""
import asyncio, hashlib, json, os, re, ssl, sys
import nats
from cloudevents.core.bindings.http import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent


async def publish(kind, pipeline, run, data, structured=False, source="/upstream/python"):
    identity = hashlib.sha256(json.dumps([kind, pipeline, run, data], sort_keys=True).encode()).hexdigest()[:32]
    event = CloudEvent({"specversion": "1.0", "type": f"dev.stoker.{kind}.v1", "source": source, "id": identity, "subject": pipeline,
                        "run": run, "datacontenttype": "application/json"}, data)
    message = (to_structured if structured else to_binary)(event, JSONFormat())
    escaped = re.sub(rb"[^A-Za-z0-9_/-]", lambda m: b"=%02X" % m[0][0], run.encode()).decode()
    bus = await nats.connect(**settings())
    try:
        await bus.jetstream().publish(f"facts.{kind.replace('.', '-')}.{pipeline}.{escaped}.{identity}", message.body,
                                      headers={**message.headers, "Nats-Msg-Id": identity})
    finally:
        await bus.close()


def settings():
    """How the bus is reached, by the names that the nats tool knows."""
    given = {"servers": os.environ.get("NATS_URL", "nats://localhost:4222"), "allow_reconnect": False}
    for name, argument in {"NATS_CREDS": "user_credentials", "NATS_NKEY": "nkeys_seed", "NATS_INBOX_PREFIX": "inbox_prefix"}.items():
        if name in os.environ:
            given[argument] = os.environ[name]
    if "NATS_CA" in os.environ:
        given["tls"] = ssl.create_default_context(cafile=os.environ["NATS_CA"])
    return given


if __name__ == "__main__":
    kind, pipeline, run, path = sys.argv[1:5]
    asyncio.run(publish(kind, pipeline, run, json.load(open(path)), structured="structured" in sys.argv[5:]))
