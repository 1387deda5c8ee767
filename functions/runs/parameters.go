package runs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// Parameter is a hyperparameter of a run or a setting of its training. A setting in an object has
// the names of both, with a dot: optimizer_config.learning_rate.
type Parameter struct {
	Name   string
	Text   string // a string, or any other value as compact JSON
	quoted bool   // the value is a string
}

// ParameterOf reads a value, which is compact JSON.
func ParameterOf(name string, value json.RawMessage) Parameter {
	p := Parameter{Name: name}
	if p.quoted = len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &p.Text) == nil; !p.quoted {
		p.Text = string(value)
	}
	return p
}

// value returns the value as JSON.
func (p Parameter) value() json.RawMessage {
	if !p.quoted {
		return json.RawMessage(p.Text)
	}
	text, _ := json.Marshal(p.Text) // a string always has JSON
	return text
}

// Parameters are those of a run, by name. Secrets are hidden. Of the values that are too many or
// too long for a list none is kept; the run's page and the event have all.
type Parameters []Parameter

// Limits of the parameters that are kept of a run.
const (
	maxParameters     = 48
	maxParameterName  = 64
	maxParameterValue = 128
)

// parametersOf returns hyperparameters, and then settings that are not among them.
func parametersOf(hyperparameters map[string]any, settings json.RawMessage) (list Parameters) {
	if len(hyperparameters) > 0 {
		if text, err := json.Marshal(hyperparameters); err == nil {
			list = list.flatten("", mask.JSON(text))
		}
	}
	if len(settings) > 0 {
		list = list.flatten("", mask.JSON(settings))
	}
	slices.SortFunc(list, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	return slices.Clip(list)
}

// flatten adds the members of a JSON object, in order of their names.
func (l Parameters) flatten(prefix string, object json.RawMessage) Parameters {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return l
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		switch name = prefix + name; {
		case len(name) > maxParameterName || len(l) == maxParameters:
		case len(value) > 0 && value[0] == '{':
			l = l.flatten(name+".", value)
		case name == "" || len(value) > maxParameterValue || string(value) == "null":
		case !slices.ContainsFunc(l, func(p Parameter) bool { return p.Name == name }):
			l = append(l, ParameterOf(strings.Clone(name), value))
		}
	}
	return l
}

// Get returns the text of a parameter.
func (l Parameters) Get(name string) (text string, has bool) {
	i, has := slices.BinarySearchFunc(l, name, func(p Parameter, name string) int { return strings.Compare(p.Name, name) })
	if !has {
		return "", false
	}
	return l[i].Text, true
}

// MarshalJSON returns an object with the parameters.
func (l Parameters) MarshalJSON() ([]byte, error) {
	members := make(map[string]json.RawMessage, len(l))
	for _, p := range l {
		members[p.Name] = p.value()
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads what MarshalJSON returns.
func (l *Parameters) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*l = nil
	for _, name := range slices.Sorted(maps.Keys(members)) {
		*l = append(*l, ParameterOf(name, members[name]))
	}
	return nil
}
