// Package publishers tests the example publishers for upstream: ten lines of Python
// (python/publish.py, with nats-py and cloudevents) or Go (go/main.go, with nats.go and
// CloudEvents' SDK), and no code of Stoker's. Over HTTP the CloudEvents SDK is enough
// (python/publish_http.py). They are examples to copy.
package publishers
