// Package python has everything that running a TFX module file needs: the environments with
// TensorFlow, the driver that runs the module in a process, and the shim that replaces the tfx
// package. It starts no modules itself: functions/runner does.
//
// # Environments
//
// An environment is an interpreter with packages: the user's own, one of Make's (`stoker python
// setup`), or one of these with a pipeline's requirements installed over it. Find returns the one
// to use, and what is missing in it; read it first. requirements.lock has Make's packages at fixed
// versions, requirements-gpu.lock replaces its TensorFlow for GPUs, and requirements-estimator.lock
// is a set of its own.
//
// # The driver
//
// driver/ contains the driver in Python, embedded here and written to the cache directory. The
// command is
//
//	<interpreter> --check-hash-based-pycs always -m stoker_runner <mode>
//
// Bytecode that names the hash of its source is used only if the source has that hash
// (--check-hash-based-pycs always). Each job has a copy of its module's files, without bytecode,
// which is removed with the job. A directory for the bytecode of each job (PYTHONPYCACHEPREFIX)
// would not be safer, and would require compiling all installed packages: see
// infra/threats.md.
//
// Mode job reads two lines from standard input, a Setup and an Assignment of functions/module,
// works on that one assignment, and exits. Progress, "done" and "error" are written to
// STOKER_PROGRESS_FD, as by any module. Mode idle first imports the packages that modules need,
// then reads: a warm process that waits and is used once. Mode fork imports the same packages, and
// forks a process in mode job for each request on its socket. STOKER_PRELOAD in the worker's
// environment lists packages, separated by commas, that both import instead of those that TFX
// modules usually need; such an import must run no operation.
//
// # Keras
//
// The version of tf.keras must be chosen before TensorFlow is imported. If the pipeline doesn't
// name it, the module's source decides: Keras 2 if it saves with save_format or imports tf_keras,
// Keras 3 if it is called for a search by KerasTuner. Otherwise it is Keras 3, until an error is
// raised that Keras 2 does not raise: functions/runner then removes what the first try has written,
// starts the other version, once, and remembers it by the module's digest and the environment, and
// in the job's checkpoints.
//
// # Errors
//
// An exception is reported with the line of the module that raised it, and with a remedy if one is
// known: the package to install, the Keras to set. It is the data's fault if an example can't be
// parsed, lacks the label, or is in a broken file, which is named; the machine's if a disk is full;
// of kind resources if memory is exhausted. All other exceptions are the module's fault.
//
// # Several workers
//
// For an assignment of several workers, one process starts a process in mode job for each of them,
// in its own process group: limits, the request to stop and the end apply to all of them together,
// and Stoker's worker sees a single process. Each gets a TF_CONFIG with ports of 127.0.0.1 that the
// first process reserves, and an equal share of the job's GPUs if there are enough. Worker 0 is the
// chief: its progress, checkpoints and metrics are the job's, and its directories are published.
// The others have directories of their own below the job's home, with a copy of the chief's
// checkpoint, so that all resume from the same state; these are removed at the end. Every line of
// the log names its worker. If one fails, all are ended, and the job fails for the reason of that
// one, not for the broken connections that the others report. SIGTERM may arrive while the workers
// are at different steps: then those that wait for another are killed after the grace period, and
// the next attempt continues from the checkpoint before.
//
// If the assignment names a cluster, its processes are on several hosts, and this is one of them:
// it starts no others, the module's TF_CONFIG lists all of them, and worker 0 writes into the
// assignment's directories, all others into directories of their own. functions/runner/multihost
// makes the hosts agree on the job, begin together and end together. The same applies if TF_CONFIG
// is in the worker's environment, because something else has started a cluster; that is then
// responsible for giving its workers the same job.
//
// # Other formats
//
// Exports are made from the SavedModel after the training, by converters in a process of their own:
// if one aborts, only its format is missing. "done" lists the formats that could not be written,
// each with the reason. TensorFlow Lite and ONNX are made from serving_default if its inputs and
// outputs are plain numbers, else from the first signature by name for which they are.
//
// # Progress and checkpoints of a module
//
// Keras's own fit and evaluate report steps, epochs and metrics through a callback of the driver's,
// and KerasTuner's search reports its trials, without the module's help. Custom loops can report
// through driver/stoker, a package that a module may import for stoker.report, stoker.checkpoint
// and stoker.stopping. The metrics of the last evaluation are the model's.
//
// The files below working_dir and model_run_dir are saved at the ends of epochs and trials, when
// the module calls stoker.checkpoint(), and when files have changed and are then left unchanged for
// a while. They are restored for the next attempt, below directories that may have other names. So
// BackupAndRestore, tf.train.CheckpointManager and a KerasTuner project with
// directory=fn_args.working_dir resume without changes.
//
// # A search on several workers
//
// If the assignment has an oracle, tuner_fn is called as usual, and then its tuner's oracle is
// inspected. If that is exactly one of KerasTuner's four, its arguments are reported as the study
// to search, KerasTuner's own client of a remote oracle replaces it, and tuner.search runs
// KerasTuner's own loop on the study's trials. BayesianOptimization becomes the study's bayesian
// search, with that one's acquisition function: alpha and beta are not used. A Hyperband trial that
// continues another has its weights at the best epoch, and its optimizer at that time. KerasTuner's
// checkpoint has both. With Keras 2 KerasTuner restores both; with Keras 3 it skips the optimizer,
// with a warning. In that case the driver restores the optimizer when the model's fit begins, if it
// is of the same kind and shapes; otherwise the optimizer starts anew, and a line in the log says
// so. In a KerasTuner process without this driver, and in a search that runs in one process, it
// starts anew with Keras 3. A trial whose worker was lost starts again, except for what the
// module's own BackupAndRestore saved. A tuner with another oracle, with no parameters before its
// first trial, or with a Hyperband that never ends runs its whole search in this one process; the
// log says so.
//
// The end of each epoch of a trial's fits is reported, and the study may end the trial there, as
// EarlyStopping does. A pipeline may give such a study another algorithm. With asha and bohb, which
// limit the epochs of a trial, only KerasTuner's Hyperband tuner respects the limit.
//
// # Stopping
//
// SIGTERM makes Keras's fit return at the end of a batch. A module that neither calls fit nor
// checks stoker.stopping() is ended at once; files that are not being changed are saved.
package python
