// Package notify sends failures to a webhook: of runs that ended without a model, of searches
// without a result, of messages that can never be handled; and, on request, models.
//
// # What is sent
//
// Events of the kinds in Options, unchanged. A dead letter is an event of type
// dev.stoker.message.dead.v1: its message, pipeline, run and reason, and its number for `stoker
// dead`, without the body of the message, which may be confidential. A job whose failure has an
// event is not sent a second time as a dead letter.
//
// The body is a CloudEvent in structured mode (CloudEvents HTTP binding 1.0, section 3.2) or, for
// chats, {"text": "..."}, which Slack, Mattermost and Rocket.Chat accept. A template makes the
// text, and {{plain .Message}} escapes &, < and > so that nothing in it is a mention or a link.
//
// # Delivery
//
// Each event arrives at least once, in the order of the log: a Notifier has a durable consumer of
// events and one of dead letters, and acknowledges only when the receiver has answered 2xx. There
// is no order between the two. Events from before its first start are not sent. A receiver that is
// away, slow, or answers otherwise is retried after a second, then two, up to a minute, or after
// its Retry-After, without limit; only this notifier waits for it. An event that the receiver
// refuses for its content (400, 413, 415, 422) is given up after 10 tries, with an error in the
// log, because it would hold up all others.
//
// Two notifiers of one name share their consumers: one may stand by for the other. By webhook-id a
// receiver recognizes a repetition.
//
// # Authentication
//
// With a secret, requests are signed by Standard Webhooks 1.0.0: webhook-id, webhook-timestamp,
// webhook-signature, an HMAC-SHA256 of all three and the body. With a token, "Authorization:
// Bearer" is sent, as the CloudEvents webhook specification requires. Redirects are not followed.
// The address, which may hold a token, appears in no error and no log.
//
// Read Notifier first.
package notify
