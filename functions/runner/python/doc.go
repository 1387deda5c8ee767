// Package python holds what it takes to run a TFX module file: the environments that TensorFlow is
// in, the driver that runs the module in a process, and the shim that replaces the tfx package. It
// starts no modules itself: functions/runner does.
//
// # Environments
//
// An environment is an interpreter with packages: the user's own, one of Make's (`stoker python
// setup`), or one of these with a pipeline's requirements laid over it. Find says which is meant,
// and what is missing in it; read it first. Make's packages stand in requirements.lock at fixed
// versions, with requirements-gpu.lock in place of its TensorFlow for GPUs, and
// requirements-estimator.lock is a set of its own.
//
// # The driver
//
// driver/ is Python, embedded here and laid out in the cache folder. The command is
//
//	<interpreter> --check-hash-based-pycs always -m stoker_runner <mode>
//
// Bytecode that names the hash of its source is used only if that is the source
// (--check-hash-based-pycs always). Each job has a copy of its module's files, without bytecode,
// which goes with the job. A folder for the bytecode of each job (PYTHONPYCACHEPREFIX) would add
// nothing, and cost the compilation of all installed packages: see infra/threats.md.
//
// Mode job reads two lines from standard input, a Setup and an Assignment of functions/module,
// works on that one assignment, and leaves. Progress, "done" and "error" go to STOKER_PROGRESS_FD
// as of any module. Mode idle imports what modules need first, and reads then: a process that waits
// warm and is used once. Mode fork imports the same, and forks a process in mode job for each
// request on its socket. STOKER_PRELOAD in the worker's environment names what both import instead
// of what TFX modules usually need, with commas between; such an import must run no operation.
//
// # Keras
//
// Which Keras tf.keras is, is settled before TensorFlow is imported. Where the pipeline doesn't say
// it, the module's source does, if it saves with save_format or imports tf_keras (2), or is called
// for a search by KerasTuner (3). Else it is Keras 3, until an error comes up that the other one
// does not raise: functions/runner empties what the first try has written, starts the other one,
// once, and remembers it by the module's digest and the environment, and in the job's checkpoints.
//
// # Errors
//
// An exception is reported with the line of the module that it came up in, and with what to do
// about it where that is known: the package to add, the Keras to set. It is the data's fault where
// an example can't be parsed, lacks the label, or lies in a broken file, which is named; the
// machine's where a disk is full; resources where memory is. All else is the module's.
//
// # Several workers
//
// An assignment for several workers is seen to by a process that starts one in mode job for each of
// them, in its own process group: limits, the request to leave and the end hold for all of them
// together, and the worker sees one process as ever. Each gets a TF_CONFIG with ports of 127.0.0.1
// that the first process holds meanwhile, and an equal share of the job's GPUs where there are as
// many. Worker 0 is the chief: its progress, checkpoints and metrics are the job's, its folders are
// published. The others have folders of their own below the job's home, with a copy of what the
// chief goes on from, so that all resume alike; they go at the end. Every line of the log says
// whose it is. When one fails, all are ended, and the job fails for the reason of that one, not for
// the broken connections that the others see. An end by SIGTERM may find the workers in different
// steps: then those that wait for another are killed after the grace time, and the next attempt
// goes on from the checkpoint before.
//
// Where the assignment names a cluster, its processes are on several hosts, and this is one of
// them: nothing is started, the module's TF_CONFIG has all of them, worker 0 writes into the
// assignment's folders and all others into folders of their own. functions/runner/multihost has
// their hosts agree on what they train, begin together and end together. It is the same where
// TF_CONFIG is in the worker's environment, because others have started a cluster; how the jobs of
// its workers are distinguished is theirs then.
//
// # Other formats
//
// What a pipeline exports is made of the SavedModel when training is over, by converters in a
// process of their own: one that aborts costs the format that it was at. Formats that can't be
// written come with "done", each with the reason. TensorFlow Lite and ONNX are made of
// serving_default if that takes and gives plain numbers, else of the first signature by name that
// does.
//
// # How a module gets on, and what survives
//
// Keras's own fit and evaluate report steps, epochs and metrics by a callback of the driver's, and
// KerasTuner's search reports its trials, without the module's help. Loops of its own may report:
// driver/stoker is the package that a module may import, for stoker.report, stoker.checkpoint and
// stoker.stopping. The metrics of the last evaluation are those that the model is known by.
//
// What a module writes below working_dir and model_run_dir is kept at the ends of epochs and
// trials, when it says stoker.checkpoint(), and when its files have changed and lie still; it is
// there again for the next attempt, below folders that may have other names. So BackupAndRestore,
// tf.train.CheckpointManager and a KerasTuner project with directory=fn_args.working_dir resume as
// they are.
//
// # A search on several workers
//
// With an assignment's oracle, tuner_fn is called as ever, and then its tuner's oracle looked at:
// where it is exactly one of KerasTuner's four, its arguments are reported as the study to search,
// KerasTuner's own client of a remote oracle takes its place, and tuner.search runs KerasTuner's
// own loop on the study's trials. BayesianOptimization is the study's bayesian search, with its own
// acquisition: alpha and beta are not used. A Hyperband trial that goes on from another has its
// weights, of the best epoch, and its optimizer as it was then. KerasTuner's checkpoint has both.
// With Keras 2 KerasTuner restores both; with Keras 3 it passes over the optimizer, and warns of
// it: then the driver puts it back when the model's fit begins, where it is of the same kind and
// shapes; else it begins anew, and a line in the log says so. In a KerasTuner process without this
// driver, and in a search that runs whole in one process, it begins anew with Keras 3. A trial
// whose worker was lost begins again, but for what the module's own BackupAndRestore kept. A tuner
// with another oracle, with no parameters before its first trial, or with a Hyperband that never
// ends searches whole in this one process; the log says so.
//
// The end of each epoch of a trial's fits is reported, and the study may end the trial there, as by
// EarlyStopping. A pipeline may give such a study another algorithm; of those with epochs, asha and
// bohb, only KerasTuner's Hyperband tuner keeps to the epochs.
//
// # Leaving
//
// SIGTERM has Keras's fit left at the end of a batch. A module that neither fits nor asks
// stoker.stopping() is ended at once, with what lies still kept.
package python
