package modelcheck

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// modelFiles are the file names by which TensorFlow recognizes a SavedModel.
var modelFiles = []string{"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb"}

// checkGraph returns an error for operations that models don't need, in each SavedModel below the
// folder of a graph.
func checkGraph(g Graph, extra []string) error {
	var models []string
	err := filepath.WalkDir(g.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains(modelFiles, entry.Name()) && !slices.Contains(models, filepath.Dir(path)) {
			models = append(models, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range models {
		model, err := graph.Open(dir)
		if err == nil {
			err = model.CheckOps(graph.Policy{Extra: extra, Help: "remove them from the graph, or ask the worker's operator to allow them in STOKER_GRAPH_OPS"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
