package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ProtocolVersion is the one version of the protocol that there is.
const ProtocolVersion = 1

// Assignment is one piece of work for a module: TFX's FnArgs and what Stoker adds. Paths are local and absolute. A nil
// pointer or an empty string is Python's None.
type Assignment struct {
	Version int    `json:"version"` // of the protocol: 1
	Module  Source `json:"module"`  // what is run
	Call    Call   `json:"call"`    // train, tune, trial or check

	// FnArgs, as facts of TFX 1.16 have them.
	WorkingDir         string         `json:"working_dir"` // holds the last checkpoint of an earlier attempt, if there is one; ModelRunDir does too, where Message.All had it kept
	TrainFiles         []string       `json:"train_files"` // patterns <folder>/Split-<name>/*
	EvalFiles          []string       `json:"eval_files"`
	TrainSteps         *int           `json:"train_steps"`
	EvalSteps          *int           `json:"eval_steps"`
	SchemaPath         string         `json:"schema_path"` // one file
	TransformGraphPath string         `json:"transform_graph_path"`
	ServingModelDir    string         `json:"serving_model_dir"` // not there yet
	EvalModelDir       string         `json:"eval_model_dir"`
	ModelRunDir        string         `json:"model_run_dir"`
	BaseModel          string         `json:"base_model"`
	Hyperparameters    map[string]any `json:"hyperparameters"` // the parsed best_hyperparameters.txt: space and values
	CustomConfig       map[string]any `json:"custom_config"`

	// Folders, there and empty, for what a tune that searches itself leaves: best_hyperparameters.txt in one, tuner_results.json in the
	// other. "" for other calls, and where only what to search for is asked.
	BestHyperparametersDir string `json:"best_hyperparameters_dir,omitempty"`
	TunerResultsDir        string `json:"tuner_results_dir,omitempty"`

	// Trial is, of a trial, which one; nil for other calls.
	Trial *Trial `json:"trial,omitempty"`

	// Oracle is, of a tune whose trials several workers share, where a KerasTuner process finds who gives them; nil for other calls.
	Oracle *Oracle `json:"oracle,omitempty"`

	// What Stoker adds.
	Trace       *Trace `json:"trace,omitempty"` // of the work, for modules that trace theirs; nil where nobody does
	Transformed bool   `json:"transformed"`     // the examples went through the transform graph already
	Seed        int64  `json:"seed"`

	// Deterministic asks for a training that gives the same bits each time. Builtin modules always do; the Python driver has
	// TensorFlow's ops be deterministic.
	Deterministic bool `json:"deterministic,omitempty"`

	Shards int `json:"shards"` // data-parallel parts of a batch: decides the result, so it comes with the job

	// Workers is how many processes train one model together, by Strategy: "", mirrored, multi_worker or tpu. TFX modules alone.
	Workers  int    `json:"workers,omitempty"`
	Strategy string `json:"strategy,omitempty"`

	// Cluster is, where these processes are one on each of several hosts, all of them, and which this one is; nil where they are all here.
	Cluster *Cluster `json:"cluster,omitempty"`

	// NumExamples is how many records each split has, by name, where a statistics artifact says so; nil if none does. TFX has it
	// as an attribute of FnArgs since 1.17.
	NumExamples map[string]int64 `json:"num_examples,omitempty"`

	// PayloadFormat is what the records of the examples are, in TFX's words: FORMAT_TF_EXAMPLE or FORMAT_TF_SEQUENCE_EXAMPLE.
	// Left out, it is the first. TFX's data_accessor knows it.
	PayloadFormat string `json:"payload_format,omitempty"`

	// Exports are the formats wanted in addition to the SavedModel, as Formats names them. They are in folders next to ServingModelDir,
	// Format-TFLite and Format-ONNX, in files that compute/export names. A model that lacks one fails its check.
	Exports []string `json:"exports,omitempty"`

	// Question is, of the call check, what is asked about files that others made, as JSON; nil for other calls.
	Question json.RawMessage `json:"question,omitempty"`

	// Predictions asks for what the model in memory says of some rows, to compare the exported one with. A module that can't predict
	// leaves the file unwritten.
	Predictions *Predictions `json:"predictions,omitempty"`
}

