package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ProtocolVersion is the only version of the protocol.
const ProtocolVersion = 1

// Assignment is one piece of work for a module: TFX's FnArgs and Stoker's additions. Paths are
// local and absolute. A nil pointer or an empty string is Python's None.
type Assignment struct {
	Version int    `json:"version"` // of the protocol: 1
	Module  Source `json:"module"`  // the code to run
	Call    Call   `json:"call"`    // train, tune, trial or check

	// FnArgs, as in TFX 1.16. WorkingDir contains the last checkpoint of an earlier attempt, if
	// any; so does ModelRunDir, if Message.All was used.
	WorkingDir         string   `json:"working_dir"`
	TrainFiles         []string `json:"train_files"` // patterns <folder>/Split-<name>/*
	EvalFiles          []string `json:"eval_files"`
	TrainSteps         *int     `json:"train_steps"`
	EvalSteps          *int     `json:"eval_steps"`
	SchemaPath         string   `json:"schema_path"` // one file
	TransformGraphPath string   `json:"transform_graph_path"`
	ServingModelDir    string   `json:"serving_model_dir"` // does not exist yet
	EvalModelDir       string   `json:"eval_model_dir"`
	ModelRunDir        string   `json:"model_run_dir"`
	BaseModel          string   `json:"base_model"`
	// The parsed best_hyperparameters.txt: space and values.
	Hyperparameters map[string]any `json:"hyperparameters"`
	CustomConfig    map[string]any `json:"custom_config"`

	// Existing, empty folders for the results of a tune that searches itself:
	// best_hyperparameters.txt in one, tuner_results.json in the other. "" for other calls, and if
	// only the search space is requested.
	BestHyperparametersDir string `json:"best_hyperparameters_dir,omitempty"`
	TunerResultsDir        string `json:"tuner_results_dir,omitempty"`

	// Trial is the trial to run; nil for other calls.
	Trial *Trial `json:"trial,omitempty"`

	// Validation is how the trials of a search are judged; nil: on EvalFiles. For builtin modules
	// only, in the calls tune and trial.
	Validation *Validation `json:"validation,omitempty"`

	// Oracle is the service that gives trials to a KerasTuner process, in a tune whose trials
	// several workers share; nil for other calls.
	Oracle *Oracle `json:"oracle,omitempty"`

	// Additions of Stoker. Trace is that of the work, for modules with tracing; nil: tracing is
	// off.
	Trace *Trace `json:"trace,omitempty"`
	// The transform graph was already applied to the examples.
	Transformed bool  `json:"transformed"`
	Seed        int64 `json:"seed"`

	// Deterministic asks for a training with bitwise reproducible results. Builtin modules are
	// always deterministic; the Python driver enables TensorFlow's deterministic ops.
	Deterministic bool `json:"deterministic,omitempty"`

	// Data-parallel parts of a batch: part of the job, because it affects the result.
	Shards int `json:"shards"`

	// Workers is how many processes train one model together, by Strategy: "", mirrored,
	// multi_worker or tpu. For TFX modules only.
	Workers  int    `json:"workers,omitempty"`
	Strategy string `json:"strategy,omitempty"`

	// Cluster lists these processes if each is on a host of its own, and says which one this is;
	// nil if all are on this host.
	Cluster *Cluster `json:"cluster,omitempty"`

	// NumExamples is the number of records of each split, by name, from a statistics artifact; nil
	// if there is none. It is an attribute of FnArgs since TFX 1.17.
	NumExamples map[string]int64 `json:"num_examples,omitempty"`

	// PayloadFormat is the format of the records, in TFX's terms: FORMAT_TF_EXAMPLE, the default,
	// or FORMAT_TF_SEQUENCE_EXAMPLE. TFX's data_accessor uses it.
	PayloadFormat string `json:"payload_format,omitempty"`

	// Exports are the formats wanted in addition to the SavedModel, as Formats names them. They go
	// to folders next to ServingModelDir, Format-TFLite and Format-ONNX, in files that
	// compute/export names. The check of a model fails if one is missing.
	Exports []string `json:"exports,omitempty"`

	// Question is the question of the call check about files that others made, as JSON; nil for
	// other calls.
	Question json.RawMessage `json:"question,omitempty"`

	// Predictions asks for the predictions of the in-memory model for some rows, to compare the
	// exported model with. A module that can't predict does not write the file.
	Predictions *Predictions `json:"predictions,omitempty"`
}

// Cluster lists the processes that train one model together, as TF_CONFIG does. Process 0 is the
// chief: its folders are the job's.
type Cluster struct {
	Workers []string `json:"workers"` // host:port of the TensorFlow server of each
	Index   int      `json:"index"`   // of this one
}

// Trace is a position in a trace, in the form of W3C Trace Context: the span of the worker that
// waits for the module. While the process works, its environment holds it as TRACEPARENT and
// TRACESTATE.
type Trace struct {
	Parent string `json:"parent"`
	State  string `json:"state,omitempty"`
}

