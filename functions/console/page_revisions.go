package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// revisionsView lists the revisions of a pipeline, the newest first, and compares two of them.
type revisionsView struct {
	Name      string
	URL       template.URL // address of the pipeline's page
	Revisions []revisionLine
	Older     int // number of revisions that are not listed

	From, To uint64 // the compared revisions; From is 0 if there is none before To
	Changes  []changeLine
	Diff     []diffLine   // of the files; nil if one of them is not kept
	Source   *sourceView  // the file of To
	Config   string       // the pipeline at To, as JSON without secrets
	Rollback template.URL // address of the question whether to apply To again; "": it is applied
	Bad      string       // why To or From can't be read
	Command  []commandLine
}

// revisionLine is one revision.
type revisionLine struct {
	pipeline.Origin
	Number  uint64
	Applied time.Time
	Removed bool // this revision is the removal of the pipeline
	Current bool // it is applied now
	Bad     string
	Changed string       // keys that differ from the revision before; "" if none do
	First   bool         // there is no revision before
	URL     template.URL // address of its changes
}

// changeLine is a key that differs. From and To are JSON, "" if the key is missing.
type changeLine struct{ Key, From, To string }

// maxRevisions is how many revisions are listed; the command line lists all.
const maxRevisions = 200

func (c *Console) revisionsPage() page {
	return page{
		nav: "pipelines", template: "revisions", title: func(view any) string { return "Revisions · " + view.(revisionsView).Name },
		build: func(r *http.Request) (any, error) {
			from, err := revisionNumber(r, "from")
			to, errTo := revisionNumber(r, "to")
			if err = errors.Join(err, errTo); err != nil {
				return nil, err
			}
			return c.revisionsView(r.Context(), r.FormValue("name"), from, to)
		},
	}
}

// revisionNumber returns a parameter of a request; 0 if it is left out.
func revisionNumber(r *http.Request, name string) (uint64, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, badRequest("%s: expected the number of a revision", name)
	}
	return number, nil
}

// revisionsView compares revision from with revision to. 0 is the newest one for to, and for from
// the one before to.
func (c *Console) revisionsView(ctx context.Context, name string, from, to uint64) (view revisionsView, err error) {
	if err := events.CheckName("name", name); err != nil {
		return view, badRequest("%s", err)
	}
	all, err := dispatch.Revisions(ctx, c.opts.Bus, name)
	if errors.Is(err, events.ErrNotFound) {
		return view, notThere("No pipeline %s was ever applied.", name)
	}
	if err != nil {
		return view, err
	}
	view = revisionsView{Name: name, URL: link("/pipeline", "name", name), Older: max(0, len(all)-maxRevisions)}
	for i := len(all) - 1; i >= view.Older; i-- {
		view.Revisions = append(view.Revisions, revisionLineOf(all, i, name))
	}
	return view, view.compare(c, all, from, to)
}

// revisionLineOf returns the line of all[i].
func revisionLineOf(all []dispatch.Revision, i int, name string) revisionLine {
	r := all[i]
	line := revisionLine{Origin: r.Origin, Number: r.Number, Applied: r.Applied, Removed: r.Removed, Current: i == len(all)-1 && !r.Removed}
	if r.Err != nil {
		line.Bad = r.Err.Error()
	}
	if r.Removed {
		return line
	}
	number := strconv.FormatUint(r.Number, 10)
	line.URL = link("/revisions", "name", name, "to", number)
	before, there := beforeRevision(all, r.Number)
	line.First = !there
	if !there || r.Err != nil || before.Err != nil {
		return line
	}
	changes, err := pipeline.Diff(before.Spec, r.Spec)
	if err != nil {
		line.Bad = err.Error()
		return line
	}
	const named = 3
	var keys []string
	for _, change := range changes[:min(named, len(changes))] {
		keys = append(keys, change.Key)
	}
	line.Changed = strings.Join(keys, ", ")
	if more := len(changes) - named; more > 0 {
		line.Changed += fmt.Sprintf(" and %d more", more)
	}
	return line
}

// beforeRevision returns the last revision with a pipeline before a number.
func beforeRevision(all []dispatch.Revision, number uint64) (found dispatch.Revision, there bool) {
	for _, r := range all {
		if r.Number < number && !r.Removed {
			found, there = r, true
		}
	}
	return found, there
}

