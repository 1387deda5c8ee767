// Package oracle is KerasTuner's oracle, served from a study's log: processes of unmodified KerasTuner, each beside a worker of
// its own, take the trials of one study by the protocol that KerasTuner's workers speak to its chief. There is no chief here:
// each worker serves its own process on 127.0.0.1, and the log is what they share.
//
// What a trial is, and who gets it, is the log's business: a Desk is the door to it. What goes over the wire is here, and where
// the wire loses something it is mended here: the space keeps the order in which it was registered, which the wire sorts by type;
// scores are the float64s that UpdateTrial brings, not the float32s of a trial; a try's values are forgotten when it begins
// again; nobody is told to ask again at once. oraclepb has the messages. Read Desk, then Server.
//
// The service has no credentials, as KerasTuner has none to give: it listens on this machine alone, to processes of the same user
// where the system names it (functions/peer), and takes words on trials that run at its own desk only.
package oracle
