package savedmodel

import (
	"os"
	"path/filepath"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// fingerprintScript reads fingerprint.pb as its users do, and has TensorFlow compute it again from
// the other files.
const fingerprintScript = `
from tensorflow.core.protobuf import fingerprint_pb2
from tensorflow.python.saved_model.pywrap_saved_model import fingerprinting

def check(path):
    read = tf.saved_model.experimental.read_fingerprint(path)
    again = fingerprint_pb2.FingerprintDef.FromString(fingerprinting.CreateFingerprintDef(path))
    kept = fingerprint_pb2.FingerprintDef.FromString(open(path + "/fingerprint.pb", "rb").read())
    fields = ["saved_model_checksum", "graph_def_program_hash", "signature_def_hash", "saved_object_graph_hash", "checkpoint_hash"]
    return {
        "read": [str(getattr(read, f)) for f in fields], "again": [str(getattr(again, f)) for f in fields],
        "singleprint": read.singleprint(), "version": [kept.version.producer, again.version.producer],
        "uuid": kept.uuid, "digits": [len(kept.uuid) >= 20, kept.uuid.isdigit()],
    }
`

func TestFingerprintIsTensorFlows(t *testing.T) {
	t.Parallel()
	taxi := readCorpus(t, "taxi", "tips", 1)
	for name, m := range map[string]Model{"without a transform graph": tower(), "with one": taxi.model(), "without tables": penguin(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Read, Again []string
				Singleprint string
				Version     []int
				UUID        string
				Digits      []bool
			}
			tftest.Run(t, fingerprintScript, writeTemp(t, m), &got)
			for i, field := range []string{"saved_model_checksum", "graph_def_program_hash", "signature_def_hash", "saved_object_graph_hash", "checkpoint_hash"} {
				if got.Read[i] != got.Again[i] {
					t.Errorf("%s is %s, TensorFlow has %s", field, got.Read[i], got.Again[i])
				}
			}
			if got.Version[0] != got.Version[1] || got.Singleprint == "" || !got.Digits[0] || !got.Digits[1] {
				t.Errorf("version and TensorFlow's: %v, singleprint %q, uuid %q", got.Version, got.Singleprint, got.UUID)
			}
		})
	}
}

// What real graphs have, and ours have not: settings of calls, and gaps between the numbers of
// functions.
func TestFingerprintsOfTFXAreComputedAgain(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"penguin/transform_graph/transform_fn", "taxi/transform_graph/transform_fn"} {
		dir = filepath.Join("testdata", filepath.FromSlash(dir))
		read := func(name string) []byte {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		var model corepb.SavedModel
		var want corepb.FingerprintDef
		if err := proto.Unmarshal(read("saved_model.pb"), &model); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(read("fingerprint.pb"), &want); err != nil {
			t.Fatal(err)
		}
		data, err := marshal(&model) // TensorFlow hashes what it would write, not the file
		if err != nil {
			t.Fatal(err)
		}
		got, err := fingerprintOf(model.GetMetaGraphs()[0], data, read(filepath.Join("variables", "variables.index")))
		if err != nil {
			t.Fatal(err)
		}
		got.ProtoReflect().SetUnknown(nil)
		got.Version = want.GetVersion() // 1, of TensorFlow 2.16
		if !proto.Equal(got, &want) {
			t.Errorf("%s: fingerprint is %v, TFX has %v", dir, got, &want)
		}
	}
}
