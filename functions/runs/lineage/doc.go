// Package lineage finds, by digest, what a model was made from: the data, the schema, the transform
// graph, the hyperparameters, the module and the base model, and in turn what those were made from.
// Of reads manifests in the store and, if they are gone, events on the bus, and compares each
// digest with the present content of the store. Read Graph first.
//
// It writes nothing. functions/integrate/openlineage exports lineage to catalogs.
package lineage
