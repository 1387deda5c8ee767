package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// maxModelBytes limits the graph, which is read at once; protobuf itself allows no more.
const maxModelBytes = 2<<30 - 1

// Check returns an error if dir contains no SavedModel that can be served: no saved_model.pb, one
// that does not parse, no graph tagged "serve", no signature, an index of variables that does not
// parse, values or an asset that are missing. It runs nothing.
func Check(dir string) error {
	model, err := readModel(dir)
	if err != nil {
		return err
	}
	graph, err := servingGraph(model)
	if err != nil {
		return err
	}
	if err := checkVariables(dir, graph); err != nil {
		return err
	}
	for _, asset := range graph.GetAssetFileDef() {
		name := filepath.Join(dir, "assets", filepath.FromSlash(asset.GetFilename()))
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("asset %s: %w", asset.GetFilename(), err)
		}
	}
	return nil
}

func readModel(dir string) (*corepb.SavedModel, error) {
	name := filepath.Join(dir, "saved_model.pb")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("holds no saved_model.pb: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxModelBytes {
		return nil, fmt.Errorf("saved_model.pb has %d bytes, more than protobuf allows", info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		return nil, fmt.Errorf("saved_model.pb does not parse: %w", err)
	}
	return &model, nil
}

// servingGraph finds the graph tagged "serve", which must have a signature that can be called.
func servingGraph(model *corepb.SavedModel) (*corepb.MetaGraphDef, error) {
	for _, graph := range model.GetMetaGraphs() {
		if !slices.Contains(graph.GetMetaInfoDef().GetTags(), "serve") {
			continue
		}
		for key, signature := range graph.GetSignatureDef() {
			if key != initSignature && len(signature.GetOutputs()) > 0 {
				return graph, nil
			}
		}
		return nil, errors.New("saved_model.pb has no signature that could be served")
	}
	return nil, errors.New(`saved_model.pb has no graph with the tag "serve"`)
}

// checkVariables reads the index, if the model has variables, and checks that their values exist.
func checkVariables(dir string, graph *corepb.MetaGraphDef) error {
	prefix := filepath.Join(dir, "variables", "variables")
	if _, err := os.Stat(prefix + ".index"); errors.Is(err, fs.ErrNotExist) {
		if at := slices.IndexFunc(graph.GetGraphDef().GetNode(), isVariable); at >= 0 {
			return fmt.Errorf("holds no variables/variables.index, and its graph has variables: %s", graph.GetGraphDef().GetNode()[at].GetName())
		}
		return nil
	}
	variables, err := tensorbundle.Open(prefix)
	if err != nil {
		return err
	}
	return variables.CheckFiles()
}

func isVariable(n *nodepb.NodeDef) bool {
	return slices.Contains([]string{"VarHandleOp", "VariableV2", "Variable"}, n.GetOp())
}
