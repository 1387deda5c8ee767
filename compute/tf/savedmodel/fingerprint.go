package savedmodel

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/fingerprint"
)

// fingerprintVersion is the version of TensorFlow 2.21's fingerprints. The hashes are the same as
// in the first version.
const fingerprintVersion = 4

// uuidField is the number of FingerprintDef.uuid, newer than the protos of this package.
const uuidField protowire.Number = 7

// writeFingerprint writes fingerprint.pb, by which TensorFlow identifies models: FarmHash's
// Fingerprint64 of the parts of the model, as tensorflow/cc/saved_model/fingerprinting.cc computes
// it. data is the content of saved_model.pb; the variables must have been written before.
// TensorFlow's uuid is random, ours comes from the content: same model, same bytes.
func writeFingerprint(dir string, model *corepb.SavedModel, data []byte) error {
	index, err := os.ReadFile(filepath.Join(dir, "variables", "variables.index"))
	if err != nil {
		return err
	}
	def, err := fingerprintOf(model.GetMetaGraphs()[0], data, index)
	if err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	text, err := marshal(def)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "fingerprint.pb"), text, 0o644)
}

func fingerprintOf(graph *corepb.MetaGraphDef, data, index []byte) (*corepb.FingerprintDef, error) {
	program, err := hashProgram(graph.GetGraphDef())
	if err != nil {
		return nil, err
	}
	signatures, err := hashSignatures(graph.GetSignatureDef())
	if err != nil {
		return nil, err
	}
	objects, err := hashFunctions(graph.GetObjectGraphDef().GetConcreteFunctions())
	if err != nil {
		return nil, err
	}
	def := &corepb.FingerprintDef{
		SavedModelChecksum: fingerprint.Of(data), GraphDefProgramHash: program, SignatureDefHash: signatures,
		SavedObjectGraphHash: objects, CheckpointHash: fingerprint.Of(index),
		Version: &versionpb.VersionDef{Producer: fingerprintVersion},
	}
	def.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, uuidField, protowire.BytesType), uuid(data, index)))
	return def, nil
}

// uuid returns a number of 128 bits in decimal, padded to 20 digits.
func uuid(data, index []byte) string {
	h := sha256.New()
	h.Write(data)
	h.Write(index)
	return fmt.Sprintf("%020d", new(big.Int).SetBytes(h.Sum(nil)[:16]))
}

// hashProgram hashes the top graph without the parts that differ between machines: the numbers at
// the end of functions' names, the settings of calls, and strings, which may be paths. The library
// of functions isn't hashed.
func hashProgram(graph *graphpb.GraphDef) (uint64, error) {
	regular := &graphpb.GraphDef{}
	for _, node := range graph.GetNode() {
		node = proto.CloneOf(node)
		switch a := node.GetAttr(); node.GetOp() {
		case "PartitionedCall", "StatefulPartitionedCall":
			f := a["f"].GetFunc()
			f.Name, _, _ = cutNumber(f.GetName())
			if config := a["config_proto"]; config != nil {
				config.Value = stringAttr("").Value
			}
		case "Const":
			if a["dtype"].GetType() == typepb.DataType_DT_STRING {
				a["value"].Value = nil
			}
		}
		regular.Node = append(regular.Node, node)
	}
	// TensorFlow clears these two, but leaves them in place.
	regular.Library, regular.Versions = library(nil), &versionpb.VersionDef{}
	return hashMessage(regular)
}

// hashSignatures hashes the signatures in the order of their keys.
func hashSignatures(signatures map[string]*corepb.SignatureDef) (sum uint64, err error) {
	for _, key := range slices.Sorted(maps.Keys(signatures)) {
		h, err := hashMessage(signatures[key])
		if err != nil {
			return 0, err
		}
		sum = fingerprint.Join(fingerprint.Join(sum, fingerprint.Of([]byte(key))), h)
	}
	return sum, nil
}

// hashFunctions hashes the concrete functions in the order of the numbers at the end of their
// names. TensorFlow takes one function for each number.
func hashFunctions(functions map[string]*corepb.SavedConcreteFunction) (sum uint64, err error) {
	byNumber := map[int64]string{}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		_, number, ok := cutNumber(name)
		if !ok {
			return 0, fmt.Errorf("function %s: its name doesn't end in a number", name)
		}
		byNumber[number] = cmp.Or(byNumber[number], name)
	}
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		name := byNumber[number]
		prefix, _, _ := cutNumber(name)
		h, err := hashMessage(functions[name])
		if err != nil {
			return 0, err
		}
		sum = fingerprint.Join(fingerprint.Join(sum, fingerprint.Of([]byte(prefix))), h)
	}
	return sum, nil
}

// cutNumber removes the number after the last underscore of a function's name.
func cutNumber(name string) (prefix string, number int64, ok bool) {
	digits := name[strings.LastIndexByte(name, '_')+1:]
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return name, 0, false
	}
	return strings.TrimSuffix(name, digits), number, true
}

func hashMessage(m proto.Message) (uint64, error) {
	data, err := marshal(m)
	return fingerprint.Of(data), err
}
