// Package schemagen infers a schema from tf.Examples or tf.SequenceExamples as TFX's SchemaGen
// does: the rules are those of TensorFlow Data Validation's infer_schema for the first split and of
// its update_schema for every other one. Start with Statistics, which summarizes one split, then
// call Infer.
//
// # Rules
//
// Of the first split, with infer_feature_shape and max_string_domain_size as in TensorFlow Data
// Validation:
//
//   - type: INT, FLOAT or BYTES by the kind of the values. A feature that no record has a kind for
//     is BYTES.
//   - presence: min_count is 1 where a record has the feature, else 0; min_fraction is 1 where all
//     records have it. An empty list counts as present.
//   - shape: one dimension of n where all records have exactly n > 0 values. Otherwise value_count:
//     min and max where all records that have the feature have n > 0 values, min 1 where none has
//     an empty list, and nothing else.
//   - bool_domain: of integers from 0 to 1 of which some is 1, and of strings of which one is TRUE,
//     true, SET, set, 1 or "" and the other, or the only one, is FALSE, false, CLEAR, clear or 0.
//   - int_domain: of strings that are all decimal 64-bit integers.
//   - string_domain: of other strings with at most max_string_domain_size distinct values, sorted
//     by their bytes.
//   - Strings with invalid UTF-8 have no domain.
//
// The feature_lists of tf.SequenceExamples are the features of a struct, SequenceStruct, as in a
// schema that tfx_bsl reads. Each has two levels: the steps of a record and the values of a step.
// It has a shape of two dimensions if neither varies and no list is missing, otherwise
// value_counts, one for each level. A step without a kind is a missing list, and a feature list
// with only such steps is BYTES.
//
// Each further split widens the schema: value_count grows, a shape that no longer fits is removed,
// min_fraction falls, new strings are appended to a string_domain, a bool_domain of integers
// becomes an int_domain with the split's range, another domain that no longer fits is removed, a
// new feature is added without a shape, and one that is required but absent, or has another type,
// is marked DEPRECATED. So is the struct if a split has no feature_lists. A shape fits if the
// product of its dimensions is that of the split.
//
// # Differences
//
// TensorFlow Data Validation determines domains from the 1,000 most frequent values of a feature.
// Here all values count: strings of which a single one is not an integer have no int_domain, and a
// string_domain is removed if another split has more than 1,000 distinct values or more than 1 MiB
// of them. A feature that is DEPRECATED because another split has floats where it had a bool_domain
// keeps that domain, where TensorFlow Data Validation may make it a float_domain.
//
// # Memory
//
// Records are streamed. Memory is limited by 10,000 features and 1,000 distinct strings of at most
// 1 MiB together for each.
package schemagen
