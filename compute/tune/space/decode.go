package space

import (
	"errors"
	"fmt"
)

// Decode decodes a config of KerasTuner's, such as best_hyperparameters.txt. It keeps values
// without a parameter, which Hyperband has. It refuses what KerasTuner refuses, and a parameter of
// an unknown kind.
func Decode(text []byte) (Space, Values, error) {
	list, given, err := takeApart(text)
	if err != nil {
		return nil, nil, err
	}
	s, err := readSpace(list)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("space: %w", err)
	}
	values, err := readValues(given)
	if err != nil {
		return nil, nil, fmt.Errorf("values: %w", err)
	}
	return s, s.typed(values), nil
}

// DecodeValues decodes the values of a config as they are. The parameters must be a list of objects
// with names; their kinds may be those of a newer KerasTuner.
func DecodeValues(text []byte) (Values, error) {
	list, given, err := takeApart(text)
	if err != nil {
		return nil, err
	}
	for i, one := range list {
		_, config, err := readClassed(one)
		if name, _ := config.find("name"); err == nil && (name == nil || name == "") {
			err = errors.New("expected a name in its config")
		}
		if err != nil {
			return nil, fmt.Errorf("space: [%d]: %w", i, err)
		}
	}
	values, err := readValues(given)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	return values, nil
}

// takeApart reads the two parts of a config.
func takeApart(text []byte) (list []any, values any, err error) {
	all, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	const expected = "expected what get_config of KerasTuner's HyperParameters returns"
	o, ok := all.(object)
	if !ok {
		return nil, nil, fmt.Errorf("%s: %s", expected, brief(all))
	}
	in, _ := o.find("space")
	values, _ = o.find("values")
	list, ok = in.([]any)
	switch {
	case in == nil:
		return nil, nil, errors.New(`no "space" in it: ` + expected)
	case !ok:
		return nil, nil, fmt.Errorf("space: expected a list of parameters, got %s", brief(in))
	case values == nil:
		return nil, nil, errors.New(`no "values" in it: ` + expected)
	}
	return list, values, nil
}

// typed converts values to the kinds of their parameters: 1 of a Float is 1.0.
func (s Space) typed(values Values) Values {
	for i, value := range values {
		for _, p := range s {
			if p.Name == value.Name {
				values[i].Of = p.cast(value.Of)
				break
			}
		}
	}
	return values
}

// UnmarshalJSON reads KerasTuner's list of objects with class_name and config. It checks each
// parameter by itself: Check finds out whether all parents exist, because a log has them in parts.
func (s *Space) UnmarshalJSON(text []byte) error {
	given, err := parse(text)
	if err != nil || given == nil {
		return err
	}
	list, ok := given.([]any)
	if !ok {
		return fmt.Errorf("expected a list of parameters, got %s", brief(given))
	}
	*s, err = readSpace(list)
	return err
}

// UnmarshalJSON reads an object, in its order: 1 is an int64, 1.0 a float64.
func (v *Values) UnmarshalJSON(text []byte) error {
	o, err := parse(text)
	if err != nil || o == nil {
		return err
	}
	*v, err = readValues(o)
	return err
}

func readValues(given any) (Values, error) {
	o, ok := given.(object)
	if !ok {
		return nil, fmt.Errorf("expected an object, got %s", brief(given))
	}
	values := make(Values, len(o))
	for i, m := range o {
		if !scalar(m.value) {
			return nil, fmt.Errorf("%s: expected a number, a text or a truth, got %s", m.name, brief(m.value))
		}
		values[i] = Value{m.name, m.value}
	}
	return values, nil
}

func readSpace(list []any) (Space, error) {
	s := make(Space, len(list))
	for i, one := range list {
		class, config, err := readClassed(one)
		if err == nil {
			s[i], err = readParameter(Kind(class), config)
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return s, nil
}

// readClassed splits an object of Keras's into its parts.
func readClassed(given any) (class string, config object, err error) {
	o, _ := given.(object)
	name, _ := o.find("class_name")
	inner, _ := o.find("config")
	class, named := name.(string)
	config, configured := inner.(object)
	if !named || !configured {
		return "", nil, fmt.Errorf("expected an object with class_name and config, got %s", brief(given))
	}
	return class, config, nil
}

// brief formats a value for an error.
func brief(value any) string {
	const enough = 60
	var text []byte
	if text = appendPython(nil, value); len(text) > enough {
		text = append(text[:enough], "..."...)
	}
	return string(text)
}
