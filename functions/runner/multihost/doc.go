// Package multihost has several hosts train one model. The first host is the leader: it claims jobs
// like any worker, holds the lease, and alone writes to the store and publishes events. The others
// are its members: they claim no jobs, and follow the leader's commands.
//
// One job is one round:
//
//	leader   waits until every member has joined (Leader.Whole), and only then claims a job
//	leader   sends the job's id to the members (Begin): all of them stage its inputs at once
//	member   reports its checkpoint (MemberRound.Ready); the leader compares (Round.Ready)
//	leader   sends "go": on each host the module starts, with all hosts in its TF_CONFIG
//	leader   succeeds, fails or stops: the members end (Round.End); the leader alone commits
//
// A failure on one host ends the training on all of them, and the job has the error of the host
// that failed first, not the broken connections of the others. If a member is gone, the attempt
// fails as unavailable: it is retried, from the last checkpoint. If the leader is gone, its members
// drop their work; its job is on the queue, for this group or another. They join the next leader,
// unless the group is for one job.
//
// # Sessions
//
// Hosts speak over the bus by request and reply (events.RequestReply). Each serves a subject of its
// own, hosts.<class>.<group>.<rank>; the group is named by the address of its leader. No connection
// leads from host to host, other than TensorFlow's own.
//
// A session is the time from a member's request to join to its end. It is named by an id of the
// leader's and one of the member's, both random. Each message has them: a host refuses the messages
// of an earlier session, of its peer or of its own. Within a session the messages of one side are
// numbered, sent one after another, and repeated until there is a reply; the receiver handles each
// once. So nothing is lost or reordered while the session lasts.
//
// Each side asks the other every five seconds, if it has nothing to send. A session ends
//
//   - on both sides, when one of them leaves, or joins or leads again;
//   - after at most 10 s for the survivor of a process that was killed: its subject is not served;
//   - after at most Silence (30 s), and five seconds for the last try, on both sides of a host that
//     was cut off, that stands still, or whose bus is away.
//
// Then the member ends its part, and the leader has the round fail on all other hosts. These bounds
// are measured on the monotonic clock of each host from when its last answered request was sent.
//
// # The lease
//
// The lease of the job is what makes a leader one. A leader that loses it ends the round (the
// context of Round.Run ends). A member begins a round only if the leader's attempt holds the lease:
// it reads the lease's entry and the job's message, both from the leaders of their streams. These
// reads see what was written before the command, so that the true holder is never refused. They are
// not linearizable while a server that leads a stream is cut off from the others without knowing
// it: a member may then follow an attempt whose lease has passed to another one. That is harmless,
// because only the leader has effects, and it has none without the lease. Nothing else is read from
// the bus, and nothing is written: a group has no stored state.
//
// If two processes lead one group, the one that began later by its own host's clock continues: each
// leader announces itself on the subject that leaders serve, and ends its sessions when it receives
// the announcement of a later one. The lease of a job, not this order, protects its results.
//
// Only workers may use these subjects, those of their classes (functions/admin/access).
// TensorFlow's own traffic between hosts is not encrypted and not authenticated: its ports must be
// reachable from the group's network only.
//
// The package uses no store and no module. Read Leader first, then Follow, then session.
package multihost
