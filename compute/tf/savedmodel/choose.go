package savedmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// choose writes the ops that choose a class.
func (w *forward) choose(n nn.Node, x edge) (edge, error) {
	switch n.Op {
	case nn.OpWithin:
		return w.within(n, x), nil
	case nn.OpBucket:
		return w.bucket(n, x), nil
	case nn.OpArgMax:
		return w.argMax(n, x), nil
	case nn.OpCross:
		return w.cross(n), nil
	case nn.OpLabel:
		return w.label(n, x), nil
	}
	return "", fmt.Errorf("op %s can't be written as TensorFlow ops", n.Op)
}

// within: y = x where 0 <= x < depth, else the default.
func (w *forward) within(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(int64Type)}
	low := w.op("GreaterEqual", n.Name+"/low", a, x, w.constant(n.Name+"/first", int64Const(0)))
	high := w.op("LessEqual", n.Name+"/high", a, x, w.constant(n.Name+"/last", int64Const(int64(n.Attr.Depth-1))))
	known := w.op("LogicalAnd", n.Name+"/known", nil, low, high)
	return w.op("SelectV2", n.Name, a, known, x, w.constant(n.Name+"/default", int64Const(n.Attr.Default)))
}

func (w *forward) bucket(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(float32Type), "boundaries": floatsAttr(n.Attr.Boundaries)}
	return w.cast(n.Name, w.op("Bucketize", n.Name+"/bucketize", a, x), int32Type, int64Type)
}

// argMax keeps the axis, [batch, 1].
func (w *forward) argMax(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(float32Type), "Tidx": typeAttr(int32Type), "output_type": typeAttr(int64Type)}
	best := w.op("ArgMax", n.Name+"/index", a, x, w.constant(n.Name+"/axis", int32Const(1)))
	return w.reshape(n.Name, best, int64Type, -1, 1)
}

func (w *forward) label(n nn.Node, x edge) edge {
	a := attrs{"Tparams": typeAttr(stringType), "Tindices": typeAttr(int64Type), "Taxis": typeAttr(int32Type)}
	names := w.constant(n.Name+"/names", stringsConst(n.Attr.Vocabulary))
	return w.op("GatherV2", n.Name, a, names, x, w.constant(n.Name+"/axis", int32Const(0)))
}

func floatsAttr(values []float32) *attrpb.AttrValue {
	return listAttr(&attrpb.AttrValue_ListValue{F: values})
}

// classesFile contains the names of a model's classes: a JSON list of strings. assets.extra is the
// directory of a SavedModel for files of others, which TensorFlow does not load (its
// saved_model/README.md).
const classesFile = "assets.extra/classes.json"

// maxClassesBytes limits the bytes that are read of that file.
const maxClassesBytes = 64 << 20

// writeClasses writes the names of the classes, if they are known.
func (b *builder) writeClasses(dir string) error {
	if b.model.ClassNames == nil {
		return nil
	}
	text, err := json.Marshal(b.model.ClassNames)
	name := filepath.Join(dir, classesFile)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("names of classes: %w", err)
	}
	return nil
}

// ReadClasses returns the ClassNames with which the SavedModel in dir was written; nil if it has
// none.
func ReadClasses(dir string) ([]string, error) {
	name := filepath.Join(dir, classesFile)
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxClassesBytes {
		err = fmt.Errorf("has %d bytes, more than %d", info.Size(), maxClassesBytes)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	var names []string
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", classesFile, err)
	}
	return names, nil
}
