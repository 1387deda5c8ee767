package estimator

import (
	"fmt"
	"strconv"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/compute/train"
)

// head is what TensorFlow calls so: what the logits mean, how wrong they are, and what is answered.
type head struct {
	classes    int // 0: a number is predicted
	vocabulary []string
}

// classifierHead has 2 classes if nothing is said.
func classifierHead(classes int, vocabulary []string) (head, error) {
	if classes == 0 {
		classes = max(2, len(vocabulary))
	}
	if classes < 2 || vocabulary != nil && len(vocabulary) != classes {
		return head{}, fmt.Errorf("%d classes and a label vocabulary of %d words, expected at least 2 and as many", classes,
			len(vocabulary))
	}
	return head{classes, vocabulary}, nil
}

// units is the width of the logits.
func (h head) units() int {
	if h.classes <= 2 {
		return 1
	}
	return h.classes
}

func (h head) loss() nn.Loss {
	switch h.classes {
	case 0:
		return nn.MeanSquaredError{}
	case 2:
		return nn.SigmoidCrossEntropy{}
	}
	return nn.SoftmaxCrossEntropy{}
}

func (h head) label(feature string) train.Label {
	l := train.Label{Feature: feature, Classes: h.units(), Vocabulary: h.vocabulary}
	if h.classes == 0 {
		l.Classes = 0
	}
	return l
}

// answer names the outputs, as Estimators' predict signature has them.
func (h head) answer(b *nn.Builder, logits nn.Ref) {
	if h.classes == 0 {
		b.Output("predictions", logits)
		return
	}
	b.Output("logits", logits)
	two := logits
	switch h.classes {
	case 2: // softmax(0, z) = (sigmoid(-z), sigmoid(z)); z > -z just where z > 0
		logistic, negative := b.Activation("head/logistic", logits, nn.OpSigmoid), b.Apply("head/negative", logits, nn.OpNeg)
		b.Output("logistic", logistic)
		b.Output("probabilities", b.Concat("head/probabilities", b.Activation("head/other", negative, nn.OpSigmoid), logistic))
		two = b.Concat("head/two_class_logits", negative, logits)
	default:
		b.Output("probabilities", b.Activation("head/probabilities", logits, nn.OpSoftmax))
	}
	ids := b.ArgMax("head/class_ids", two)
	b.Output("class_ids", ids)
	b.Output("classes", b.Label("head/classes", ids, h.names()))
}

// classNames are what the classes stand for, of which the label is a number in a vocabulary, perhaps.
func (h head) classNames(label, transformGraph string) ([]string, error) {
	if h.classes == 0 {
		return nil, nil
	}
	return warmstart.ClassNames(h.classes, h.vocabulary, label, transformGraph)
}

// names of the classes: 0, 1, 2 ... where there are no others.
func (h head) names() []string {
	if h.vocabulary != nil {
		return h.vocabulary
	}
	names := make([]string, h.classes)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
