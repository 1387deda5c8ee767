package warmstart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// maxVocabularyBytes limits a vocabulary's file.
const maxVocabularyBytes = 1 << 30

// TransformVocabularies returns the vocabularies of a TransformGraph artifact, by the transformed
// feature that is made with one, and with one only.
func TransformVocabularies(dir string) (map[string]Vocabulary, error) {
	m, err := readModel(filepath.Join(dir, "transform_fn"))
	if err != nil {
		return nil, fmt.Errorf("read vocabularies of %s: %w", dir, err)
	}
	t := newTracer(m, nil)
	found := map[string]Vocabulary{}
	for _, root := range t.transforms() {
		for i, result := range m.resultNames(root.fn.GetSignature().GetName()) {
			output := root.fn.GetSignature().GetOutputArg()[i].GetName()
			if ids := t.idsOf(root, root.fn.GetRet()[output]); result.key != "" && ids != nil {
				found[result.key] = ids.tokens
			}
		}
	}
	return found, nil
}

// transforms returns the functions of the object transform_fn.
func (t *tracer) transforms() []*frame {
	id, ok := t.model.child(0, "transform_fn")
	if !ok {
		return nil
	}
	names := t.model.object(id).GetFunction().GetConcreteFunctions()
	if bare := t.model.object(id).GetBareConcreteFunction(); bare != nil {
		names = append(names, bare.GetConcreteFunctionName())
	}
	var roots []*frame
	for _, name := range names {
		if root := t.rootFrame(name); root != nil {
			roots = append(roots, root)
		}
	}
	return roots
}

// idsOf returns the meaning of the numbers in a tensor, if it is computed with one vocabulary: its
// tokens come first, then buckets for others.
func (t *tracer) idsOf(f *frame, tensor string) *domain {
	tables := map[string]Vocabulary{}
	type place struct {
		frame  *frame
		tensor string
	}
	seen := map[place]bool{}
	for todo := []place{{f, tensor}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		node, _, index := cutTensor(at.tensor)
		at.tensor = fmt.Sprintf("%s:%d", node, index)
		o, ok := at.frame.origin(node)
		if t.work++; !ok || o.node == nil || seen[at] || t.work > maxWork {
			continue
		}
		seen[at] = true
		if o.node.GetOp() == "LookupTableFindV2" && len(o.node.GetInput()) > 0 {
			tokens := t.tokens(o.frame, o.node.GetInput()[0])
			tables[strings.Join(tokens, "\n")] = tokens
		}
		if called := t.call(o.frame, o.node); called != nil {
			if results := called.fn.GetSignature().GetOutputArg(); index >= 0 && index < len(results) {
				todo = append(todo, place{called, called.fn.GetRet()[results[index].GetName()]})
			}
			continue
		}
		for _, in := range o.node.GetInput() {
			if !strings.HasPrefix(in, "^") {
				todo = append(todo, place{o.frame, in})
			}
		}
	}
	if len(tables) != 1 {
		return nil
	}
	for _, tokens := range tables {
		if len(tokens) > 0 {
			return &domain{tokens: tokens, other: -1}
		}
	}
	return nil
}

// tokens returns the tokens for 0, 1, 2 ... in a table; nil if they aren't known.
func (t *tracer) tokens(f *frame, table string) Vocabulary {
	o, ok := f.through(table, "Identity")
	switch {
	case !ok:
		return nil
	case o.node != nil:
		return t.graphTokens(o)
	case o.object < 0:
		return nil
	}
	id, ok := t.model.child(o.object, "_initialize")
	if !ok {
		return nil
	}
	names := t.model.object(id).GetFunction().GetConcreteFunctions()
	if bare := t.model.object(id).GetBareConcreteFunction(); bare != nil {
		names = []string{bare.GetConcreteFunctionName()}
	}
	for _, name := range names {
		if root := t.rootFrame(name); root != nil {
			return t.initialized(root)
		}
	}
	return nil
}

// graphTokens returns the tokens of a table of TensorFlow 1, which another node fills.
func (t *tracer) graphTokens(table origin) Vocabulary {
	for _, n := range table.frame.nodes {
		if len(n.GetInput()) > 0 && isInitializer(n) {
			if o, ok := table.frame.through(n.GetInput()[0], "Identity"); ok && o.node == table.node {
				return t.filled(table.frame, n)
			}
		}
	}
	return nil
}

// initialized returns the tokens that a function puts into its table.
func (t *tracer) initialized(root *frame) Vocabulary {
	for _, n := range root.nodes {
		if isInitializer(n) {
			return t.filled(root, n)
		}
		if called := t.call(root, n); called != nil {
			if tokens := t.initialized(called); tokens != nil {
				return tokens
			}
		}
	}
	return nil
}

func isInitializer(n *nodepb.NodeDef) bool {
	return n.GetOp() == "InitializeTableFromTextFileV2" || n.GetOp() == "LookupTableImportV2"
}

func (t *tracer) filled(f *frame, n *nodepb.NodeDef) Vocabulary {
	in := n.GetInput()
	if n.GetOp() == "LookupTableImportV2" && len(in) >= 3 {
		return imported(t.strings(f, in[1]), t.wholeNumbers(f, in[2]))
	}
	const wholeLine, lineNumber = -2, -1
	if len(in) < 2 || n.GetAttr()["key_index"].GetI() != wholeLine || n.GetAttr()["value_index"].GetI() != lineNumber {
		return nil
	}
	return t.lines(t.assetFile(f, in[1]))
}

// imported returns tokens in the order of their numbers, which must be all from 0.
func imported(tokens []string, numbers []int64) Vocabulary {
	if len(tokens) != len(numbers) {
		return nil
	}
	list, there := make(Vocabulary, len(tokens)), make([]bool, len(tokens))
	for i, n := range numbers {
		if n < 0 || n >= int64(len(list)) || there[n] {
			return nil
		}
		list[n], there[n] = tokens[i], true
	}
	return list
}

// assetFile returns the name of the file whose path a tensor holds.
func (t *tracer) assetFile(f *frame, tensor string) string {
	o, ok := f.through(tensor, "Identity")
	assets := t.model.graph.GetAssetFileDef()
	switch {
	case !ok:
		return ""
	case o.node == nil:
		asset, isAsset := t.model.object(o.object).GetKind().(*corepb.SavedObject_Asset)
		if !isAsset || int(asset.Asset.GetAssetFileDefIndex()) >= len(assets) || asset.Asset.GetAssetFileDefIndex() < 0 {
			return ""
		}
		return assets[asset.Asset.GetAssetFileDefIndex()].GetFilename()
	}
	for _, asset := range assets {
		if node, _, _ := cutTensor(asset.GetTensorInfo().GetName()); node == o.node.GetName() {
			return asset.GetFilename()
		}
	}
	return ""
}

// lines returns the lines of an asset, as TensorFlow reads a vocabulary: without the newline and
// one carriage return before it.
func (t *tracer) lines(asset string) Vocabulary {
	if asset == "" || !filepath.IsLocal(asset) {
		return nil
	}
	if list, ok := t.files[asset]; ok {
		return list
	}
	data, err := readBounded(filepath.Join(t.model.dir, "assets", asset), maxVocabularyBytes)
	if err != nil {
		return nil
	}
	var list Vocabulary
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		list = append(list, string(bytes.TrimSuffix(line, []byte("\r"))))
	}
	t.files[asset] = list
	return list
}
