package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// pipelinesView is the list of pipelines.
type pipelinesView struct {
	Pipelines []pipelineLine // that are applied
	Removed   []pipelineLine
	Unknown   []unknownPipeline // that events name
	More      int               // further ones of Unknown
}

// unknownPipeline is a pipeline that was never applied, and that events name.
type unknownPipeline struct {
	Name          string
	Runs          int
	Last          time.Time
	Meant         string // the applied pipeline of a similar name; "" if there is none
	MeantURL      template.URL
	RunsURL, Dead template.URL
}

// maxUnknown is how many unknown pipelines are listed.
const maxUnknown = 50

// pipelineLine is one pipeline of the list.
type pipelineLine struct {
	Name, Module, Bad string
	Tuned             bool
	Revision          uint64
	Applied           time.Time
	Paused            bool
	Waiting           int
	Active            int
	Counts            []stateCount
	Last              *runLine
	Recent            []runLine // outcomes, the newest last
	URL, RunsURL      template.URL
	Removed           time.Time // when it was removed; zero: it is applied, or unknown
}

func (c *Console) pipelinesPage() page {
	return page{
		nav: "pipelines", template: "pipelines", title: func(any) string { return "Pipelines" }, fragments: []string{"pipelines-table"},
		build: func(*http.Request) (any, error) { return c.model.pipelinesView(), nil },
	}
}

func (m *model) pipelinesView() (view pipelinesView) {
	m.View(func(x *runs.Index) {
		byName := map[string][]runs.Summary{}
		for _, one := range m.states(x) {
			byName[one.Pipeline] = append(byName[one.Pipeline], one)
		}
		for _, name := range m.pipelines(x) {
			_, applied := x.Pipeline(name)
			_, removed := x.Removed(name)
			switch {
			case applied:
				view.Pipelines = append(view.Pipelines, m.pipelineLine(x, name, byName[name]))
			case removed:
				view.Removed = append(view.Removed, m.pipelineLine(x, name, byName[name]))
			case len(view.Unknown) < maxUnknown:
				view.Unknown = append(view.Unknown, unknownOf(x, name, byName[name]))
			default:
				view.More++
			}
		}
	})
	return view
}

func unknownOf(x *runs.Index, name string, of []runs.Summary) unknownPipeline {
	var applied []string
	for known := range x.Applied() {
		applied = append(applied, known)
	}
	slices.Sort(applied)
	u := unknownPipeline{Name: name, Runs: len(of), RunsURL: link("/runs", "pipeline", name), Dead: link("/dead", "pipeline", name, "by", "letter")}
	for _, r := range of {
		if r.Updated.After(u.Last) {
			u.Last = r.Updated
		}
	}
	if u.Meant = spelling.Nearest(name, applied); u.Meant != "" {
		u.MeantURL = link("/pipeline", "name", u.Meant)
	}
	return u
}

// recent is how many outcomes of a pipeline are drawn.
const recent = 14

func (m *model) pipelineLine(x *runs.Index, name string, of []runs.Summary) pipelineLine {
	applied, _ := x.Pipeline(name)
	admission := x.Admission(name)
	line := pipelineLine{
		Name: name, Module: applied.Spec.Module.Path, Tuned: applied.Spec.Tuner != nil, Revision: applied.Revision, Applied: applied.Applied,
		Paused: admission.Paused, Waiting: len(admission.Waiting), URL: link("/pipeline", "name", name), RunsURL: link("/runs", "pipeline", name),
	}
	line.Removed, _ = x.Removed(name)
	if applied.Err != nil {
		line.Bad = applied.Err.Error()
	}
	lineOf := func(one runs.Summary) runLine {
		r, _ := m.run(x, one.Key())
		return r.line()
	}
	slices.SortFunc(of, func(a, b runs.Summary) int { return a.Updated.Compare(b.Updated) })
	counts := map[string]int{}
	var over []runs.Summary
	for _, r := range of {
		counts[r.State]++
		if r.Over() {
			over = append(over, r)
		} else {
			line.Active++
		}
	}
	for _, state := range runs.States() {
		if counts[state] > 0 {
			line.Counts = append(line.Counts, stateCount{State: state, Count: counts[state], URL: link("/runs", "pipeline", name, "state", state)})
		}
	}
	for _, r := range over[max(0, len(over)-recent):] {
		line.Recent = append(line.Recent, lineOf(r))
	}
	if len(of) > 0 {
		last := lineOf(of[len(of)-1])
		line.Last = &last
	}
	return line
}

