package inspect

import (
	"bytes"
	"context"
	"fmt"
	"path"
)

// unknown is the error for what is of no kind: it says what it is where that is known all the same, and what to save instead.
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

// unread says of a file in which Keras keeps a model, which is not read here, what to save instead; "" of any other file.
func unread(name string, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")): // the signature of the HDF5 File Format Specification, III.A
		return "HDF5, which is not read here: load it into its model with Keras, and save that with model.export(folder)"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && path.Ext(name) == ".keras":
		return "a zip in Keras's own format, which is not read here: load it with tf.keras.models.load_model, and save it with model.export(folder)"
	}
	return ""
}
