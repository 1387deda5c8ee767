package optim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Config returns the name and the numbers of an optimizer's formula, by the names of Keras's arguments, as they are. Of Parts it
// returns those of each part by its prefix, without the slash; the part for all other weights is called rest. Clips are left out.
func Config(o Optimizer) (map[string]any, error) {
	parts, ok := o.(*Parts)
	if !ok {
		return config(o)
	}
	all := map[string]any{}
	for _, p := range parts.parts {
		of, err := config(p.optimizer)
		if err != nil {
			return nil, err
		}
		prefix := strings.TrimSuffix(p.prefix, "/")
		if prefix == "" {
			prefix = "rest"
		}
		all[prefix] = of
	}
	return all, nil
}

func config(o Optimizer) (map[string]any, error) {
	text, err := json.Marshal(o)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("optimizer %s as JSON: %w", o.Name(), err)
	}
	all["name"] = o.Name()
	return all, nil
}
