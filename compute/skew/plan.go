package skew

import (
	"errors"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/compute/tensorflow"
)

// question is one call of the model, and what is done with the answer.
type question struct {
	signature savedmodel.Signature
	inputs    map[string]savedmodel.Tensor
	rows      int
	compare   func(c *check, v *verdict, answer map[string]column)
}

// Names of signatures, as TFX's modules and our own writer have them.
const (
	servingSignature  = "serving_default"
	featuresSignature = "transform_features"
)

// plan says what the model is asked. An error says why there is nothing that it could be asked.
func (c *check) plan(model *savedmodel.Served) error {
	signatures := model.Signatures()
	if c.data.raw == nil {
		return c.planTransformed(signatures)
	}
	if len(c.data.raw) == 0 {
		return errors.New("there are no rows to ask")
	}
	if features, err := tensorflow.Find(signatures, featuresSignature); err == nil {
		if err := c.planFeatures(features); err != nil {
			c.note("transformed features are not compared: %v", err)
		}
	}
	serving, err := tensorflow.Find(signatures, servingSignature)
	if err != nil {
		return err
	}
	if len(c.data.predictions) == 0 {
		c.note("outputs are not compared: the module left no predictions")
		return nil
	}
	return c.planOutputs(serving)
}

// planOutputs asks for the outputs of rows as requests are, and again with the labels in them: a model that knows its label in
// one of the two has learnt it, or is served it.
func (c *check) planOutputs(serving savedmodel.Signature) error {
	ways := [][]string{c.question.Labels, nil}
	if len(c.question.Labels) == 0 {
		ways = ways[1:]
	}
	for _, labels := range ways {
		inputs, err := requests(serving, c.data.raw, labels)
		if err != nil {
			return err
		}
		c.questions = append(c.questions, question{serving, inputs, len(c.data.raw), (*check).compareOutputs})
	}
	return nil
}

// planFeatures asks for the transformed features of raw rows, which stand first: they may tell which transformed row belongs to
// which raw one.
func (c *check) planFeatures(features savedmodel.Signature) error {
	if c.data.transformed == nil {
		return errors.New("there are no transformed rows")
	}
	inputs, err := requests(features, c.data.raw, nil)
	if err != nil {
		return err
	}
	c.questions = append(c.questions, question{features, inputs, len(c.data.raw), (*check).compareFeatures})
	return nil
}

// planTransformed feeds transformed rows to a signature that takes them as tensors.
func (c *check) planTransformed(signatures []savedmodel.Signature) error {
	for _, s := range signatures {
		inputs, err := named(s, c.data.transformed)
		if err != nil {
			continue
		}
		c.note("there are no raw rows: transformed ones were fed to the signature %s, and its transform graph was not asked", s.Name)
		c.questions = append(c.questions, question{s, inputs, len(c.data.transformed), (*check).compareOutputs})
		return nil
	}
	return errors.New("not checked: there are no raw rows, and no signature takes transformed features as tensors")
}
