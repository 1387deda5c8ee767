package console

import (
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
)

// pipelinesView is the list of pipelines.
type pipelinesView struct{ Pipelines []pipelineLine }

// pipelineLine is one of them.
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
}

func (c *Console) pipelinesPage() page {
	return page{
		nav: "pipelines", template: "pipelines", title: func(any) string { return "Pipelines" }, fragments: []string{"pipelines-table"},
		build: func(*http.Request) (any, error) { return c.model.pipelinesView(), nil },
	}
}

func (m *model) pipelinesView() (view pipelinesView) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	byName := map[string][]*run{}
	for _, r := range m.runs {
		byName[r.pipeline] = append(byName[r.pipeline], r)
	}
	for _, name := range m.pipelines() {
		view.Pipelines = append(view.Pipelines, m.pipelineLine(name, byName[name]))
	}
	return view
}

// recent is how many outcomes of a pipeline are drawn.
const recent = 14

func (m *model) pipelineLine(name string, of []*run) pipelineLine {
	d, gate := m.specs[name], m.gates[name]
	line := pipelineLine{
		Name: name, Module: d.spec.Module.Path, Bad: d.bad, Tuned: d.spec.Tuner != nil, Revision: d.revision, Applied: d.applied,
		Paused: gate.Paused, Waiting: len(gate.Waiting), URL: link("/pipeline", "name", name), RunsURL: link("/", "pipeline", name),
	}
	slices.SortFunc(of, func(a, b *run) int { return a.state.Updated.Compare(b.state.Updated) })
	counts := map[string]int{}
	var over []*run
	for _, r := range of {
		counts[r.state.State]++
		if r.state.Over() {
			over = append(over, r)
		} else {
			line.Active++
		}
	}
	for _, state := range runs.States() {
		if counts[state] > 0 {
			line.Counts = append(line.Counts, stateCount{State: state, Count: counts[state], URL: link("/", "pipeline", name, "state", state)})
		}
	}
	for _, r := range over[max(0, len(over)-recent):] {
		line.Recent = append(line.Recent, r.line())
	}
	if len(of) > 0 {
		last := of[len(of)-1].line()
		line.Last = &last
	}
	return line
}

// pipelineView is one pipeline as it is applied.
type pipelineView struct {
	pipelineLine
	Spec    string
	Gate    join.Admission
	Command []commandLine
}

func (c *Console) pipelinePage() page {
	return page{
		nav: "pipelines", template: "pipeline", title: func(view any) string { return view.(pipelineView).Name }, fragments: []string{"pipeline-head"},
		build: func(r *http.Request) (any, error) { return c.pipelineView(r.FormValue("name")) },
	}
}

func (c *Console) pipelineView(name string) (view pipelineView, err error) {
	if err := events.CheckName("name", name); err != nil {
		return view, badRequest("%s", err)
	}
	c.model.mu.RLock()
	defer c.model.mu.RUnlock()
	d, applied := c.model.specs[name]
	if !applied && !slices.Contains(c.model.pipelines(), name) {
		return view, notThere("No pipeline %s is applied.", name)
	}
	var of []*run
	for _, r := range c.model.runs {
		if r.pipeline == name {
			of = append(of, r)
		}
	}
	view = pipelineView{pipelineLine: c.model.pipelineLine(name, of), Gate: c.model.gates[name]}
	if text, err := d.spec.Masked(); err == nil && applied && d.bad == "" {
		view.Spec = indented(text)
	}
	f := frame{c: c}
	view.Command = []commandLine{
		{"Publish a fact to it", f.Command("publish FACT.json --kind transform.ready --pipeline", name, "--run NAME")},
		{map[bool]string{true: "Let its runs go on", false: "Hold its runs"}[view.Paused], f.Command(map[bool]string{true: "resume", false: "pause"}[view.Paused], name)},
	}
	return view, nil
}
