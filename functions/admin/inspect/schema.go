package inspect

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// Schema is a schema of TensorFlow Metadata.
type Schema struct {
	Features     []SchemaFeature `json:"features"`
	Environments []string        `json:"environments,omitempty"`
	// Tensors that are read with it: the names of TensorFlow's feature spec.
	Tensors []string `json:"tensors"`
	Unread  string   `json:"unread,omitempty"` // why nothing can be read with it
}

// SchemaFeature is one feature of a schema; those of a struct are called <struct>.<feature>.
type SchemaFeature struct {
	Name     string `json:"name"`
	Type     string `json:"type"`               // bytes, int, float, struct, sparse
	Presence string `json:"presence,omitempty"` // required, or a minimum fraction or count
	Shape    string `json:"shape,omitempty"`    // [1]; or how many values: 0..3
	Domain   string `json:"domain,omitempty"`   // range or values
	Note     string `json:"note,omitempty"`     // deprecated, stage, environments
}

// maxMetadata is how long a file of metadata may be, in bytes.
const maxMetadata = 256 << 20

func inspectSchema(ctx context.Context, s *Source) (*Schema, error) {
	name := s.Files[0].Path
	if !s.single {
		name = schemaFile
		if _, ok := s.find(name); !ok {
			for _, f := range s.Files {
				if path.Ext(f.Path) == ".pbtxt" {
					name = f.Path
				}
			}
		}
	}
	data, err := s.read(ctx, name, maxMetadata)
	if err != nil {
		return nil, err
	}
	return parseSchema(name, data)
}

func parseSchema(name string, data []byte) (*Schema, error) {
	known, err := example.ParseSchema(name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var p schemapb.Schema
	if (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &p) != nil {
		p.Reset()
		if err := proto.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("parse schema %s: %w", name, err)
		}
	}
	s := &Schema{Environments: p.GetDefaultEnvironment(), Tensors: []string{}}
	domains := map[string]*schemapb.StringDomain{}
	for _, d := range p.GetStringDomain() {
		domains[d.GetName()] = d
	}
	if err := s.add("", p.GetFeature(), p.GetSparseFeature(), domains, 0); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	spec, err := known.Tensors()
	if err != nil {
		s.Unread = err.Error()
	}
	for _, t := range spec {
		s.Tensors = append(s.Tensors, t.Name)
	}
	return s, nil
}

// maxStructs is how many structs may be nested: names contain those of all around them.
const maxStructs = 64

func (s *Schema) add(prefix string, features []*schemapb.Feature, sparse []*schemapb.SparseFeature, domains map[string]*schemapb.StringDomain, depth int) error {
	if depth > maxStructs {
		return fmt.Errorf("structs are nested more than %d deep", maxStructs)
	}
	for _, f := range features {
		name := prefix + f.GetName()
		s.Features = append(s.Features, SchemaFeature{
			Name: name, Type: strings.ToLower(f.GetType().String()), Presence: presence(f.GetPresence()), Shape: shapeOf(f),
			Domain: domain(f, domains), Note: note(f),
		})
		inner := f.GetStructDomain()
		if err := s.add(name+".", inner.GetFeature(), inner.GetSparseFeature(), domains, depth+1); err != nil {
			return err
		}
	}
	for _, f := range sparse {
		var of []string
		for _, index := range f.GetIndexFeature() {
			of = append(of, index.GetName())
		}
		s.Features = append(s.Features, SchemaFeature{
			Name: prefix + f.GetName(), Type: "sparse",
			Domain: fmt.Sprintf("%s at %s", f.GetValueFeature().GetName(), strings.Join(of, ", ")),
		})
	}
	return nil
}

func presence(p *schemapb.FeaturePresence) string {
	var parts []string
	if p.GetMinFraction() == 1 {
		parts = append(parts, "required")
	} else if p.GetMinFraction() > 0 {
		parts = append(parts, fmt.Sprintf("in %g%% or more", 100*p.GetMinFraction()))
	}
	if p.GetMinCount() > 1 {
		parts = append(parts, fmt.Sprintf("in %d records or more", p.GetMinCount()))
	}
	if p != nil && parts == nil {
		return "optional"
	}
	return strings.Join(parts, ", ")
}

// shapeOf returns a fixed shape, or how many values there may be.
func shapeOf(f *schemapb.Feature) string {
	if f.GetShape() != nil {
		sizes := []string{}
		for _, d := range f.GetShape().GetDim() {
			sizes = append(sizes, strconv.FormatInt(d.GetSize(), 10))
		}
		return "[" + strings.Join(sizes, ", ") + "]"
	}
	var levels []string
	counts := f.GetValueCounts().GetValueCount()
	if f.GetValueCount() != nil {
		counts = []*schemapb.ValueCount{f.GetValueCount()}
	}
	for _, c := range counts {
		most := ""
		if c.Max != nil {
			most = strconv.FormatInt(c.GetMax(), 10)
		}
		levels = append(levels, fmt.Sprintf("%d..%s", c.GetMin(), most))
	}
	return strings.Join(levels, " of ")
}

// maxWords is how many bytes of a list of values are reported.
const maxWords = 60

func domain(f *schemapb.Feature, domains map[string]*schemapb.StringDomain) string {
	switch of := f.GetDomainInfo().(type) {
	case *schemapb.Feature_Domain:
		return words(domains[of.Domain].GetValue())
	case *schemapb.Feature_StringDomain:
		return words(of.StringDomain.GetValue())
	case *schemapb.Feature_BoolDomain:
		return "bool"
	case *schemapb.Feature_IntDomain:
		d := of.IntDomain
		text := span(orNaN(d.Min), orNaN(d.Max))
		if d.GetIsCategorical() {
			text = strings.TrimSpace(text + " categorical")
		}
		return text
	case *schemapb.Feature_FloatDomain:
		return span(orNaN(of.FloatDomain.Min), orNaN(of.FloatDomain.Max))
	}
	return ""
}

func orNaN[T int64 | float32](x *T) float64 {
	if x == nil {
		return math.NaN()
	}
	return float64(*x)
}

// span writes a range whose ends may be open: NaN.
func span(low, high float64) string {
	end := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	if math.IsNaN(low) && math.IsNaN(high) {
		return ""
	}
	return end(low) + ".." + end(high)
}

// words lists values, the first few of many.
func words(values []string) string {
	text := ""
	for i, v := range values {
		v = strconv.Quote(clip(v, maxCell))
		if i > 0 && len(text)+len(v) > maxWords {
			return text + fmt.Sprintf(" and %d more", len(values)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += v
	}
	return text
}

func note(f *schemapb.Feature) string {
	var notes []string
	if f.GetDeprecated() {
		notes = append(notes, "deprecated")
	}
	if stage := f.GetLifecycleStage(); f.LifecycleStage != nil && stage != schemapb.LifecycleStage_PRODUCTION {
		notes = append(notes, strings.ToLower(stage.String()))
	}
	if in := f.GetInEnvironment(); len(in) > 0 {
		notes = append(notes, "only in "+strings.Join(in, ", "))
	}
	if out := f.GetNotInEnvironment(); len(out) > 0 {
		notes = append(notes, "not in "+strings.Join(out, ", "))
	}
	return strings.Join(notes, "; ")
}
