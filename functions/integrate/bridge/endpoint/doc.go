// Package endpoint publishes CloudEvents received over HTTP, for producers that use neither NATS
// nor S3: Knative brokers, Argo Events, CloudEvents SDKs, curl. The bindings are those of the
// CloudEvents SDK (protocol/http); this package adds what a public endpoint needs: permissions,
// limits, and an answer that is sent after the event is stored.
//
// The SDK's server (Protocol.OpenInbound, client.StartReceiver) is not used: it listens on every
// address without TLS, reads bodies of any size, takes no batches, answers before handlers decide,
// and its handler waits forever after the receiver has stopped.
//
// # Answers
//
//	202  each event of the request is stored: the bus has acknowledged it. The body is empty,
//	     since Knative rejects others
//	400  an event is invalid, or of a kind that no pipeline accepts. No event is stored
//	401  no token, or a wrong one
//	403  the event's pipeline is not one of Options.Pipelines, the event contains code, or the bus
//	     does not permit it
//	409  another event with this id was stored before, or the event's run would ignore it
//	422  no run of the pipeline would use the event, or the pipeline is not applied
//	413  the body, the batch or an event is too large. 415: an event format other than JSON
//	503  the bus is unavailable, or too many requests are in progress: repeat the request after
//	     Retry-After. An event may have been stored
//
// Each error has a body of application/problem+json (RFC 9457): status, title, detail, and errors,
// with index, id, field and detail of each event that was not stored.
//
// # Batches
//
// All events of a batch are read and checked before the first one is stored. They are stored in
// order. If one can't be stored, the others are: errors lists it, and stored counts the others. A
// request may be repeated unchanged, because an event is stored once for its pipeline, run and id.
//
// Read Endpoint first.
package endpoint
