// Package console is the web page of one Stoker: runs as they happen, their curves, studies, the lineage of models, dead letters and
// pipelines. It serves HTML that is made here, and nothing from elsewhere; a page reads well without JavaScript, and with it follows
// what happens by server-sent events.
//
// A follower keeps what the pages need in memory (model), built anew from the bus at every start; a page is a function of that, and of
// what the log, the studies and the store say of the one thing it shows. Who may do what is decided in guard: everybody who reaches the
// page may read, unless Options.Private; only who has the token may act. Read Console first.
package console
