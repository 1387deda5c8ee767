// Package guest runs modules, each in a process of its own: a crash, a leak or a hang ends that process, never the worker.
// It speaks the protocol of functions/module, and keeps what a process may do within limits.
//
// It finds and builds what is to be run, starts it in a process group, and at the end leaves no process of the group
// behind. It knows no bus and no store, and nothing of what modules compute. Read Host first, then Run.
//
// A process that leaves its group (setsid) is found by a mark in its environment, on Linux; one that takes off the mark too
// leaves guest's reach, and only a container around the worker holds it.
//
// A module is code that its operator trusts with what the worker's user may read, the connection.json of a local stack
// among it. Credentials are kept out of its environment, and on Linux out of its sight in the worker's; no more than that.
package guest
