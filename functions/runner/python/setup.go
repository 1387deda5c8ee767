package python

// Setup is the line before the assignment: what makes a process that may have been started long ago
// that of one job.
type Setup struct {
	Env       map[string]string `json:"env"`        // set in os.environ before anything of the module is imported
	Dir       string            `json:"dir"`        // working directory
	Path      []string          `json:"path"`       // to the front of sys.path: the folder of File, then that of all files
	File      string            `json:"file"`       // the module file, absolute; "" where RunFn or TunerFn name a module on Path
	RunFn     string            `json:"run_fn"`     // as in module.Source
	TunerFn   string            `json:"tuner_fn"`   // as in module.Source
	Keras     string            `json:"keras"`      // "2" or "3", as the process was started with
	KerasAuto bool              `json:"keras_auto"` // nobody chose it: where the other one is needed, it may be tried
	Autograph string            `json:"autograph"`  // as in module.Source
	Sandbox   any               `json:"sandbox"`    // a process.Sandbox that it is to enter, see sandbox.py; nil: none, or it is within one
}
