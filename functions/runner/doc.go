// Package runner runs modules, each in a process of its own: a crash, a leak or a hang ends that process, never the worker.
// It speaks the protocol of functions/module, and keeps what a process may do within limits.
//
// It finds and builds what is to be run, starts it in a process group, and at the end leaves no process of the group
// behind. It knows no bus and no store, and nothing of what modules compute. Read Runner first, then Run.
//
// A TFX module may be one of several processes that train one model; functions/runner/python has the rules. For limits
// and ends those of one host are one module.
//
// # Warm starts of TFX modules
//
// To import TensorFlow takes seconds, so Options.Warm and PythonWarm keep processes that have done so: of each environment and
// Keras version, from its first job until none has come for ten minutes. None of them has run an operation, touched a device
// or loaded a module of a user's.
//
// By fork, Linux only, one process imports, and each job gets a child of it: a process with a group, home, cgroup, log
// and limits of its own, which shares with others only memory that nobody has written to since the imports. A job that
// comes during the imports waits for them. The parent refuses to fork where a child would hang, because TensorFlow's
// eager context or more threads have been started, and is replaced then. A child that hangs all the same, that has used
// no processor, printed and reported nothing for a minute, is ended, and its job starts again in a process of its own.
// When the parent is killed the kernel ends its children, and their jobs have crashed. Random numbers differ from job
// to job, as in processes of their own; only the order of Python's sets of strings, which a process draws once, is the
// same for all children of a parent.
//
// By idle, everywhere, as many processes as Options.Warm import and wait, and each is used once. It is for GPUs, whose
// driver can't be used behind a fork, and the default where one is visible. None of this was tried on a GPU.
//
// The GPUs that CUDA_VISIBLE_DEVICES or the driver's files tell of are shared out over Options.Slots, and each job is
// told its share by CUDA_VISIBLE_DEVICES. With fewer GPUs than slots, jobs share one; TF_FORCE_GPU_ALLOW_GROWTH is true
// unless the worker's environment says otherwise.
//
// # Builtin modules on a GPU
//
// A builtin module whose Limits ask for a GPU is run by another program than this one, stoker-cuda, once that has said that it finds a
// GPU: it links CUDA's Go package, which ends a process that finds none. There is one such process for each job, or each
// session. Where the program or the GPU is missing, the job's log says so in a line, and it trains on the CPU. None of this was tried on a
// GPU.
//
// # Memory
//
// A module's memory limit holds for all its processes together. Unless told otherwise the worker adds up their resident memory
// ten times a second, and ends a module that is over its limit. With a cgroup to divide, which Options.Cgroup or STOKER_CGROUP
// names, the kernel holds each module to its limit, and a worker that can't use what it was given does not start:
// functions/runner/process says how that can be had.
//
// # What keeps modules apart
//
// Credentials are kept out of a module's environment, and on Linux out of its sight in the worker's. Where the kernel has Landlock, a module of
// others writes to the folders of its assignment and its home alone, and can't read Options.Hidden nor the files that usually hold credentials.
// The same holds for what its requirements run. Processes that start before their job is known, as those of builtin modules do, write below
// Options.WorkDir.
// With STOKER_MODULE_USER each process has a user of its own besides, to whom the folders of a job belong as long as it works there: users.go.
// What is run is what was digested: programs that are built here run from sealed memory, TFX modules from copies of their own. Without
// Landlock a module is code that its operator trusts with what the worker's user may read and write; the worker then notices only what was
// changed before it looked.
package runner
