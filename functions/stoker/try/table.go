package try

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/table"
)

// tryTable replaces a table in --examples by Examples and, if there is none, adds the schema of
// these. remove removes what it created.
func tryTable(ctx context.Context, a *app.App, t *tryFlags) (remove func(), err error) {
	remove = func() {}
	if info, err := os.Stat(t.examples); err != nil || info.IsDir() {
		if t.split.Given() && err == nil {
			return remove, exit.Usage(fmt.Errorf("--split and --split-column apply only to tables, and %s is a folder", t.examples))
		}
		return remove, nil // a missing folder is reported later
	}
	switch {
	case !examplegen.Known(t.examples):
		return remove, exit.Usage(fmt.Errorf("--examples %s: expected a folder with Split-train and Split-eval, or a table (%s)", t.examples, examplegen.Formats))
	case t.assignmentOnly:
		return remove, exit.Usage(fmt.Errorf("--assignment: the Examples made from %s are removed when this command ends: give a folder of Examples", t.examples))
	case t.transformGraph != "" && !t.raw:
		return remove, exit.Usage(fmt.Errorf("--examples %s: a table holds raw examples: add --raw to --transform-graph", t.examples))
	}
	folder, remove, err := table.ExamplesOf(ctx, a, t.examples, t.split)
	if err != nil {
		return remove, err
	}
	for _, split := range []string{"train", "eval"} {
		if _, err := os.Stat(filepath.Join(folder, "Split-"+split)); err != nil {
			remove()
			return func() {}, exit.Usage(t.split.Lacks(t.examples, split))
		}
	}
	t.examples = folder
	if t.schema == "" && t.transformGraph == "" {
		err = t.inferSchema(ctx, folder)
	}
	if err != nil {
		remove()
		return func() {}, err
	}
	return remove, nil
}

func (t *tryFlags) inferSchema(ctx context.Context, folder string) error {
	source, err := inspect.Local(folder)
	if err != nil {
		return err
	}
	inferred, err := inferFrom(ctx, source, schemagen.Options{MaxStringDomain: schemagen.DefaultMaxStringDomain})
	if err != nil {
		return err
	}
	t.schema = filepath.Join(folder, schemaFile)
	return os.WriteFile(t.schema, []byte(inferred.Schema), 0o644)
}
