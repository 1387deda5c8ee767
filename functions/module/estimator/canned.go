package estimator

import (
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Estimator is a model to be built and trained: one of the canned ones.
type Estimator interface {
	// plan says what is built.
	plan() (plan, error)
}

// DNNLinearCombinedClassifier is wide & deep (Cheng et al. 2016): the logits of a linear model and of a deep one, added up. Two
// classes have one logit.
type DNNLinearCombinedClassifier struct {
	LinearFeatureColumns []LinearColumn
	LinearOptimizer      optim.Optimizer // nil: FTRL with the rate 0.005, or 1/sqrt(columns) if that is less
	DNNFeatureColumns    []DenseColumn
	DNNOptimizer         optim.Optimizer // nil: Adagrad with the rate 0.001
	DNNHiddenUnits       []int
	DNNActivation        nn.Op    // "": relu
	NClasses             int      // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary      []string // the names of the classes, where the label is a string
	Config               RunConfig
}

func (e DNNLinearCombinedClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{
		head: h, config: e.Config,
		linear: e.LinearFeatureColumns, linearOptimizer: e.LinearOptimizer, linearRate: combinedLinearRate,
		deep: e.DNNFeatureColumns, deepOptimizer: e.DNNOptimizer, hiddenUnits: e.DNNHiddenUnits, activation: e.DNNActivation,
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
	Config               RunConfig
}

func (e DNNLinearCombinedRegressor) plan() (plan, error) {
	return plan{
		config: e.Config,
		linear: e.LinearFeatureColumns, linearOptimizer: e.LinearOptimizer, linearRate: combinedLinearRate,
		deep: e.DNNFeatureColumns, deepOptimizer: e.DNNOptimizer, hiddenUnits: e.DNNHiddenUnits, activation: e.DNNActivation,
	}, nil
}

// DNNClassifier is a deep model.
type DNNClassifier struct {
	FeatureColumns  []DenseColumn
	Optimizer       optim.Optimizer // nil: Adagrad with the rate 0.001
	HiddenUnits     []int
	Activation      nn.Op    // "": relu
	NClasses        int      // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary []string // the names of the classes, where the label is a string
	Config          RunConfig
}

func (e DNNClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{
		head: h, config: e.Config,
		deep: e.FeatureColumns, deepOptimizer: e.Optimizer, hiddenUnits: e.HiddenUnits, activation: e.Activation,
	}, err
}

// DNNRegressor is the same for a number.
type DNNRegressor struct {
	FeatureColumns []DenseColumn
	Optimizer      optim.Optimizer
	HiddenUnits    []int
	Activation     nn.Op
	Config         RunConfig
}

func (e DNNRegressor) plan() (plan, error) {
	return plan{
		config: e.Config,
		deep:   e.FeatureColumns, deepOptimizer: e.Optimizer, hiddenUnits: e.HiddenUnits, activation: e.Activation,
	}, nil
}

// LinearClassifier is a linear model.
type LinearClassifier struct {
	FeatureColumns  []LinearColumn
	Optimizer       optim.Optimizer // nil: FTRL with the rate 0.2, or 1/sqrt(columns) if that is less
	NClasses        int             // 0: 2, or as many as LabelVocabulary has
	LabelVocabulary []string        // the names of the classes, where the label is a string
	Config          RunConfig
}

func (e LinearClassifier) plan() (plan, error) {
	h, err := classifierHead(e.NClasses, e.LabelVocabulary)
	return plan{head: h, config: e.Config, linear: e.FeatureColumns, linearOptimizer: e.Optimizer, linearRate: linearAloneRate}, err
}

// LinearRegressor is the same for a number.
type LinearRegressor struct {
	FeatureColumns []LinearColumn
	Optimizer      optim.Optimizer
	Config         RunConfig
}

func (e LinearRegressor) plan() (plan, error) {
	return plan{config: e.Config, linear: e.FeatureColumns, linearOptimizer: e.Optimizer, linearRate: linearAloneRate}, nil
}