// Cluster is the processes that train one model together, in the words of TF_CONFIG. Process 0 is the chief: its folders are the job's.
type Cluster struct {
	Workers []string `json:"workers"` // host:port of each one's TensorFlow
	Index   int      `json:"index"`   // of this one
}

// Trace is a place in a trace, as W3C Trace Context writes it: the span of the worker that waits for the module. The process has it
// in its environment while it works, as TRACEPARENT and TRACESTATE.
type Trace struct {
	Parent string `json:"parent"`
	State  string `json:"state,omitempty"`
}

// Predictions is where a module writes what it predicts, at the end of a training, for the first rows of its evaluation data in
// the order of EvalFiles: JSON, one object a row and line, output name to a list of numbers, or to "NaN", "Infinity" and
// "-Infinity" where JSON has no number; or to a list of strings, {"b64": "/w=="} for one that is no UTF-8. Output names are those of the SavedModel's serving_default.
type Predictions struct {
	Path string `json:"path"`
	Rows int    `json:"rows"` // at most: the data may have fewer

	// MemoryPath is where a module that can't say which rows its predictions are of writes them with the features that the model was
	// given of each, in any order: package compute/tf/skew, type memory, has the format. The Python driver does, for the model that
	// Keras's fit, or a report, saw last.
	MemoryPath string `json:"memory_path,omitempty"`

	// SyntheticPath is a file of transformed features that the trained model is asked for besides, in a run without raw examples: JSON,
	// one object a row and line, feature name to a list of values. What the model answers goes to MemoryPath.
	SyntheticPath string `json:"synthetic_path,omitempty"`

	// LabelsPath is where a module that knows them writes the names of the raw features that requests don't have, a JSON list. The
	// model is asked without them too.
	LabelsPath string `json:"labels_path,omitempty"`
}

// Trial is one try of the hyperparameters that an assignment has. It is a training whose metrics count, and whose model is wanted only
// where the assignment has a ServingModelDir. TrainSteps is up to which step it goes, those included that a state in WorkingDir
// has behind it: the trial's own of an attempt that was lost, or that of the trial which this one goes on from.
type Trial struct {
	Study  string `json:"study"`
	ID     string `json:"id"`               // 0000, 0001, ...
	Parent string `json:"parent,omitempty"` // that it goes on from
	From   int    `json:"from,omitempty"`   // epochs of a Hyperband trial that are behind it
	Epochs int    `json:"epochs,omitempty"` // at which it ends; 0: the study has no epochs
	Keep   bool   `json:"keep,omitempty"`   // others may go on from it: the module leaves a checkpoint of its last step in WorkingDir

	// StopPath is where a file appears once the trial is to end early, with the metrics it has: a module looks each time it reports.
	StopPath string `json:"stop_path,omitempty"`
}

// Oracle is where the trials of a study come from for a module that searches with KerasTuner: TFX modules alone. Such a tune says with
// the message "study" what its tuner searches for, then takes trials until there are none any more, and leaves no files: the
// worker reports their result. One whose tuner can't share its search says no "study", and searches by itself as without an Oracle.
type Oracle struct {
	Address string `json:"address"` // host:port of the gRPC service keras_tuner.Oracle
	Tuner   string `json:"tuner"`   // who the process is there
}

// Stopped says whether a trial is to end early, with the metrics that it has. It is a look at the file system: ask it where you
// report. For what is no trial it is always false.
func (a Assignment) Stopped() bool {
	if a.Trial == nil || a.Trial.StopPath == "" {
		return false
	}
	_, err := os.Lstat(a.Trial.StopPath)
	return err == nil
}

