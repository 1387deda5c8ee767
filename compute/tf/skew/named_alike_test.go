package skew_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// takingFeatures leaves a model the signature alone that takes features, as its serving signature.
func takingFeatures(t *testing.T, model string) {
	t.Helper()
	path := filepath.Join(model, "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var saved corepb.SavedModel
	if err := proto.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	signatures := saved.GetMetaGraphs()[0].GetSignatureDef()
	var features *corepb.SignatureDef
	for name, s := range signatures {
		if len(s.GetInputs()) == len(measures) {
			features = s
		}
		if !strings.HasPrefix(name, "__") {
			delete(signatures, name)
		}
	}
	if features == nil {
		t.Fatalf("no signature takes %d features", len(measures))
	}
	signatures["serving_default"] = features
	if data, err = proto.Marshal(&saved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// namedAlike returns the raw rows with their measures under the names that the transformed ones
// have too.
func namedAlike(t *testing.T) []string {
	t.Helper()
	paths, err := example.Files(split("examples")...)
	if err != nil {
		t.Fatal(err)
	}
	var spec example.Spec
	for _, name := range rawMeasures() {
		spec = append(spec, example.Feature{Name: name, Kind: example.Float})
	}
	slices.SortFunc(spec, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	to := filepath.Join(t.TempDir(), "data")
	w, err := tfrecord.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		r, err := tfrecord.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			data, err := r.Next()
			if err != nil {
				break
			}
			batch, err := example.Parse(spec, data)
			if err != nil {
				t.Fatal(err)
			}
			more := new(example.Builder)
			for _, name := range rawMeasures() {
				more = more.Float(name+"_xf", batch.Column(name).Floats...)
			}
			// Concatenated protocol buffers are merged.
			if err := w.Append(append(slices.Clone(data), more.Build()...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close()); err != nil {
		t.Fatal(err)
	}
	return []string{to}
}

// Where a transform graph keeps the names of features, a signature that takes them one by one may
// want them raw or transformed. A model that is right for transformed rows is right, and the note
// says what requests have to be.
func TestASignatureOfNamesThatRawAndTransformedRowsShareIsAskedForBoth(t *testing.T) {
	t.Parallel()
	weight := net(t, measures...)
	weight.Params[0].Values[3] += 1e-3
	for name, tt := range map[string]struct {
		broken bool
		note   string
	}{
		"right":  {false, "takes transformed features"},
		"broken": {true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := net(t, measures...)
			if tt.broken {
				files = weight
			}
			q := trained{net(t, measures...), files, penguinGraph}.question(t)
			remembered(t, &q, headOfMemory, nil)
			takingFeatures(t, q.Model)
			q.Raw = namedAlike(t)
			r := ask(t, q)
			if tt.broken != (len(r.Differences) > 0) || !tt.broken && r.Rows == 0 || !strings.Contains(r.Note, tt.note) {
				t.Errorf("report %+v", r)
			}
		})
	}
}
