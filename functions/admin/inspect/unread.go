package inspect

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
)

// unknown is the error for what is of no kind: it says what it is where that is known all the same,
// and what to save instead.
func (s *Source) unknown(ctx context.Context) error {
	for _, f := range s.Files[:min(len(s.Files), maxLooked)] {
		head, _, err := s.head(ctx, f.Path)
		if err != nil {
			return err
		}
		if what := unread(f.Path, head); what != "" {
			return fmt.Errorf("%s is %s", f.Path, what)
		}
	}
	return fmt.Errorf("no artifact that is known here: %s", expected)
}

// unread returns what a file is that is not read here, and what to do instead: a file in which
// Keras keeps a model, or a table. It returns "" for any other file.
func unread(name string, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")): // the signature of the HDF5 File Format Specification, III.A
		return "HDF5, which is not read here: load it into its model with Keras, and save that with model.export(folder)"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && path.Ext(name) == ".keras":
		return "a zip in Keras's own format, which is not read here: load it with tf.keras.models.load_model, and save it with model.export(folder)"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".parquet":
		return fmt.Sprintf("a table: `stoker upload %s s3://BUCKET/KEY` makes Examples of it", name)
	}
	return ""
}
