package storage

import (
	"context"
	"fmt"
	"os"
)

// PutFile sends one local file.
func PutFile(ctx context.Context, store Store, ref Ref, path string) (Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return Object{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Object{}, err
	}
	if !info.Mode().IsRegular() {
		return Object{}, fmt.Errorf("%s: is no regular file", path)
	}
	return store.Put(ctx, ref, file, info.Size())
}