// compare fills in the differences between two revisions.
func (v *revisionsView) compare(c *Console, all []dispatch.Revision, from, to uint64) error {
	at := func(number uint64) (dispatch.Revision, error) {
		i := slices.IndexFunc(all, func(r dispatch.Revision) bool { return r.Number == number && !r.Removed })
		if i < 0 {
			return dispatch.Revision{}, notThere("Pipeline %s has no revision %d.", v.Name, number)
		}
		return all[i], nil
	}
	newest, there := beforeRevision(all, all[len(all)-1].Number+1)
	if to == 0 && !there {
		return nil // there are only removals
	}
	if to == 0 {
		to = newest.Number
	}
	after, err := at(to)
	if err != nil {
		return err
	}
	before, there := beforeRevision(all, to)
	if from != 0 {
		there = true
		if before, err = at(from); err != nil {
			return err
		}
	}
	v.From, v.To = before.Number, after.Number
	show := frame{c: c}.Command("pipelines show", v.Name, "--revision", strconv.FormatUint(v.To, 10))
	v.Command = []commandLine{{"Show it as it was then", show}}
	if there {
		v.Command = append(v.Command, commandLine{"Compare the two", show + " --diff " + strconv.FormatUint(v.From, 10)})
	}
	if err := errors.Join(before.Err, after.Err); err != nil {
		v.Bad = err.Error()
		return nil
	}
	text, err := after.Spec.Masked()
	if err != nil {
		return err
	}
	v.Config, v.Source = indented(text), sourceViewOf(after)
	if last := all[len(all)-1]; last.Removed || last.Number != v.To {
		v.Rollback = link("/pipeline/rollback", "name", v.Name, "revision", strconv.FormatUint(v.To, 10))
		v.Command = append(v.Command, commandLine{"Apply it again", frame{c: c}.Command("pipelines rollback", v.Name, strconv.FormatUint(v.To, 10))})
	}
	if !there {
		return nil
	}
	if was := sourceViewOf(before); was.Text != "" && v.Source.Text != "" {
		v.Diff = unifiedDiff(was.Text, v.Source.Text)
	}
	changes, err := pipeline.Diff(before.Spec, after.Spec)
	for _, change := range changes {
		v.Changes = append(v.Changes, changeLine{change.Key, shownJSON(change.From), shownJSON(change.To)})
	}
	return err
}

// shownJSON formats a value of a pipeline; "" if there is none.
func shownJSON(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	const line = 80
	if len(value) <= line {
		return string(value)
	}
	return indented(value)
}

// Chosen returns the numbers that may be compared, the newest first: the listed and the compared
// ones.
func (v revisionsView) Chosen() (numbers []uint64) {
	for _, r := range v.Revisions {
		if !r.Removed {
			numbers = append(numbers, r.Number)
		}
	}
	for _, number := range []uint64{v.To, v.From} {
		if number != 0 && !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// rollbackView asks whether to apply a revision again.
type rollbackView struct {
	revisionsView
	Current uint64 // the applied revision; 0: the pipeline was removed
}

// Changed returns what would change, for the template of it.
func (v rollbackView) Changed() revisionsView { return v.revisionsView }

func (c *Console) rollbackPage() page {
	return page{
		nav: "pipelines", template: "rollback", title: func(view any) string { return "Roll back " + view.(rollbackView).Name },
		build: func(r *http.Request) (any, error) {
			to, err := revisionNumber(r, "revision")
			if err != nil || to == 0 {
				return nil, badRequest("revision: expected the number of a revision")
			}
			return c.rollbackView(r.Context(), r.FormValue("name"), to)
		},
	}
}

func (c *Console) rollbackView(ctx context.Context, name string, to uint64) (view rollbackView, err error) {
	if err := events.CheckName("name", name); err != nil {
		return view, badRequest("%s", err)
	}
	all, err := dispatch.Revisions(ctx, c.opts.Bus, name)
	if errors.Is(err, events.ErrNotFound) {
		return view, notThere("No pipeline %s was ever applied.", name)
	}
	if err != nil {
		return view, err
	}
	last := all[len(all)-1]
	if !last.Removed {
		view.Current = last.Number
	}
	before, _ := beforeRevision(all, last.Number+1)
	view.Name, view.URL = name, link("/pipeline", "name", name)
	return view, view.compare(c, all, before.Number, to)
}

// rollback applies a revision again, if the applied one is still that of the question.
func (c *Console) rollback(r *http.Request) (template.URL, error) {
	name := r.PostFormValue("pipeline")
	if err := events.CheckName("pipeline", name); err != nil {
		return "", badRequest("%s", err)
	}
	to, err := strconv.ParseUint(r.PostFormValue("revision"), 10, 64)
	applied, errApplied := strconv.ParseUint(r.PostFormValue("applied"), 10, 64)
	if err := errors.Join(err, errApplied); err != nil {
		return "", badRequest("revision, applied: expected numbers of revisions")
	}
	_, _, err = dispatch.Rollback(r.Context(), c.opts.Bus, name, to, applied, pipeline.OriginBy("console"))
	switch {
	case errors.Is(err, events.ErrNotFound):
		return "", notThere("Pipeline %s has no revision %d.", name, to)
	case errors.Is(err, events.ErrConflict):
		return "", &problem{http.StatusConflict, "Another revision of " + name + " was applied meanwhile. Look at the revisions again."}
	}
	return link("/revisions", "name", name), err
}
