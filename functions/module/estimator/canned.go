package estimator

import (
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Estimator is a model to build and train: one of the canned ones.
type Estimator interface {
	// plan describes the network to build.
	plan() (plan, error)
}

// DNNLinearCombinedClassifier is wide & deep (Cheng et al. 2016): its logits are the sum of those
// of a linear model and of a deep one. Two classes have one logit.
type DNNLinearCombinedClassifier struct {
	LinearFeatureColumns []LinearColumn
	// nil: FTRL with the rate 0.005, or 1/sqrt(columns) if that is less
	LinearOptimizer   optim.Optimizer
	DNNFeatureColumns []DenseColumn
	DNNOptimizer      optim.Optimizer // nil: Adagrad with the rate 0.001
	DNNHiddenUnits    []int
	DNNActivation     nn.Op // "": relu
	// Share of each hidden layer's outputs that a training step leaves out, from 0 to below 1.
	DNNDropout      float64
	NClasses        int      // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary []string // the names of the classes, if the label is a string
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e DNNLinearCombinedClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{
		head: h, config: e.Config, weight: e.WeightColumn,
		linear: e.LinearFeatureColumns, linearOptimizer: e.LinearOptimizer, linearRate: combinedLinearRate,
		deep: e.DNNFeatureColumns, deepOptimizer: e.DNNOptimizer, hiddenUnits: e.DNNHiddenUnits, activation: e.DNNActivation,
		dropout: e.DNNDropout,
	}, err
}

// DNNLinearCombinedRegressor is the same for a number.
type DNNLinearCombinedRegressor struct {
	LinearFeatureColumns []LinearColumn
	LinearOptimizer      optim.Optimizer
	DNNFeatureColumns    []DenseColumn
	DNNOptimizer         optim.Optimizer
	DNNHiddenUnits       []int
	DNNActivation        nn.Op
	DNNDropout           float64
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e DNNLinearCombinedRegressor) plan() (plan, error) {
	return plan{
		config: e.Config, weight: e.WeightColumn,
		linear: e.LinearFeatureColumns, linearOptimizer: e.LinearOptimizer, linearRate: combinedLinearRate,
		deep: e.DNNFeatureColumns, deepOptimizer: e.DNNOptimizer, hiddenUnits: e.DNNHiddenUnits, activation: e.DNNActivation,
		dropout: e.DNNDropout,
	}, nil
}

// DNNClassifier is a deep model.
type DNNClassifier struct {
	FeatureColumns []DenseColumn
	Optimizer      optim.Optimizer // nil: Adagrad with the rate 0.001
	HiddenUnits    []int
	Activation     nn.Op // "": relu
	// Share of each hidden layer's outputs that a training step leaves out, from 0 to below 1.
	Dropout         float64
	NClasses        int      // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary []string // the names of the classes, if the label is a string
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e DNNClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{
		head: h, config: e.Config, weight: e.WeightColumn,
		deep: e.FeatureColumns, deepOptimizer: e.Optimizer, hiddenUnits: e.HiddenUnits, activation: e.Activation, dropout: e.Dropout,
	}, err
}

// DNNRegressor is the same for a number.
type DNNRegressor struct {
	FeatureColumns []DenseColumn
	Optimizer      optim.Optimizer
	HiddenUnits    []int
	Activation     nn.Op
	Dropout        float64
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e DNNRegressor) plan() (plan, error) {
	return plan{
		config: e.Config, weight: e.WeightColumn,
		deep: e.FeatureColumns, deepOptimizer: e.Optimizer, hiddenUnits: e.HiddenUnits, activation: e.Activation, dropout: e.Dropout,
	}, nil
}

// LinearClassifier is a linear model.
type LinearClassifier struct {
	FeatureColumns []LinearColumn
	// nil: FTRL with the rate 0.2, or 1/sqrt(columns) if that is less
	Optimizer       optim.Optimizer
	NClasses        int      // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary []string // the names of the classes, if the label is a string
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e LinearClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{head: h, config: e.Config, weight: e.WeightColumn, linear: e.FeatureColumns, linearOptimizer: e.Optimizer, linearRate: linearAloneRate}, err
}

// LinearRegressor is the same for a number.
type LinearRegressor struct {
	FeatureColumns []LinearColumn
	Optimizer      optim.Optimizer
	// Feature with the weight of a row, see the package comment; "": all weigh the same.
	WeightColumn string
	Config       RunConfig
}

func (e LinearRegressor) plan() (plan, error) {
	return plan{config: e.Config, weight: e.WeightColumn, linear: e.FeatureColumns, linearOptimizer: e.Optimizer, linearRate: linearAloneRate}, nil
}
