// Package schemapb holds the generated messages of schema.proto: the part of TensorFlow Metadata's
// schema that decides how examples are parsed. Package example reads them; nothing else should need
// to.
package schemapb
