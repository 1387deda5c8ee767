// Package group has several hosts train one model. The first host is the leader: it takes jobs as any worker does, holds the lease, and
// alone writes to store and bus. The others are its members: they know no queue, and do what the leader says.
//
// The walk of one job:
//
//	leader   waits until every member is there (Leader.Whole), and takes a job only then
//	leader   tells the members of the job (Begin): all of them stage its inputs from the store at the same time
//	member   says that it is ready, and what it goes on from (Turn.Ready); so does the leader (Work.Ready), which compares
//	leader   says go: on each host the module starts, with all hosts in its TF_CONFIG
//	leader   is done, or has failed, or is told to leave: the members end theirs (Work.End). The leader alone checks and commits
//
// A link is one connection for each member, made by it and made again when it breaks. Whoever is silent for 20 s is gone. What ends a
// training on one host ends it on all of them, and the job has the reason of the host that failed first, not the broken connections that
// the others see. A member that is gone fails the attempt as unavailable: it is tried again, from the last checkpoint. A leader that is gone
// has its members drop what they do; its job is on the queue, for this group or another.
//
// Nothing of a group is kept anywhere: members that come back, and leaders, begin with nothing but the hosts' names and a token that all of
// them know. Links are TLS, with one key that both ends derive from the token, so that nobody else is heard or can listen. What
// TensorFlow says from host to host is its own, in clear: its ports are for the group's network alone.
//
// It knows no store, no bus and no module. Read Leader first, then Follow.
package group
