// Package notify tells a webhook of failures: of runs that ended without a model, of searches that found nothing, of messages that can
// never be handled; and of models, where that is asked for.
//
// # What is told
//
// Facts of the kinds that Options names, as they are. A dead letter is an event of type dev.stoker.message.dead.v1: which message, of
// which pipeline and run, why, and its number for `stoker dead`; not the message itself, which may hold what is nobody else's business.
// A job of which a fact tells that it failed is no second event.
//
// What is sent is a CloudEvent in structured mode (CloudEvents HTTP binding 1.0, section 3.2), or, for chat rooms, {"text": "..."},
// which Slack, Mattermost and Rocket.Chat take; a template says what is in it, and {{plain .Message}} writes &, < and > so that nothing
// in them is a mention or a link.
//
// # What is promised
//
// Each one arrives, at least once, in the order of the log: a Notifier has one place in the facts and one in the dead letters, kept on the
// bus, and goes on only when the receiver has answered 2xx. (Between the two there is no order.) What the bus had before the notifier was first
// started is not told. A receiver that is away, or slow, or answers otherwise, is asked again after a second, then two, up to a minute,
// or when its Retry-After says, for as long as it takes; nothing else waits for it. Only what the receiver refuses for its own sake
// (400, 413, 415, 422) is given up, after 10 tries and with an error in the log, because it would keep all others back.
//
// Two notifiers of one name share their place: one may stand by for the other. With webhook-id a receiver knows what it has had before.
//
// # Who can be sure of what
//
// With a secret, requests are signed as Standard Webhooks 1.0.0 has it: webhook-id, webhook-timestamp, webhook-signature, an HMAC-SHA256 of
// all three and the body. With a token, "Authorization: Bearer" is sent, as the CloudEvents webhook specification has it. Redirects are
// not followed. The address, which may hold a token, is in no error and no log.
//
// Read Notifier first.
package notify
