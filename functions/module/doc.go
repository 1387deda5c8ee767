// Package module is what a Go user implements to train with Stoker, and the protocol between a worker and the process in
// which a module runs. Write a Module, hand it to Main, and read Args. functions/runner is the other side.
//
// What a module works with is in compute: example reads the data, nn puts networks together, train is the loop, savedmodel
// writes what is served. local/examples/penguin uses all four, and is there to be copied. Those who think in Estimators have
// functions/module/estimator and local/examples/taxi.
//
// # A module of your own
//
// A module is a Go program with a go.mod of its own. Anywhere:
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
//	go mod edit -require github.com/stoker-ml/stoker@v0.0.0 -replace github.com/stoker-ml/stoker=/path/to/stoker
//	go mod tidy
//
// Then try it (stoker try ./mine --examples ...), and name the folder in a pipeline: module: /path/to/mine. A worker builds
// it with the go command where it is.
//
// # Protocol, version 1
//
// The worker starts the process and writes one Assignment as one line of JSON to its standard input. Progress goes as lines of
// JSON (Message), each at most MaxMessageBytes long, to the file descriptor that STOKER_PROGRESS_FD names: 3. Lines that are
// no Message are taken for log. Standard output and error are the job's log.
//
// Three things are asked of a module, by an assignment's call. A train leaves a model. A tune is answered by one message, "study",
// whose study is a tune.Config: space, objective, algorithm, as JSON; compute/tune has the names. The worker makes the search,
// and each of its trials is an assignment with the call trial: a training for its metrics, whose "progress" carries those of the
// evaluation data where they are known on the way. A module that searches itself, as KerasTuner's tuners do, answers a tune by the
// files best_hyperparameters.txt and tuner_results.json in their folders instead, and says no "study". One that gets an oracle
// says "study", and takes trials from that oracle, by KerasTuner's own gRPC service, until there are none.
//
// A train may say what it uses, "settings": a JSON object of whatever decides the result, defaults included. The worker keeps it with
// the model, without secrets.
//
// The last word on an assignment is a message, "done" or "error". After "done" the process reads the next assignment, and
// leaves with status 0 when standard input ends; one that only ever serves a single assignment may leave at once. The next
// one is sent after "done" only, so nothing may be said or left running behind that. Trials of one study go to one process, one
// after another, as long as it lasts. Else workers send more than one to the modules that are compiled in alone, and close standard
// input behind the first for all others.
//
// A process that fails writes an "error", which says whose fault it was (ErrorKind), and leaves with any status but 0. SIGTERM
// means: write a checkpoint and leave, with status 75 (EX_TEMPFAIL of sysexits.h); whoever is still there some seconds later
// is killed, and so is every process that it started. Results are files in the folders that the assignment names.
//
// The environment holds no credentials of the worker's. HOME and TMPDIR are the same folder, which is also the working
// directory; it is empty when an assignment comes, and what is left in it afterwards is removed.
package module
