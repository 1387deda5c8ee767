// Package multihost has several hosts train one model. The first host is the leader: it claims jobs
// like any worker, holds the lease, and alone writes to store and bus. The others are its members:
// they don't use the queue, and follow the leader's commands.
//
// The course of one job:
//
//	leader   waits until every member is connected (Leader.Whole), and claims a job only then
//	leader   sends the job to the members (Begin): all of them stage its inputs from the store at the same time
//	member   reports that it is ready, and the checkpoint that it resumes from (MemberRound.Ready); so does the leader (Round.Ready), which compares
//	leader   says go: on each host the module starts, with all hosts in its TF_CONFIG
//	leader   is done, or has failed, or is stopping: the members end theirs (Round.End). The leader alone checks and commits
//
// A link is one connection for each member, made by it and made again when it breaks. A host that
// is silent for 20 s counts as gone. A failure on one host ends the training on all of them, and
// the job has the error of the host that failed first, not the broken connections of the others. A
// member that is gone fails the attempt as unavailable: it is retried, from the last checkpoint.
// When a leader is gone its members drop their work; its job is on the queue, for this group or
// another.
//
// No state of a group is stored: members and leaders start with nothing but the hosts' names and a
// token that all of them have. Links are TLS, with one key that both ends derive from the token, so
// that no other host can connect or listen. TensorFlow's own traffic between hosts is in clear: its
// ports are for the group's network alone.
//
// It knows no store, no bus and no module. Read Leader first, then Follow.
package multihost
