package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// Python looks at the environment that TFX module files run in, and imports what they import, TensorFlow first.
func Python(options python.Options) Check {
	return Func("python", func(ctx context.Context) []Finding {
		environment, err := python.Find(ctx, options)
		if err != nil {
			return []Finding{Warn("TFX module files alone need it: `stoker python setup`", "%s", line(err))}
		}
		checked, err := python.Check(ctx, environment)
		if err != nil {
			return []Finding{Warn("TFX module files alone need it: `stoker python setup`", "%s: %s", environment.Interpreter, line(err))}
		}
		return ofPackages(checked)
	})
}

func ofPackages(c python.Checked) (found []Finding) {
	if err := c.Usable(); err != nil {
		found = append(found, Warn("TFX module files alone need it: `stoker python setup --force` makes it again", "%s", line(err)))
	} else {
		found = append(found, Fine("Python %s, TensorFlow %s, %s: %s", c.Python, version(c, "tensorflow"), gpus(c.GPUs), c.Interpreter))
	}
	for _, p := range c.Packages {
		if p.Problem == "" || p.Package == "tensorflow" {
			continue
		}
		f := Warn(p.Add, "%s: %s; modules that import it fail", p.Package, firstLine(p.Problem))
		if f.Do == "" {
			f.Do = "`stoker python setup --force` makes the environment again"
		}
		found = append(found, f)
	}
	return found
}

func gpus(n int) string {
	switch n {
	case 0:
		return "no GPU"
	case 1:
		return "a GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

func version(c python.Checked, name string) string {
	for _, p := range c.Packages {
		if p.Package == name {
			return p.Version
		}
	}
	return "?"
}

func line(err error) string { return firstLine(err.Error()) }

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
