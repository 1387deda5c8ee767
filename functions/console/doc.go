// Package console is the web page of one Stoker: runs as they happen, their curves, studies, the lineage of models, dead letters and
// pipelines. It serves HTML that is made here, and nothing from elsewhere; a page reads well without JavaScript, and with it follows
// what happens by server-sent events.
//
// A follower keeps what the pages need in memory (model), built anew from the bus at every start; a page is a function of that, and of
// what the log, the studies and the store say of the one thing it shows. What a client may do is decided in guard, by who it is (caller):
// Options.Readers may read, and a session, which a browser gets for the token, may read and act. Read Console first.
package console
