package module

// Assignment is one piece of work for a module: TFX's FnArgs and what Stoker adds. Paths are local and absolute. A nil
// pointer or an empty string is Python's None.
type Assignment struct {
	Version int    `json:"version"` // of the protocol: 1
	Module  string `json:"module"`  // "builtin:dnn", or the path of what is run
	Call    Call   `json:"call"`    // train, tune or trial

	// FnArgs, as facts of TFX 1.16 have them.
	WorkingDir         string         `json:"working_dir"` // survives a lost worker: it is part of the checkpoint
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

	// What Stoker adds.
	Transformed bool  `json:"transformed"` // the examples went through the transform graph already
	Seed        int64 `json:"seed"`
	Shards      int   `json:"shards"` // data-parallel parts of a batch: decides the result, so it comes with the job
}

// Call says what is asked of the module.
type Call string

// The calls.
const (
	CallTrain Call = "train"
	CallTune  Call = "tune"
	CallTrial Call = "trial"
)

// Message is one line a module writes on its progress descriptor.
type Message struct {
	Type    string             `json:"type"` // "progress", "checkpoint", "done", "error"
	Phase   string             `json:"phase,omitempty"`
	Step    int                `json:"step,omitempty"`
	Steps   int                `json:"steps,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Error   *Error             `json:"error,omitempty"`
}

// Error is how a module says what went wrong before it leaves.
type Error struct {
	Kind    string `json:"kind"` // "input": the data is bad, no retry helps; "module": all else
	Message string `json:"message"`
}
