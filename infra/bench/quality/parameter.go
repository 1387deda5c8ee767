package quality

import "github.com/stoker-ml/stoker/compute/tune/space"

func uniform(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Float, Min: least, Max: most, Sampling: space.Linear, Default: least}
}

func logFloat(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Float, Min: least, Max: most, Sampling: space.Log, Default: least}
}

func integer(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Int, Min: least, Max: most, Step: 1, Sampling: space.Linear}
}

func logInt(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Int, Min: least, Max: most, Sampling: space.Log}
}

func choice(name string, values ...string) space.Parameter {
	p := space.Parameter{Name: name, Kind: space.Choice, Default: values[0]}
	for _, value := range values {
		p.Choices = append(p.Choices, value)
	}
	return p
}

// where makes parameters active under a parent's values, in addition to their other conditions.
func where(parent string, values []any, children ...space.Parameter) []space.Parameter {
	for i := range children {
		children[i].Conditions = append([]space.Condition{{Parent: parent, Values: values}}, children[i].Conditions...)
	}
	return children
}
