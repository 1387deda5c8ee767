// Package lineage finds what a model was made from, by digest: the data, the schema, the transform
// graph, the hyperparameters, the module and the base model, and what those were made from in turn.
// Of reads manifests in the store and, if they are gone, events on the bus, and compares each
// digest with the store's contents now. Read Graph first.
//
// It writes nothing. functions/integrate/openlineage exports lineage to catalogs.
package lineage
