package space

// Space is the parameters of a search in the order they were registered: parents stand before their
// children. A parameter's identity is its name together with its conditions.
type Space []Parameter

// Parameter is one hyperparameter.
type Parameter struct {
	Name       string
	Kind       Kind
	Conditions []Condition // all of them hold where the parameter is active

	Min, Max float64  // of Int and Float, both inclusive
	Step     float64  // 0: none. Added where Sampling is linear, else multiplied by
	Sampling Sampling // of Int and Float
	Choices  []any    // of Choice: int64s, float64s or strings
	Ordered  bool     // of Choice
	Fixed    any      // of Fixed: int64, float64, string or bool

	// Default is a value as Values has it; nil where none was given, which is the least value, the
	// first choice, or false.
	Default any
}

// Kind is a type of KerasTuner's.
type Kind string

// The kinds, by KerasTuner's class names.
const (
	Int     Kind = "Int"
	Float   Kind = "Float"
	Choice  Kind = "Choice"
	Boolean Kind = "Boolean"
	Fixed   Kind = "Fixed"
)

// Sampling is the scale on which values lie evenly.
type Sampling string

// The samplings.
const (
	Linear     Sampling = "linear"
	Log        Sampling = "log"
	ReverseLog Sampling = "reverse_log"
)

// Condition holds where a parent, active itself, has one of some values.
type Condition struct {
	Parent string
	Values []any
}

// Values are what a trial's parameters are set to, in their order; inactive ones have none.
// Hyperband and its kin add some that are of no parameter: tuner/epochs and so on.
type Values []Value

// Value is one of them.
type Value struct {
	Name string
	Of   any // int64, float64, string or bool
}

// Lookup finds the value of a name.
func (v Values) Lookup(name string) (any, bool) {
	for _, value := range v {
		if value.Name == name {
			return value.Of, true
		}
	}
	return nil, false
}
