"""Publishes an event to Stoker: publish.py KIND PIPELINE RUN DATA.json [structured]

KIND is examples.ready, transform.ready or hparams.ready; DATA.json is what the kind's JSON Schema says (events/schema). Publishing the
same event again succeeds, and the bus keeps one. If the subject holds another event, publish fails.

NATS_URL is where the bus is. Who you are: NATS_CREDS, a .creds file, or NATS_NKEY, a file with a seed, or a user and a password in the URL.
Whom you trust: NATS_CA, a file with certificates; with tls:// in the URL and without it the system's.
NATS_INBOX_PREFIX and NATS_JETSTREAM_DOMAIN: the prefix of inboxes and the JetStream domain, where permissions need them
(`stoker access nats`).
"""
import asyncio, hashlib, json, os, re, ssl, sys
import nats
from cloudevents.core.bindings.http import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from nats.js.errors import APIError, NotFoundError


async def publish(kind, pipeline, run, data, structured=False, source="/upstream/python"):
    identity = hashlib.sha256(json.dumps([kind, pipeline, run, data], sort_keys=True).encode()).hexdigest()[:32]
    event = CloudEvent({"specversion": "1.0", "type": f"dev.stoker.{kind}.v1", "source": source, "id": identity, "subject": pipeline,
                        "run": run, "datacontenttype": "application/json"}, data)
    message = (to_structured if structured else to_binary)(event, JSONFormat())
    escaped = re.sub(rb"[^A-Za-z0-9_/-]", lambda m: b"=%02X" % m[0][0], run.encode()).decode()
    subject = f"events.{kind.replace('.', '-')}.{pipeline}.{escaped}.{identity}"
    bus = await nats.connect(**settings())
    stream = bus.jetstream(**{"domain": os.environ[name] for name in ["NATS_JETSTREAM_DOMAIN"] if name in os.environ})
    try:
        # The subject ends in the id. It may hold no message yet: ids that other publishers use on
        # their subjects change nothing. JetStream compares Nats-Msg-Id within the whole stream, so
        # that others could make it drop this event as a duplicate.
        await stream.publish(subject, message.body, headers={**message.headers, "Nats-Expected-Last-Subject-Sequence": "0"})
    except APIError as refused:
        if refused.err_code not in (10071, 10164):  # the subject holds a message: the code of a stream, and of a replicated one
            raise
        first = await last(stream, subject)
        if said(first.headers, first.data) != said(message.headers, message.body):
            raise SystemExit(f"{subject} holds another event with this id, message {first.seq}") from None
    finally:
        await bus.close()


async def last(stream, subject, tries=200):
    """The message that a subject holds. A server that answers from its own copy of the stream may not have it yet."""
    for remaining in reversed(range(tries)):
        try:
            return await stream.get_last_msg("EVENTS", subject, direct=True)
        except NotFoundError:
            if not remaining:
                raise
            await asyncio.sleep(0.05)


def said(headers, body):
    """The source and the data of an event in either content mode. The time is that of the publication."""
    document = json.loads(body)
    return (headers["ce-source"], document) if "ce-source" in headers else (document["source"], document["data"])


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
