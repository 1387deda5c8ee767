#!/usr/bin/env python3
"""Publishes an event to Stoker over HTTP (`stoker bridge --http`): publish_http.py KIND PIPELINE RUN DATA.json [binary|structured|batch]

KIND is a kind that upstream publishes, such as transform.ready; DATA.json is what the kind's JSON Schema says (events/schema).
Publishing the same event again succeeds, and Stoker keeps one. pip install cloudevents.

STOKER_BRIDGE_URL is where the endpoint is, STOKER_BRIDGE_TOKEN the token that it asks for.
"""
import hashlib, json, os, sys, time, urllib.error, urllib.request
from cloudevents.core.bindings.http import to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent


def publish(kind, pipeline, run, data, mode="binary", source="/upstream/python"):
    identity = hashlib.sha256(json.dumps([kind, pipeline, run, data], sort_keys=True).encode()).hexdigest()[:32]
    event = CloudEvent({"specversion": "1.0", "type": f"dev.stoker.{kind}.v1", "source": source, "id": identity, "subject": pipeline,
                        "run": run, "datacontenttype": "application/json"}, data)
    message = (to_binary if mode == "binary" else to_structured)(event, JSONFormat())
    headers, body = dict(message.headers), message.body
    if mode == "batch":  # a JSON list of structured events; the SDK (cloudevents 2.2) has no function that makes or reads one
        headers, body = {"content-type": "application/cloudevents-batch+json"}, b"[" + body + b"]"
    post(headers | {"Authorization": "Bearer " + os.environ["STOKER_BRIDGE_TOKEN"]}, body)


def post(headers, body, tries=10):
    """Returns once the event is stored. An event has one id however often it is sent, so that a request can be repeated as it is."""
    for remaining in reversed(range(tries)):
        try:
            urllib.request.urlopen(urllib.request.Request(os.environ["STOKER_BRIDGE_URL"], data=body, headers=headers, method="POST"), timeout=60)
            return
        except urllib.error.HTTPError as refused:
            if refused.code != 503 or not remaining:
                raise SystemExit(f"{refused.code}: {json.load(refused)['detail']}") from None
            time.sleep(float(refused.headers["Retry-After"]))


if __name__ == "__main__":
    kind, pipeline, run, path = sys.argv[1:5]
    publish(kind, pipeline, run, json.load(open(path)), *sys.argv[5:])