// PayloadSequenceExample is the PayloadFormat of tf.SequenceExamples.
const PayloadSequenceExample = "FORMAT_TF_SEQUENCE_EXAMPLE"

// Call says what is asked of the module.
type Call string

// The calls.
const (
	CallTrain Call = "train"
	CallTune  Call = "tune"
	CallTrial Call = "trial"
	CallCheck Call = "check" // of files that others made; answered by compiled-in modules alone
)

// Validate says what is wrong with an assignment, naming its first bad field.
func (a Assignment) Validate() error {
	switch {
	case a.Version != ProtocolVersion:
		return fmt.Errorf("version: expected %d, got %d: worker and module were built from different releases", ProtocolVersion, a.Version)
	case a.Module.Path == "":
		return fmt.Errorf("module: missing")
	case a.Call != CallTrain && a.Call != CallTune && a.Call != CallTrial && a.Call != CallCheck:
		return fmt.Errorf("call: expected train, tune, trial or check, got %q", a.Call)
	case (a.Call == CallCheck) != (a.Question != nil):
		return fmt.Errorf("question: expected one for the call check, and for that call alone")
	case len(a.TrainFiles) == 0 && a.Call != CallCheck:
		return fmt.Errorf("train_files: missing")
	case a.TrainSteps != nil && *a.TrainSteps < 0:
		return fmt.Errorf("train_steps: expected 0 or more, got %d", *a.TrainSteps)
	case a.EvalSteps != nil && *a.EvalSteps < 0:
		return fmt.Errorf("eval_steps: expected 0 or more, got %d", *a.EvalSteps)
	case a.Call == CallTrain && a.ServingModelDir == "":
		return fmt.Errorf("serving_model_dir: missing")
	case a.Call == CallTune && (a.BestHyperparametersDir == "") != (a.TunerResultsDir == ""):
		return fmt.Errorf("best_hyperparameters_dir or tuner_results_dir: missing: expected both, or neither")
	case a.Oracle != nil && (a.Call != CallTune || a.Oracle.Address == "" || a.Oracle.Tuner == ""):
		return fmt.Errorf("oracle: expected an address and a tuner, and the call tune")
	case a.Cluster != nil && (len(a.Cluster.Workers) != a.Workers || a.Cluster.Index < 0 || a.Cluster.Index >= a.Workers):
		return fmt.Errorf("cluster: expected the addresses of %d workers, and which of them this is", a.Workers)
	case (a.Call == CallTrial) != (a.Trial != nil):
		return fmt.Errorf("trial: expected which one for the call trial, and for that call alone")
	}
	return a.validatePaths()
}

func (a Assignment) validatePaths() error {
	type named struct{ name, path string }
	paths := []named{
		{"working_dir", a.WorkingDir}, {"schema_path", a.SchemaPath}, {"transform_graph_path", a.TransformGraphPath},
		{"serving_model_dir", a.ServingModelDir}, {"eval_model_dir", a.EvalModelDir}, {"model_run_dir", a.ModelRunDir},
		{"base_model", a.BaseModel}, {"best_hyperparameters_dir", a.BestHyperparametersDir}, {"tuner_results_dir", a.TunerResultsDir},
	}
	for _, pattern := range slices.Concat(a.TrainFiles, a.EvalFiles) {
		paths = append(paths, named{"train_files or eval_files", pattern})
	}
	if a.Trial != nil {
		paths = append(paths, named{"trial.stop_path", a.Trial.StopPath})
	}
	if p := a.Predictions; p != nil {
		paths = append(paths, named{"predictions.path", p.Path}, named{"predictions.labels_path", p.LabelsPath}, named{"predictions.memory_path", p.MemoryPath},
			named{"predictions.synthetic_path", p.SyntheticPath})
	}
	for _, p := range paths {
		if p.path != "" && !filepath.IsAbs(p.path) {
			return fmt.Errorf("%s: expected an absolute path, got %q", p.name, p.path)
		}
	}
	return nil
}
