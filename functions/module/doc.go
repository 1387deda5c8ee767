// Package module is the API with which a Go program trains models for Stoker, and the protocol
// between a worker and the process in which a module runs. Write a Module, pass it to Main, and
// read Args. The worker's side is functions/runner.
//
// Modules use the packages of compute: example reads the data, nn builds networks, train is the
// loop, savedmodel writes the model for serving. local/examples/penguin uses all four; copy it to
// start. For an API like TensorFlow's Estimators see functions/module/estimator and
// local/examples/taxi.
//
// # Writing a module
//
// A module is a Go program with its own go.mod. In any directory:
//
//	mkdir mine && cd mine
//	go mod init example.com/mine
//	go get github.com/stoker-ml/stoker@latest
//
// with this main.go:
//
//	func main() { module.Main(module.Module{Train: train}) }
//
//	func train(ctx context.Context, a *module.Args) error { ... }
//
// Until there is a release, have the go command take Stoker from a clone instead:
//
//	go mod edit -require github.com/stoker-ml/stoker@v0.0.0
//	go mod edit -replace github.com/stoker-ml/stoker=/path/to/stoker
//	go mod tidy
//
// Then try it (stoker try ./mine --examples ...), and name the folder in a pipeline: module:
// /path/to/mine. The worker builds it there with the go command.
//
// # Protocol, version 1
//
// The worker starts the process and writes one Assignment as one line of JSON to its standard
// input. The process writes its progress as lines of JSON (Message), each at most MaxMessageBytes
// long, to the file descriptor that STOKER_PROGRESS_FD names: 3. Other lines on it are log lines.
// Standard output and error are the job's log.
//
// The call of an assignment is the operation requested. For train, the module writes a model. For
// tune, it sends one message, "study", whose study is a tune.Config: space, objective, algorithm,
// as JSON; compute/tune has the names. The worker runs the search, and each of its trials is an
// assignment with the call trial: a training for its metrics, whose "progress" messages carry the
// metrics of the evaluation data as they become known. A module that searches itself, as
// KerasTuner's tuners do, instead writes the files best_hyperparameters.txt and tuner_results.json
// into their folders, and sends no "study". One that is given an oracle sends "study", and gets
// trials from that oracle, through KerasTuner's own gRPC service, until there are no more.
//
// A train may report what it uses in "settings": a JSON object of everything that affects the
// result, defaults included. The worker keeps it with the model, without secrets.
//
// The last message of an assignment is "done" or "error". After "done" the process reads the next
// assignment, and exits with status 0 at the end of standard input; a process for a single
// assignment may exit at once. The worker sends the next assignment only after "done", so the
// process must send nothing and leave nothing running after it. The trials of one study go to one
// process, in sequence, while it lives. Otherwise workers send more than one assignment only to
// compiled-in modules, and close standard input after the first for all others.
//
// A process that fails sends an "error", whose ErrorKind gives the cause, and exits with any status
// but 0. SIGTERM means: write a checkpoint and exit with status 75 (EX_TEMPFAIL of sysexits.h). A
// process that still runs some seconds later is killed, with every process that it started. Results
// are files in the folders that the assignment names.
//
// The environment holds no credentials of the worker. HOME and TMPDIR are the same directory, which
// is also the working directory; it is empty when an assignment starts, and is emptied afterwards.
package module
