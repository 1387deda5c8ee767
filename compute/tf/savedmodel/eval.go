package savedmodel

import "slices"

// analysisFeatures is the signature in which TensorFlow Model Analysis looks for transformed
// features, labels among them, by default
// (tensorflow_model_analysis/extractors/transformed_features_extractor.py).
const analysisFeatures = "transformed_features"

// WriteEval writes the model as TensorFlow Model Analysis evaluates it, on raw tf.Examples with
// their labels, for the folder Format-TFMA. (TFX's Evaluator opens that folder for the eval graphs
// of Estimators alone, model_type tfma_eval; else it takes Format-Serving.) It is Write's model,
// tag "serve", and can be served too, but
//
//   - with a transform graph a row without a label is an error, where a served model puts 0 or ""
//     in its place;
//   - with a transform graph, transformed_features is transform_features once more, under the name
//     that makes a label_key like tips_xf work without preprocessing_function_names;
//   - with Classes, serving_default also gives all_classes, string [-1, len(Classes)], by which
//     labels that are words are found among the outputs.
func WriteEval(dir string, m Model) error {
	return write(dir, m, true)
}

// require undoes relax for the labels.
func (g *transformGraph) require(labels []string) {
	for i, ft := range g.inputs {
		if slices.Contains(labels, ft.name) {
			g.inputs[i].fallback = nil
		}
	}
}

// allClasses returns the names of all classes for every example.
func (f *function) allClasses(examples edge, classes []string) result {
	names := stringsConst(classes)
	names.TensorShape = shapeProto(1, len(classes))
	rows := f.op("Shape", "classes/rows", attrs{"T": typeAttr(stringType)}, examples)
	a := attrs{"T": typeAttr(int32Type), "Tidx": typeAttr(int32Type), "N": intAttr(2)}
	times := f.op("ConcatV2", "classes/times", a, rows, f.constant("classes/once", shapeConst(1)), f.constant("classes/axis", int32Const(0)))
	all := f.op("Tile", "classes", attrs{"T": typeAttr(stringType), "Tmultiples": typeAttr(int32Type)}, f.constant("classes/names", names), times)
	return result{tensorSpec{key: "all_classes", dtype: stringType, shape: []int{-1, len(classes)}}, all}
}
