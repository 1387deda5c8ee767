// Package lineage says what made a model, by digest: the data, the schema, the transform graph, the hyperparameters, the module and
// the model that it started from, and what made those in turn. Of gathers it from manifests in the store, where they are, and from
// facts on the bus, where they are not, and compares each digest with what is in the store now. Read Graph first.
//
// It decides nothing and writes nothing. How a graph is told to others is functions/lineage/openlineage.
package lineage
