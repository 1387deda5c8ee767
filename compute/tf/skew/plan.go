package skew

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// question is a call of the model with some rows, and the use of its answer.
type question struct {
	signature savedmodel.Signature
	calls     []call
	rows      int
	without   []string // labels that the rows lack
	compare   func(c *check, v *verdict, answer map[string]column)
}

// trimmed returns an answer without the padding rows of a batch.
func (q question) trimmed(answer map[string]column) map[string]column {
	for name, c := range answer {
		answer[name] = c[:min(len(c), q.rows)]
	}
	return answer
}

// Names of signatures of TFX's modules and of Stoker's writer.
const (
	servingSignature  = "serving_default"
	featuresSignature = "transform_features"
)

// plan returns the calls of the model. The error is the reason why there is no possible call.
func (c *check) plan(model *savedmodel.Served) error {
	signatures := model.Signatures()
	if c.data.raw == nil {
		return c.planTransformed(signatures)
	}
	if len(c.data.raw) == 0 {
		return errors.New("there are no rows to ask")
	}
	if features, err := graph.Find(signatures, featuresSignature); err == nil {
		if err := c.planFeatures(features); err != nil {
			c.note("transformed features are not compared: %v", err)
		}
	}
	serving, err := serving(signatures)
	if err != nil {
		return err
	}
	if c.fed == asTransformed {
		return c.planFed(serving, errors.New("the signature takes no transformed features"))
	}
	rows, compare := c.reference()
	if takesExamples(serving, c.data.raw) && !strings.Contains(strings.ToLower(serving.Inputs[0].Name), "example") && !model.ParsesExamples() {
		return fmt.Errorf("the signature %s takes strings, and the model has no operation that reads tf.Examples", serving.Name)
	}
	return c.planOutputs(serving, rows, compare)
}

// serving returns the signature that requests are for: that of the usual name, or the only one that
// is no transformation.
func serving(signatures []savedmodel.Signature) (savedmodel.Signature, error) {
	s, err := graph.Find(signatures, servingSignature)
	if err == nil {
		return s, nil
	}
	others := slices.DeleteFunc(slices.Clone(signatures), func(s savedmodel.Signature) bool { return s.Name == featuresSignature })
	if len(others) == 1 {
		return others[0], nil
	}
	return s, err
}

// reference returns the rows for which the model is called, and how their outputs are compared. The
// model is called even if there is nothing to compare its outputs with: a model that has an error
// for these rows could not be served.
func (c *check) reference() ([]row, func(*check, *verdict, map[string]column)) {
	switch {
	case len(c.data.predictions) > 0:
		return c.data.raw, (*check).compareOutputs
	case c.data.memory == nil:
		c.uncompared("the module left no predictions")
	case len(c.data.memory.rows) == 0:
		c.uncompared("%s", orElse(c.data.memory.Note, "the module left no predictions"))
	default:
		rows, matches, err := c.data.memory.pairs(c.data.known, c.question.Rows)
		if err == nil {
			c.addLabels(labelled(matches, rows))
			return rows, recall{memory: c.data.memory, matches: matches}.compare
		}
		c.uncompared("%v", err)
	}
	return c.data.raw, nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// planOutputs plans calls with rows like requests, and again with their labels: a model whose
// answers depend on the label has learned it, or is served it.
func (c *check) planOutputs(serving savedmodel.Signature, rows []row, compare func(*check, *verdict, map[string]column)) error {
	labels := slices.DeleteFunc(slices.Clone(c.question.Labels), func(label string) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return r.has(label) })
	})
	if label := neededAsInput(serving, labels, rows); label != "" {
		c.refused = fmt.Errorf("the signature %s needs the label %q as an input, which requests don't have", serving.Name, label)
		return nil
	}
	ways := [][]string{labels, nil}
	if len(labels) == 0 {
		ways = ways[1:]
	}
	for _, without := range ways {
		calls, err := callsOf(serving, rows, without)
		if err != nil {
			return c.planFed(serving, err)
		}
		c.questions = append(c.questions, question{serving, calls, len(rows), without, compare})
	}
	return nil
}

// neededAsInput returns a label that a signature of features takes; "" if it takes none.
func neededAsInput(s savedmodel.Signature, labels []string, rows []row) string {
	if takesExamples(s, rows) {
		return ""
	}
	for _, in := range s.Inputs {
		for _, r := range rows[:1] {
			if slices.Contains(labels, r.feature(in.Name)) {
				return r.feature(in.Name)
			}
		}
	}
	return ""
}

// planFed calls a signature that takes other features than those of the raw rows with transformed
// rows, if it takes these.
func (c *check) planFed(serving savedmodel.Signature, reason error) error {
	rows := c.data.transformed[:min(len(c.data.transformed), c.question.Rows)]
	if takesExamples(serving, c.data.raw) || len(rows) == 0 {
		return reason
	}
	var all []known
	for _, r := range c.data.searched() {
		all = append(all, known{r, r.values})
	}
	var compare func(*check, *verdict, map[string]column)
	if m := c.data.memory; m != nil && len(m.rows) > 0 {
		found, matches, err := m.pairs(all, c.question.Rows)
		if err == nil {
			rows, compare = found, recall{memory: m, matches: matches}.compare
		} else {
			c.uncompared("%v", err)
		}
	}
	calls, err := callsOf(serving, rows, nil)
	if err != nil {
		return reason
	}
	c.note("the signature %s takes transformed features, and was fed transformed rows: requests have to be transformed", serving.Name)
	c.questions = append(c.questions, question{serving, calls, len(rows), nil, compare})
	return nil
}

// planFeatures plans a call for the transformed features of raw rows before the others, because
// they may show which transformed row belongs to which raw one.
func (c *check) planFeatures(features savedmodel.Signature) error {
	if c.data.transformed == nil {
		return errors.New("there are no transformed rows")
	}
	calls, err := callsOf(features, c.data.raw, nil)
	if err != nil {
		return err
	}
	c.questions = append(c.questions, question{features, calls, len(c.data.raw), nil, (*check).compareFeatures})
	return nil
}

// planTransformed feeds transformed rows to a signature that takes them as tensors.
func (c *check) planTransformed(signatures []savedmodel.Signature) error {
	rows, compare := c.data.transformed, (*check).compareOutputs
	if m := c.data.memory; m != nil && len(c.data.predictions) == 0 {
		var all []known
		for _, r := range c.data.transformed {
			all = append(all, known{r, r.values})
		}
		found, matches, err := m.pairs(all, c.question.Rows)
		if len(m.rows) == 0 || err != nil {
			return fmt.Errorf("there are no raw rows, and %s", orElse(m.Note, fmt.Sprint(err)))
		}
		rows, compare = found, func(c *check, v *verdict, answer map[string]column) {
			recall{memory: m, matches: matches}.compare(c, v, answer)
		}
	}
	for _, s := range signatures {
		if s.Name == featuresSignature {
			continue
		}
		if takesExamples(s, rows) {
			continue // askSynthetic asks it
		}
		calls, err := callsOf(s, rows, nil)
		if err != nil {
			continue
		}
		c.note("there are no raw rows: transformed ones were fed to the signature %s, and its transform graph was not asked", s.Name)
		c.questions = append(c.questions, question{s, calls, len(rows), nil, compare})
		return nil
	}
	return errors.New("there are no raw rows, and no signature takes transformed features as tensors")
}

// addLabels adds names of raw features that requests don't have.
func (c *check) addLabels(names []string) {
	for _, name := range names {
		if !slices.Contains(c.question.Labels, name) {
			c.question.Labels = append(c.question.Labels, name)
		}
	}
}
