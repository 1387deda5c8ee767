// Package oracle is KerasTuner's oracle, served from a study's log: processes of unmodified
// KerasTuner, each next to a worker of its own, take the trials of one study by the protocol that
// KerasTuner's workers speak to its chief. There is no chief here: each worker serves its own
// process on 127.0.0.1, and they share the log.
//
// What a trial is, and which tuner gets it, is decided by the log, behind a Backend. The wire
// format is here, and where the wire loses something it is repaired here: the space keeps the order
// in which it was registered, which the wire sorts by type; scores are the float64s that
// UpdateTrial brings, not the float32s of a trial; a try's values are forgotten when it begins
// again; a tuner waits before it has to ask again. oraclepb has the messages. Read Backend, then
// Server.
//
// The service has no credentials, as KerasTuner has none to give: it listens on this machine alone,
// to processes of the same user where the system names it (functions/internal/peer), and accepts
// reports on trials that run at its own backend only.
package oracle