// Predictions says where a module writes its predictions at the end of a training, for the first
// rows of its evaluation data in the order of EvalFiles. The file is JSON, one object per row and
// line, from output name to a list of numbers, or of strings. A number that JSON can't hold is
// "NaN", "Infinity" or "-Infinity"; a string that is not UTF-8 is {"b64": "/w=="}. Output names are
// those of the SavedModel's serving_default.
type Predictions struct {
	Path string `json:"path"`
	Rows int    `json:"rows"` // at most: the data may have fewer

	// MemoryPath is where a module that can't match its predictions to rows writes them, together
	// with the features that the model was given for each row, in any order. The type memory of
	// package compute/tf/skew has the format. The Python driver writes it, for the model that
	// Keras's fit, or a report, used last.
	MemoryPath string `json:"memory_path,omitempty"`

	// SyntheticPath is a file of transformed features on which the trained model is evaluated too,
	// in a run without raw examples: JSON, one object per row and line, from feature name to a list
	// of values. The predictions go to MemoryPath.
	SyntheticPath string `json:"synthetic_path,omitempty"`

	// LabelsPath is where a module that knows them writes the names of the raw features that
	// requests don't have, as a JSON list. The model is also evaluated without them.
	LabelsPath string `json:"labels_path,omitempty"`
}

// Trial is one evaluation of the hyperparameters of an assignment. It is a training for its
// metrics; it leaves a model only if the assignment has a ServingModelDir. TrainSteps is the step
// at which it ends. That includes the steps of a state in WorkingDir: the trial's own, of a lost
// attempt, or that of its parent.
type Trial struct {
	Study  string `json:"study"`
	ID     string `json:"id"`               // 0000, 0001, ...
	Parent string `json:"parent,omitempty"` // the trial that it resumes from
	From   int    `json:"from,omitempty"`   // epochs that a Hyperband trial has completed
	Epochs int    `json:"epochs,omitempty"` // at which it ends; 0: the study has no epochs
	// Others may resume from it: the module leaves a checkpoint of its last step in WorkingDir.
	Keep bool `json:"keep,omitempty"`

	// StopPath is a file that appears when the trial should end early, with the metrics it has. A
	// module checks for it each time it reports.
	StopPath string `json:"stop_path,omitempty"`
}

// Validation judges a trial by folds of the rows of TrainFiles: the trial trains a model for each,
// with TrainSteps steps, and reports the means of their metrics, with the number of folds done as
// the step. Trial.From and Trial.Epochs count folds. See tune.Validation.
type Validation struct {
	Folds int    `json:"folds"`
	Order string `json:"order,omitempty"`
	Seed  int64  `json:"seed"` // of the study: all of its trials have the same folds
}

// Oracle is the service that gives the trials of a study to a module that searches with KerasTuner:
// for TFX modules only. Such a tune sends the message "study" with its tuner's search space, then
// runs trials until there are no more, and writes no files: the worker reports their result. A
// tuner that can't share its search sends no "study", and searches by itself, as without an Oracle.
type Oracle struct {
	Address string `json:"address"` // host:port of the gRPC service keras_tuner.Oracle
	Tuner   string `json:"tuner"`   // the name of the process there
}

// Stopped reports whether a trial should end early, with the metrics that it has. Each call
// accesses the file system: call it when reporting. It is always false if this is not a trial.
func (a Assignment) Stopped() bool {
	if a.Trial == nil || a.Trial.StopPath == "" {
		return false
	}
	_, err := os.Lstat(a.Trial.StopPath)
	return err == nil
}

// PayloadSequenceExample is the PayloadFormat of tf.SequenceExamples.
const PayloadSequenceExample = "FORMAT_TF_SEQUENCE_EXAMPLE"

// Call is the operation requested of the module.
type Call string

// The calls.
const (
	CallTrain Call = "train"
	CallTune  Call = "tune"
	CallTrial Call = "trial"
	CallCheck Call = "check" // of files that others made; only compiled-in modules implement it
)

// Validate returns an error that names the first invalid field of an assignment.
func (a Assignment) Validate() error {
	switch {
	case a.Version != ProtocolVersion:
		return fmt.Errorf("version: expected %d, got %d: worker and module were built from different releases", ProtocolVersion, a.Version)
	case a.Module.Path == "":
		return fmt.Errorf("module: missing")
	case a.Call != CallTrain && a.Call != CallTune && a.Call != CallTrial && a.Call != CallCheck:
		return fmt.Errorf("call: expected train, tune, trial or check, got %q", a.Call)
	case (a.Call == CallCheck) != (a.Question != nil):
		return fmt.Errorf("question: required for the call check, and only for that call")
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
		return fmt.Errorf("trial: required for the call trial, and only for that call")
	case a.Validation != nil && a.Call != CallTrial && a.Call != CallTune:
		return fmt.Errorf("validation: only for the calls tune and trial")
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
