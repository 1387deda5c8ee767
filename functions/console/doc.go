// Package console serves the web pages of one Stoker: runs as they progress, their curves, studies,
// the lineage of models, dead letters and pipelines. It serves HTML that is made here, and loads
// nothing from elsewhere; pages work without JavaScript, and with it follow changes by server-sent
// events.
//
// A follower keeps what the pages need in memory (model), rebuilt from the bus at every start. A
// page is a function of that, and of the log, the studies and the store for the one thing that it
// shows. guard decides what a client may do (caller): clients of Options.Readers may read, and a
// session, which a browser gets for the token, may read and act. Read Console first.
package console
