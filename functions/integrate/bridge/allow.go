package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// AnyPipeline is, as the only pipeline of a Rule, all of them.
const AnyPipeline = "*"

// Rule names the pipelines that markers below a prefix may start.
type Rule struct {
	Prefix    storage.Ref // a bucket, or a folder in one
	Pipelines []string    // names, or only AnyPipeline
}

func (r Rule) String() string { return r.Prefix.String() + "=" + strings.Join(r.Pipelines, ",") }

// covers reports whether the object is below the prefix, which is a folder, not the beginning of a
// name.
func (r Rule) covers(at storage.Ref) bool {
	_, below := at.Below(r.Prefix)
	return below
}

func checkRules(rules []Rule) error {
	for i, rule := range rules {
		if err := rule.Prefix.Validate(); err != nil {
			return err
		}
		if len(rule.Pipelines) == 0 {
			return fmt.Errorf("%s: expected at least one pipeline, or %s for any", rule.Prefix, AnyPipeline)
		}
		for _, name := range rule.Pipelines {
			if err := events.CheckName("pipeline", name); err != nil && !slices.Equal(rule.Pipelines, []string{AnyPipeline}) {
				return fmt.Errorf("%s: %w", rule.Prefix, err)
			}
		}
		if slices.ContainsFunc(rules[:i], func(other Rule) bool { return other.Prefix.Folder() == rule.Prefix.Folder() }) {
			return fmt.Errorf("%s: duplicate prefix: list all its pipelines in one rule", rule.Prefix)
		}
	}
	return nil
}

// allowed returns nil if a marker may start the pipeline. If several rules cover it, the longest
// prefix counts.
func (b *Bridge) allowed(marker storage.Ref, pipeline string) error {
	if len(b.opts.Allow) == 0 {
		return nil
	}
	refusal := &events.Invalid{Field: "pipeline", Expected: "a marker below a prefix of --allow", Got: pipeline}
	longest := -1
	for _, rule := range b.opts.Allow {
		if n := len(rule.Prefix.Folder().Key); n > longest && rule.covers(marker) {
			if longest = n; rule.Pipelines[0] == AnyPipeline || slices.Contains(rule.Pipelines, pipeline) {
				refusal = nil
				continue
			}
			expected := fmt.Sprintf("one of the pipelines that --allow lists for %s: %s", rule.Prefix, strings.Join(rule.Pipelines, ", "))
			refusal = &events.Invalid{Field: "pipeline", Expected: expected, Got: pipeline}
		}
	}
	if refusal == nil {
		return nil
	}
	return refusal
}

// ParseRule parses s3://BUCKET/PREFIX=PIPELINE,PIPELINE.
func ParseRule(text string) (Rule, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return Rule{}, fmt.Errorf("%s: expected s3://BUCKET/PREFIX=PIPELINE,PIPELINE", text)
	}
	prefix, err := storage.ParseRef(text[:i])
	if err != nil {
		return Rule{}, err
	}
	return Rule{Prefix: prefix, Pipelines: strings.Split(text[i+1:], ",")}, nil
}