// pipelineView is one pipeline as it is applied.
type pipelineView struct {
	pipelineLine
	Spec      string
	Admission join.Admission
	Source    *sourceView // nil: it is not applied
	Unknown   *unknownPipeline
	Command   []commandLine
}

func (c *Console) pipelinePage() page {
	return page{
		nav: "pipelines", template: "pipeline", title: func(view any) string { return view.(pipelineView).Name }, fragments: []string{"pipeline-head"},
		build: func(r *http.Request) (any, error) { return c.pipelineView(r.Context(), r.FormValue("name")) },
	}
}

func (c *Console) pipelineView(ctx context.Context, name string) (view pipelineView, err error) {
	if err := events.CheckName("name", name); err != nil {
		return view, badRequest("%s", err)
	}
	known := false
	c.model.View(func(x *runs.Index) {
		applied, isApplied := x.Pipeline(name)
		if known = isApplied || slices.Contains(c.model.pipelines(x), name); !known {
			return
		}
		of := slices.DeleteFunc(c.model.states(x), func(one runs.Summary) bool { return one.Pipeline != name })
		view = pipelineView{pipelineLine: c.model.pipelineLine(x, name, of), Admission: x.Admission(name)}
		if !isApplied && view.Removed.IsZero() {
			unknown := unknownOf(x, name, of)
			view.Unknown = &unknown
		}
		if text, err := applied.Spec.Masked(); err == nil && isApplied && applied.Err == nil {
			view.Spec = indented(text)
		}
	})
	if !known {
		return view, notThere("No pipeline %s is applied.", name)
	}
	if view.Unknown != nil {
		return view, nil
	}
	f := frame{c: c}
	if view.Revision == 0 {
		view.Command = []commandLine{{"Show its last revision, and how to apply it again", f.Command("pipelines show", name)}}
		return view, nil
	}
	if view.Source, err = c.sourceAt(ctx, name, view.Revision); err != nil {
		return view, err
	}
	view.Command = []commandLine{
		{"Show the file as it was applied", f.Command("pipelines show", name, "--source")},
		{"Publish an event to it", f.Command("publish EVENT.json --kind transform.ready --pipeline", name, "--run NAME")},
		{map[bool]string{true: "Resume its runs", false: "Hold its runs"}[view.Paused], f.Command(map[bool]string{true: "resume", false: "pause"}[view.Paused], name)},
	}
	return view, nil
}

// removeView asks whether to remove a pipeline.
type removeView struct{ pipelineLine }

func (c *Console) removePage() page {
	return page{
		nav: "pipelines", template: "remove", title: func(view any) string { return "Remove " + view.(removeView).Name },
		build: func(r *http.Request) (any, error) {
			view, err := c.pipelineView(r.Context(), r.FormValue("name"))
			if err == nil && view.Revision == 0 {
				err = notThere("No pipeline %s is applied.", view.Name)
			}
			return removeView{view.pipelineLine}, err
		},
	}
}

// removePipeline removes a pipeline, if the applied revision is still that of the question, and
// cancels its active runs if the form says so.
func (c *Console) removePipeline(r *http.Request) (template.URL, error) {
	name := r.PostFormValue("pipeline")
	if err := events.CheckName("pipeline", name); err != nil {
		return "", badRequest("%s", err)
	}
	applied, err := strconv.ParseUint(r.PostFormValue("applied"), 10, 64)
	if err != nil || applied == 0 {
		return "", badRequest("applied: expected the number of the applied revision")
	}
	_, _, err = dispatch.RemoveRevision(r.Context(), c.opts.Bus, name, applied, r.PostFormValue("cancel") != "")
	active, isActive := errors.AsType[*dispatch.ActiveRuns](err)
	switch {
	case isActive:
		return "", &problem{http.StatusConflict, fmt.Sprintf("Pipeline %s has active runs (%d). Wait for them, or cancel them when you remove the pipeline.", name, len(active.Runs))}
	case errors.Is(err, events.ErrNotFound):
		return "", notThere("No pipeline %s is applied.", name)
	case errors.Is(err, events.ErrConflict):
		return "", &problem{http.StatusConflict, "Another revision of " + name + " was applied meanwhile."}
	}
	return link("/pipelines"), err
}
