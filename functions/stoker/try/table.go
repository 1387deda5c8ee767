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
// them. It returns nil for a folder.
func tryTable(ctx context.Context, a *app.App, t *tryFlags) (_ *table.Examples, err error) {
	if info, err := os.Stat(t.examples); err != nil || info.IsDir() {
		if t.split.Given() && err == nil {
			return nil, exit.Usage(fmt.Errorf("--split and --split-column apply only to tables, and %s is a folder", t.examples))
		}
		return nil, nil // a missing folder is reported later
	}
	switch {
	case !examplegen.Known(t.examples):
		return nil, exit.Usage(fmt.Errorf("--examples %s: expected a folder with Split-train and Split-eval, or a table (%s)", t.examples, examplegen.Formats))
	case t.assignmentOnly:
		return nil, exit.Usage(fmt.Errorf("--assignment: the Examples made from %s are removed when this command ends: give a folder of Examples", t.examples))
	case t.transformGraph != "" && !t.raw:
		return nil, exit.Usage(fmt.Errorf("--examples %s: a table holds raw examples: add --raw to --transform-graph", t.examples))
	}
	converted, err := table.Convert(ctx, a, t.examples, t.split)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			converted.Remove()
		}
	}()
	for _, split := range []string{"train", "eval"} {
		if _, err := os.Stat(filepath.Join(converted.Folder, "Split-"+split)); err != nil {
			return nil, exit.Usage(t.split.Lacks(t.examples, split))
		}
	}
	t.examples = converted.Folder
	if t.schema == "" && t.transformGraph == "" {
		if err := t.inferSchema(ctx, converted.Folder); err != nil {
			return nil, err
		}
	}
	return converted, nil
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
