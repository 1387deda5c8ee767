package estimator

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/train"
)

// Exporter decides after which evaluations the model is exported, and how many exports are kept:
// FinalExporter, LatestExporter, BestExporter.
type Exporter interface {
	// about returns its name and the input of its exports.
	about() (name string, input ServingInput)

	// wants reports whether to export the model of the last of these evaluations.
	wants(all []train.Evaluation) bool

	// keeps returns how many of the newest exports are kept. Below 0: all.
	keeps() int
}

// FinalExporter exports the model at the end of the training.
type FinalExporter struct {
	Name         string
	ServingInput ServingInput
}

func (e FinalExporter) about() (string, ServingInput) { return e.Name, e.ServingInput }

func (e FinalExporter) wants(all []train.Evaluation) bool { return all[len(all)-1].Final }

func (e FinalExporter) keeps() int { return 1 }

// LatestExporter exports the model after each evaluation.
type LatestExporter struct {
	Name          string
	ServingInput  ServingInput
	ExportsToKeep int // 0: 5; below 0: all
}

func (e LatestExporter) about() (string, ServingInput) { return e.Name, e.ServingInput }

func (e LatestExporter) wants([]train.Evaluation) bool { return true }

func (e LatestExporter) keeps() int { return cmp.Or(e.ExportsToKeep, defaultExportsToKeep) }

// BestExporter exports the model after each evaluation that is better than all earlier ones,
// including those of a lost worker.
type BestExporter struct {
	Name          string
	ServingInput  ServingInput
	ExportsToKeep int // 0: 5; below 0: all

	// Compare reports whether the second evaluation's metrics are better than the first's: those of
	// train.Evaluate, average_loss and global_step. nil: its loss is smaller.
	Compare func(best, current map[string]float64) bool
}

func (e BestExporter) about() (string, ServingInput) { return e.Name, e.ServingInput }

func (e BestExporter) wants(all []train.Evaluation) bool {
	compare, last := e.Compare, len(all)-1
	if compare == nil {
		compare = smallerLoss
	}
	best := 0
	for i := 1; i <= last; i++ {
		if compare(all[best].Metrics, all[i].Metrics) {
			best = i
		}
	}
	return best == last
}

func (e BestExporter) keeps() int { return cmp.Or(e.ExportsToKeep, defaultExportsToKeep) }

const defaultExportsToKeep = 5

func smallerLoss(best, current map[string]float64) bool { return current["loss"] < best["loss"] }

// checkExporters also determines whose exports are served.
func (s Spec) checkExporters() error {
	var names []string
	for _, e := range s.Eval.Exporters {
		name, input := e.about()
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("eval spec: an exporter is called %q, which can't be the name of a folder", name)
		}
		if err := input.check(); err != nil {
			return fmt.Errorf("eval spec: exporter %q: %w", name, err)
		}
		names = append(names, name)
	}
	for i, name := range names {
		for _, other := range names[:i] {
			if name == other {
				return fmt.Errorf("eval spec: two exporters are called %q", name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return errors.New("eval spec: no exporter: there would be no model to serve")
	case s.Serve == "" && len(names) > 1:
		return fmt.Errorf("spec: serve: which of the exporters %s gives the model that is served", strings.Join(names, ", "))
	case s.served() == nil:
		return fmt.Errorf("spec: serve: no exporter is called %q, expected one of %s", s.Serve, strings.Join(names, ", "))
	}
	return nil
}

// served returns the exporter whose newest export is served.
func (s Spec) served() Exporter {
	for _, e := range s.Eval.Exporters {
		if name, _ := e.about(); s.Serve == "" || name == s.Serve {
			return e
		}
	}
	return nil
}

// transformGraph returns the folder of the transform graph that is served, "" for none.
func (s Spec) transformGraph() string {
	_, input := s.served().about()
	return input.TransformGraph
}
