// Package process starts child processes that end with everything they started.
//
// A Process leads a process group of its own, and has a home, pipes, a mark in its environment and,
// if possible, a cgroup. The package does not know what a process is for: its caller decides what
// goes through the pipes, and how long the process may run. A ForkServer is a Process that forks
// others. A Supervisor starts all of them and cleans up after them. Read Supervisor first, then
// Process.
//
// On Linux, a process that leaves its group (setsid) is found by the mark. One that also removes
// the mark is found by its cgroup. Without cgroups it is found by its brand, a system call filter
// that each process inherits and can't remove, once it has become an orphan and so a child of this
// process. It is ended when no process is busy any more that was busy when it began. The filter
// also refuses calls that set limits and priorities of other processes, including the worker.
//
// With an Access, the kernel restricts by Landlock what a process may do with files, and lets it
// neither signal processes outside its sandbox nor read the memory of any: see CanSandbox.
//
// With Users, each Process of a root worker has a user ID of its own, which the kernel keeps from
// the files, the memory and the signals of all others. This program then starts itself, sets its
// limits, changes its user and executes the process's program: see Enter.
//
// # Memory
//
// A memory limit applies to everything that a process starts together. Without a cgroup the caller
// has to check GroupMemoryBytes regularly; if memory grows faster than that, the kernel, which does
// not know the limit, may end any process.
//
// With a cgroup to divide, the kernel itself enforces the limit of each process, not counting page
// cache that can be dropped. Open takes its name, and fails if it can't be used: "own" for the one
// that this process is in, or the path of another. Without a name, cgroups are not used: with
// version 2 a cgroup can be divided only when no process is in it, so this process, the worker, has
// to move into a cgroup of its own below it, stoker-worker. It moves no other process, and fails if
// there are others.
//
// Ways to have one, with the name in the worker's STOKER_CGROUP:
//
//   - A systemd unit with Delegate=yes, DelegateSubgroup=stoker-worker (systemd 254 and later;
//     otherwise the worker does it itself), KillMode=mixed, so that a stop reaches the modules
//     through the worker, and Environment=STOKER_CGROUP=own.
//   - A container with a cgroup namespace and /sys/fs/cgroup writable, in which the worker is the
//     only process when it starts, and STOKER_CGROUP=own.
//   - A directory that an administrator made for the worker's user, and
//     STOKER_CGROUP=/sys/fs/cgroup/... In version 2 the memory controller must be delegated to it
//     (cgroup.subtree_control of the one above), and the worker's user must be allowed to move
//     processes from where the worker is. In version 1 it is in the memory hierarchy.
//
// Version 2 needs Linux 5.7, and reports peaks from 5.19 on. In version 1 a process is moved in
// right after its start: what it allocates before that is not counted.
package process
