package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tfevents"
)

// Kind is the kind of an artifact, or of a file of one.
type Kind string

// The kinds, each with the name of its field in a Report.
const (
	KindExamples        Kind = "examples"
	KindSchema          Kind = "schema"
	KindStatistics      Kind = "statistics"
	KindTransformGraph  Kind = "transform_graph"
	KindSavedModel      Kind = "saved_model"
	KindModel           Kind = "model"
	KindCheckpoint      Kind = "checkpoint"
	KindTFLite          Kind = "tflite"
	KindONNX            Kind = "onnx"
	KindHyperparameters Kind = "hyperparameters"
	KindTunerResults    Kind = "tuner_results"
	KindEvents          Kind = "events"
	KindFolder          Kind = "folder" // of artifacts
)

// expected lists what can be inspected, for errors.
const expected = "expected Examples (Split-<name>/ or TFRecord files), a schema, statistics, a transform graph, a SavedModel, a Model, " +
	"a checkpoint, a .tflite or .onnx file, best_hyperparameters.txt, tuner_results.json, or event files"

// Names by which TFX and TensorFlow mark the content of a file.
const (
	savedModelFile      = "saved_model.pb"
	savedModelText      = "saved_model.pbtxt"
	transformFolder     = "transform_fn"
	statisticsFile      = "FeatureStats.pb"
	schemaFile          = "schema.pbtxt"
	hyperparametersFile = "best_hyperparameters.txt"
	tunerResultsFile    = "tuner_results.json"
	splitPrefix         = "Split-"
	formatPrefix        = "Format-"
)

// KindOfNames returns the kind of a directory by the paths of its files, "" if they are ambiguous.
func KindOfNames(paths []string) Kind {
	s := &Source{}
	for _, name := range paths {
		s.Files = append(s.Files, File{Path: name})
	}
	return s.kindOfFolder()
}

// kindOfFolder returns the kind of a directory by the names in it, "" if they are ambiguous.
func (s *Source) kindOfFolder() Kind {
	has := s.has
	is := func(name string) func(string) bool { return func(p string) bool { return p == name } }
	inSplit := func(p string) bool { return strings.HasPrefix(p, splitPrefix) && strings.Contains(p, "/") }
	switch {
	case has(is(transformFolder+"/"+savedModelFile)) || has(is(transformFolder+"/"+savedModelText)):
		return KindTransformGraph
	case has(is(savedModelFile)) || has(is(savedModelText)):
		return KindSavedModel
	case has(func(p string) bool { return strings.HasPrefix(p, formatPrefix) && strings.Contains(p, "/") }):
		return KindModel
	case has(func(p string) bool { return inSplit(p) && path.Base(p) == statisticsFile }):
		return KindStatistics
	case has(inSplit):
		return KindExamples
	case has(is(schemaFile)):
		return KindSchema
	case has(is(hyperparametersFile)):
		return KindHyperparameters
	case has(is(tunerResultsFile)):
		return KindTunerResults
	case has(func(p string) bool { return strings.HasPrefix(p, "export/") && path.Base(p) == savedModelFile }):
		return KindModel
	case s.isLog() && !has(func(p string) bool { return path.Base(p) == savedModelFile }):
		return KindEvents
	case has(func(p string) bool { return !strings.Contains(p, "/") && strings.HasSuffix(p, ".index") }):
		return KindCheckpoint
	}
	return ""
}

func (s *Source) has(test func(path string) bool) bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return test(f.Path) })
}

// isLog reports whether a directory is one of event files: they are in it, or below it there are
// more of them than files that have nothing to do with a log. A directory of code is not one
// because an event file is somewhere below it.
func (s *Source) isLog() bool {
	logged, other := 0, 0
	for _, f := range s.Files {
		switch {
		case tfevents.IsEventFile(f.Path) && !strings.Contains(f.Path, "/"):
			return true
		case tfevents.IsEventFile(f.Path):
			logged++
		case !isNextToLogs(path.Base(f.Path)):
			other++
		}
	}
	return logged > other
}

// isNextToLogs reports whether trainings write files of a name next to their logs: descriptions and
// checkpoints.
func isNextToLogs(base string) bool {
	ext := path.Ext(base)
	return base == "checkpoint" || strings.HasPrefix(ext, ".data-") ||
		slices.Contains([]string{".json", ".txt", ".pbtxt", ".pb", ".index", ".meta", ".h5"}, ext)
}

// words returns the kind in words.
func (k Kind) words() string {
	if k == KindEvents {
		return "event files"
	}
	return strings.ReplaceAll(string(k), "_", " ")
}

// kindOfFile returns the kind of a file by its first bytes, and if these are ambiguous by its name;
// "" if it is not known.
func (s *Source) kindOfFile(ctx context.Context, name string) (Kind, error) {
	head, size, err := s.head(ctx, name)
	if err != nil {
		return "", err
	}
	base := path.Base(name)
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case isRecords(head) && tfevents.IsEventFile(base):
		return KindEvents, nil
	case isRecords(head) || bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return KindExamples, nil
	case len(head) >= 8 && string(head[4:8]) == "TFL3":
		return KindTFLite, nil
	case bytes.HasPrefix(text, []byte(`{"space"`)), base == hyperparametersFile:
		return KindHyperparameters, nil
	case bytes.HasPrefix(text, []byte("[")) && bytes.Contains(head, []byte(`"trial_id"`)), base == tunerResultsFile:
		return KindTunerResults, nil
	case strings.HasSuffix(base, ".index") && size >= footerSize:
		return KindCheckpoint, nil
	case base == savedModelFile:
		return KindSavedModel, nil
	case path.Ext(base) == ".onnx":
		return KindONNX, nil
	case base == statisticsFile:
		return KindStatistics, nil
	case path.Ext(base) == ".pbtxt" || base == "schema.pb" || bytes.HasPrefix(text, []byte("feature {")):
		return KindSchema, nil
	}
	return "", nil
}

// footerSize is that of a LevelDB table, in bytes: the minimum size of a checkpoint's index.
const footerSize = 48

// head returns the first bytes of a file, and the file's size.
func (s *Source) head(ctx context.Context, name string) ([]byte, int64, error) {
	f, _ := s.find(name)
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], f.Bytes, err
}

// isRecords reports whether bytes begin like a TFRecord: with a length and its checksum.
func isRecords(head []byte) bool {
	return len(head) >= 12 && tfrecord.Checksum(head[:8]) == binary.LittleEndian.Uint32(head[8:])
}

// unknown returns the error for a source of no kind: it says what the source is if that is known,
// and what to save instead.
func (s *Source) unknown(ctx context.Context) error {
	for _, f := range s.Files[:min(len(s.Files), maxLooked)] {
		head, _, err := s.head(ctx, f.Path)
		if err != nil {
			return err
		}
		if what := unread(f.Path, head); what != "" {
			return fmt.Errorf("%s is %s", f.Path, what)
		}
	}
	return fmt.Errorf("not a known artifact: %s", expected)
}

// unread returns what a file is that is not read here, and what to do instead: a file in which
// Keras keeps a model, or a table. It returns "" for any other file.
func unread(name string, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")):
		// The signature of the HDF5 File Format Specification, III.A.
		return "HDF5, which is not supported: load it into its model with Keras, and save that with model.export(folder)"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && path.Ext(name) == ".keras":
		return "a zip file in Keras's own format, which is not supported: load it with tf.keras.models.load_model, and save it with model.export(folder)"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".parquet":
		return fmt.Sprintf("a table: `stoker upload %s s3://BUCKET/KEY` converts it to Examples", name)
	}
	return ""
}
