package console

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/functions/console/preview"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// sourceView is the file of a revision, as the client sent it, and what the client reported.
type sourceView struct {
	pipeline.Origin        // Source is "": Text has it without secrets
	Text            string // "": no text is kept
	Module          string // the module that the text names, if another path was applied
	Applied         string // that path
	Bad             string // why the text is not what was applied
	When            time.Time
}

// sourceViewOf checks a revision's text against its pipeline: a client may have sent any.
func sourceViewOf(r dispatch.Revision) *sourceView {
	v := &sourceView{Origin: r.Origin, When: r.Applied}
	v.Source = ""
	if r.Origin.Source == "" || r.Err != nil {
		return v
	}
	v.Text = preview.Visible(r.Spec.MaskedSource(r.Origin.Source))
	module, err := r.Spec.CheckSource(r.Origin.Source)
	switch {
	case err != nil:
		v.Bad = "This text is not what was applied: the client sent it along, and it does not give the configuration of this revision. The configuration decides."
	case module != r.Spec.Module.Path:
		v.Module, v.Applied = module, r.Spec.Module.Path
	}
	return v
}

// revisionKey identifies a revision of a pipeline, which never changes.
type revisionKey struct {
	name   string
	number uint64
}

// maxSources is how many files are kept in memory.
const maxSources = 64

// sourceAt returns the file of a revision.
func (c *Console) sourceAt(ctx context.Context, name string, number uint64) (*sourceView, error) {
	k := revisionKey{name, number}
	if known, there := c.sources.get(k); there {
		return known, nil
	}
	r, err := dispatch.RevisionOf(ctx, c.opts.Bus, name, number)
	if err != nil {
		return nil, err
	}
	v := sourceViewOf(r)
	c.sources.put(k, v)
	return v, nil
}
