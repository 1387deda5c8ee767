package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

//go:embed files_export.py
var exportScript string

// exportsPerRound is how many times a round writes the model: once is too short for the clock.
const exportsPerRound = 5

// export measures the writing of a SavedModel: a network behind the transform graph of the taxi
// data, tables, assets and fingerprint included. TensorFlow saves the very model, which it has
// loaded before. So it is spared to build and to trace it, as a training in Python would have to.
func (b bench) export(ctx context.Context, peer *tensorflow, dir string) ([]figure, error) {
	m, err := taxiModel()
	if err != nil {
		return nil, err
	}
	took, err := exported{m, filepath.Join(dir, "export")}.rounds(ctx, peer, b.times(9))
	if err != nil {
		return nil, err
	}
	return []figure{took.cost("export-taxi", milliseconds, "< 50", tensorflowName+" tf.saved_model.save")}, nil
}

// exported is a model to write, again and again, below a folder.
type exported struct {
	model savedmodel.Model
	dir   string
}

// rounds writes the model by us, and has TensorFlow load and save it, in turn.
func (e exported) rounds(ctx context.Context, peer *tensorflow, rounds int) (measured, error) {
	return compare(ctx, rounds, true, contender{oursName, e.ours}, contender{peerName, func(round int) (float64, error) {
		in := map[string]string{"model": e.folder(round, 0), "to": filepath.Join(e.dir, fmt.Sprintf("theirs-%d", round))}
		var variables int
		if _, err := peer.call(exportScript, "load", in, &variables); err != nil {
			return 0, err
		}
		if want := len(e.model.Graph.Params); variables != want {
			return 0, fmt.Errorf("TensorFlow loaded %d variables of %d", variables, want)
		}
		seconds, err := peer.call(exportScript, "save", in, &variables)
		return seconds * 1000, err
	}})
}

// ours is the CPU time in milliseconds that one export takes us.
func (e exported) ours(round int) (float64, error) {
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return 0, err
	}
	seconds, err := cpuOf(func() error {
		for i := range exportsPerRound {
			if err := savedmodel.Write(e.folder(round, i), e.model); err != nil {
				return err
			}
		}
		return nil
	})
	return seconds / exportsPerRound * 1000, err
}

func (e exported) folder(round, i int) string {
	return filepath.Join(e.dir, fmt.Sprintf("ours-%d-%d", round, i))
}

// taxiModel is a network over the transformed features of the taxi data: numbers as they are,
// integers one-hot. Its weights are random: what is written doesn't depend on what was learnt.
func taxiModel() (savedmodel.Model, error) {
	graph, err := fromRoot("compute", "tf", "savedmodel", "testdata", "taxi", "transform_graph")
	if err != nil {
		return savedmodel.Model{}, err
	}
	schema, err := example.ReadSchema(filepath.Join(graph, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		return savedmodel.Model{}, err
	}
	spec, err := schema.Spec()
	if err != nil {
		return savedmodel.Model{}, err
	}
	b := nn.NewBuilder(nn.NewRand(1))
	var columns []nn.Ref
	for _, f := range spec.Without("tips_xf") {
		if f.Kind == example.Int64 {
			const depth = 60
			columns = append(columns, b.OneHot(f.Name+"/one_hot", b.Clamp(f.Name+"/clamp", b.Input(f.Name, nn.Int64, 1), depth), depth))
		} else {
			columns = append(columns, b.Input(f.Name, nn.Float32, 1))
		}
	}
	x := b.Concat("features", columns...)
	for i, units := range []int{100, 70, 50, 25} { // of TFX's taxi example
		x = b.Dense(fmt.Sprintf("dense_%d", i+1), x, units, nn.OpRelu)
	}
	b.Output("logits", b.Dense("logits", x, 1, ""))
	g, err := b.Graph()
	return savedmodel.Model{Graph: g, TransformGraph: graph, Labels: []string{"tips"}}, err
}

// fromRoot is a path in the repository, which the working folder lies in.
func fromRoot(elem ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, elem...)...), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("go.mod is in no folder above: run from the repository")
		}
		dir = filepath.Dir(dir)
	}
}
