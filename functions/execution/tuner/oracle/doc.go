// Package oracle is KerasTuner's oracle, served from a study's log. Processes of unmodified
// KerasTuner, each next to a worker of its own, take the trials of one study by the protocol that
// KerasTuner's workers speak to its chief. There is no chief here: each worker serves its own
// process on 127.0.0.1, and all share the log.
//
// The log decides what a trial is and which tuner gets it, behind a Backend. This package has the
// wire format, and restores what the wire loses: the space keeps the order in which it was
// registered, which the wire sorts by type; scores are the float64s of UpdateTrial, not the
// float32s of a trial; the values of a try are forgotten when it begins again; a tuner waits before
// it has to ask again. oraclepb has the messages. Read Backend, then Server.
//
// The service has no credentials, because KerasTuner sends none. It listens on this machine only,
// accepts only processes of the same user on systems that report the user
// (functions/internal/peer), and accepts reports only on trials that run at its own backend.
package oracle
