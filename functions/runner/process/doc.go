// Package process has children that end with everything they started.
//
// A Process leads a process group of its own, and has a home, pipes, a mark in its environment and, where it can be had, a cgroup.
// It knows nothing of what it is started for: what goes through the pipes, and how long it may run, is its caller's. A Server is a
// Process that forks others, and a Place is where all of them live. Read Place first, then Process.
//
// A process that leaves its group (setsid) is found by the mark, on Linux. One that takes off the mark too is found by its cgroup; where
// there is none, by its brand, a filter of system calls that each process inherits and none gets rid of, once it has become an orphan and so
// a child of this process. It is ended when no process is busy any more that was so when it began.
//
// That filter also refuses to set limits and priorities of other processes, the worker among them.
//
// With an Access, the kernel holds a process to what it may do with files, sends its signals to no others, and has it look into the memory of
// none, by Landlock: see CanSandbox.
//
// With Users, each Process of a root worker has a user ID of its own, which the kernel keeps from the files, the memory and the signals of all
// others. This program starts itself for that, sets its limits, changes its user and executes the process's program: see Enter.
//
// # Memory
//
// A memory limit holds for all that a process starts together. Without a cgroup somebody has to look at GroupMemoryBytes now and then;
// what grows faster than that is the kernel's, which knows no limit of ours then and may end anything.
//
// With a cgroup to divide, the kernel itself holds each process to its limit, page cache that can be dropped not counted. Open is
// told its name, and fails where it can't be used: "own", the one that this process is in, or the path of another. Nothing is
// done to cgroups without being asked: with version 2 a cgroup can be divided only when no process is in it, so this process, the
// worker, has to move into a cgroup of its own below, stoker-worker. It moves no one but itself, and refuses where others are.
// Ways that this can be had, with STOKER_CGROUP as the worker's word for the name:
//
//   - A systemd unit with Delegate=yes, DelegateSubgroup=stoker-worker (systemd 254 and later; the worker does it itself
//     otherwise), KillMode=mixed, so that a stop reaches the modules through the worker, and Environment=STOKER_CGROUP=own.
//   - A container with a cgroup namespace and /sys/fs/cgroup writable, in which the worker is the only process when it
//     starts, and STOKER_CGROUP=own.
//   - A folder that an administrator made for the worker's user, and STOKER_CGROUP=/sys/fs/cgroup/... In version 2 the memory
//     controller must be handed to it (cgroup.subtree_control of the one above), and the worker's user be allowed to move
//     processes from where the worker is. In version 1 it lies in the memory hierarchy.
//
// Version 2 needs Linux 5.7, and tells peaks from 5.19 on. In version 1 a process is moved in right after its start: what it
// allocates before that is not counted.
package process
