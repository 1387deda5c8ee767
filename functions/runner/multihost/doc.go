// Package multihost has several hosts train one model. The first host is the leader: it claims jobs
// like any worker, holds the lease, and alone writes to store and bus. The others are its members:
// they don't use the queue, and follow the leader's commands.
//
// One job is one round:
//
//	leader   waits until every member is connected (Leader.Whole), and only then claims a job
//	leader   sends the job to the members (Begin): all of them stage its inputs from the store at once
//	member   reports that it is ready, and its checkpoint (MemberRound.Ready); the leader compares (Round.Ready)
//	leader   sends "go": on each host the module starts, with all hosts in its TF_CONFIG
//	leader   succeeds, fails or stops: the members end theirs (Round.End). The leader alone checks and commits
//
// A link is one connection for each member, which the member opens, and opens again when it breaks.
// A host that is silent for 20 s counts as gone. A failure on one host ends the training on all of
// them, and the job has the error of the host that failed first, not the broken connections of the
// others. If a member is gone, the attempt fails as unavailable: it is retried, from the last
// checkpoint. If the leader is gone, its members drop their work; its job is on the queue, for this
// group or another.
//
// No state of a group is stored: members and leaders start with only the hosts' names and a token
// that all of them have. Links use TLS, with one key that both ends derive from the token, so that
// no other host can connect or listen. TensorFlow's own traffic between hosts is not encrypted: its
// ports must be reachable from the group's network only.
//
// The package uses no store, no bus and no module. Read Leader first, then Follow.
package multihost
