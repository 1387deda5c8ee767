// Package runner runs modules, each in a child process: a crash, a leak or a hang ends that
// process, never the worker. It speaks the protocol of functions/module, and limits what a process
// may do.
//
// It finds or builds the program, starts it in a process group, and leaves no process of the group
// behind. It uses no bus and no store, and knows nothing about what modules compute.
//
// Read Runner first, then run.go from top to bottom: Runner.Run chooses a strategy (a process of
// the module's own, a warm one, one with a GPU, one that has imported TensorFlow, another Keras),
// and the strategy starts the process. exchange.go has the dialog with one process: assignment in,
// messages and log out, limits, end. Session keeps one process for several assignments. tfx.go
// prepares TFX modules, build.go builds Go modules. Several hosts that train one model are in
// functions/runner/multihost; a TFX module that is several processes on one host is one module
// here, with one set of limits, and functions/runner/python has the rules.
//
// # Warm starts of TFX modules
//
// Importing TensorFlow takes seconds. Options.Warm and PythonWarm therefore keep processes that
// have imported it: for each environment and Keras version, from its first job until none has come
// for ten minutes. None of them has run an operation, touched a device or loaded a user's module.
//
// By fork (Linux only), one process imports, and each job gets a child of it, with a process group,
// home, cgroup, log and limits of its own. It shares with other jobs only memory that nobody has
// written to since the imports. A job that comes during the imports waits for them. The parent
// refuses to fork, and is replaced, if a child would hang because TensorFlow's eager context or
// more threads have been started. A child that hangs nevertheless, that has used no CPU and printed
// and reported nothing for a minute, is ended, and its job starts again in a process of its own. If
// the parent is killed the kernel ends its children, and their jobs have crashed. Random numbers
// differ from job to job, as in processes of their own. Only the order of Python's sets of strings,
// which a process draws once, is the same for all children of a parent.
//
// By idle (everywhere), Options.Warm processes import and wait, and each is used once. It is for
// GPUs, whose driver can't be used after a fork, and the default if one is visible. None of this
// has been tested on a GPU.
//
// The GPUs in CUDA_VISIBLE_DEVICES or in the driver's files are divided among Options.Slots, and
// each job gets its share in CUDA_VISIBLE_DEVICES. With fewer GPUs than slots, jobs share one;
// TF_FORCE_GPU_ALLOW_GROWTH is true unless the worker's environment sets it.
//
// # Builtin modules on a GPU
//
// A builtin module whose Limits ask for a GPU is run by another program, stoker-cuda, once that has
// found a GPU. It links CUDA's Go package, which ends a process without a GPU. There is one such
// process for each job or session. If the program or the GPU is missing, the job trains on the CPU,
// and its log says so in one line. None of this has been tested on a GPU.
//
// # Memory
//
// A module's memory limit applies to all its processes together. By default the worker adds up
// their resident memory ten times a second, and ends a module that exceeds its limit. With a cgroup
// to divide, from Options.Cgroup or STOKER_CGROUP, the kernel enforces each module's limit, and a
// worker that can't use the cgroup does not start: see functions/runner/process.
//
// # Isolation of modules
//
// Credentials are kept out of a module's environment, and on Linux it can't read the worker's. If
// the kernel has Landlock, a module that is not Stoker's own writes only to the directories of its
// assignment and to its home, and can't read Options.Hidden nor the files that usually hold
// credentials. The same holds for the code that its requirements run. Processes that start before
// their job is known, such as those of builtin modules, write below Options.WorkDir.
//
// With STOKER_MODULE_USER each process also has a user of its own, who owns the directories of a
// job while it runs: see users.go. A program is run as it was digested: programs that are built
// here run from sealed memory, TFX modules from copies of their own. Without Landlock a module is
// code that its operator trusts with everything that the worker's user may read and write; the
// worker then detects only changes from before it checked.
package runner
