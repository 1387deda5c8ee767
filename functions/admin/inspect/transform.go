package inspect

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

// TransformGraph describes a directory that tf.Transform wrote.
type TransformGraph struct {
	TensorFlow   string         `json:"tensorflow"`
	Inputs       []Port         `json:"inputs"`  // raw features
	Outputs      []Port         `json:"outputs"` // transformed ones
	Domains      []Domain       `json:"domains,omitempty"`
	Vocabularies []Vocabulary   `json:"vocabularies,omitempty"`
	Ops          map[string]int `json:"ops"`

	Executable bool   `json:"executable"`    // Stoker can execute it, without TensorFlow
	Why        string `json:"why,omitempty"` // why it can't be executed
}

// Domain describes a feature's values according to the transformed schema.
type Domain struct {
	Feature string `json:"feature"`
	Values  string `json:"values"`
}

// Vocabulary is a file of words, one a line.
type Vocabulary struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Words int64  `json:"words"` // -1: the file was not read
}

func inspectTransformGraph(ctx context.Context, s *Source, o Options) (*TransformGraph, error) {
	var paths []string // all except the values of checkpoints, which no graph of tf.Transform has
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	dir, err := s.local(ctx, o.Limit, paths...)
	var large *TooLargeError
	whole := !errors.As(err, &large)
	if !whole {
		dir, err = s.local(ctx, 0, transformFolder+"/"+savedModelFile)
	}
	if err != nil {
		return nil, err
	}
	model, err := graph.Open(path.Join(dir, transformFolder))
	if err != nil {
		return nil, err
	}
	g := &TransformGraph{TensorFlow: model.Meta.GetMetaInfoDef().GetTensorflowVersion(), Ops: opCounts(model)}
	if g.Inputs, g.Outputs, err = transformPorts(model); err != nil {
		return nil, err
	}
	if g.Vocabularies, err = s.vocabularies(ctx, whole); err != nil {
		return nil, err
	}
	if g.Domains, err = s.domains(ctx); err != nil {
		return nil, err
	}
	g.execute(ctx, dir, s.Bytes(), large)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return g, nil
}

// transformPorts returns the inputs and outputs: according to the object graph if there is one,
// else to the signature.
func transformPorts(model *graph.Model) (in, out []Port, err error) {
	trace, err := model.Trace("transform_fn")
	if err == nil {
		return ports(trace.Inputs), ports(trace.Outputs), nil
	}
	signatures, signatureErr := model.Signatures()
	if signatureErr != nil || len(signatures) == 0 {
		return nil, nil, errors.Join(err, signatureErr)
	}
	return ports(signatures[0].Inputs), ports(signatures[0].Outputs), nil
}

// Limits of the attempt to execute a transform graph: inspecting a small file takes little memory,
// and ends.
const (
	tryBytes    = 256 << 20
	tryOverFile = 4 // in addition, this many times the size of the artifact
	tryTime     = time.Minute
)

// execute finds out whether the graph in dir, of an artifact of so many bytes, can be prepared to
// run.
func (g *TransformGraph) execute(ctx context.Context, dir string, bytes int64, large *TooLargeError) {
	if large != nil {
		g.Why = "not tried: " + large.Error()
		return
	}
	limits := graph.Limits{Bytes: tryBytes + tryOverFile*bytes, Time: tryTime}
	if _, err := transform.OpenWithin(ctx, dir, limits); err != nil {
		g.Why = err.Error()
		return
	}
	g.Executable = true
}

func (s *Source) vocabularies(ctx context.Context, count bool) (all []Vocabulary, err error) {
	for _, f := range s.Files {
		file, ok := strings.CutPrefix(f.Path, transformFolder+"/assets/")
		if !ok {
			continue
		}
		v := Vocabulary{Name: vocabularyName(file), File: file, Bytes: f.Bytes, Words: -1}
		if count {
			if v.Words, err = s.countWords(ctx, f.Path); err != nil {
				return nil, err
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// vocabularyName returns the name that tf.Transform's user gave a file.
func vocabularyName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(file, "vocab_"), ".gz"), ".tfrecord")
}

// countWords counts the words of a vocabulary: records, or lines.
func (s *Source) countWords(ctx context.Context, name string) (count int64, err error) {
	in, err := s.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if strings.HasSuffix(name, ".tfrecord.gz") {
		return countRecords(ctx, name, in)
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // the line continues
		case err == io.EOF && len(line) == 0:
			return count, nil
		case err != nil && err != io.EOF:
			return count, err
		default:
			count++
		}
	}
}

func countRecords(ctx context.Context, name string, in io.Reader) (count int64, err error) {
	r := tfrecord.NewReader(name, in)
	for {
		if _, err := r.Next(); err == io.EOF {
			return count, nil
		} else if err != nil {
			return count, err
		}
		if count++; ctx.Err() != nil {
			return count, context.Cause(ctx)
		}
	}
}

// domains returns those of the transformed schema that restrict values.
func (s *Source) domains(ctx context.Context) (domains []Domain, err error) {
	const name = "transformed_metadata/" + schemaFile
	if _, ok := s.find(name); !ok {
		return nil, nil
	}
	data, err := s.read(ctx, name, maxMetadata)
	if err != nil {
		return nil, err
	}
	schema, err := parseSchema(name, data)
	if err != nil {
		return nil, err
	}
	for _, f := range schema.Features {
		if f.Domain != "" {
			domains = append(domains, Domain{f.Name, f.Domain})
		}
	}
	return domains, nil
}
