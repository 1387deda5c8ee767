package runner

import (
	"cmp"
	"os"
	"path/filepath"
)

// GPU asks the program that trains builtin modules on a GPU which one there is. A program that nobody installed is fs.ErrNotExist.
func GPU() (device string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return probe(cmp.Or(os.Getenv(CUDAEnv), filepath.Join(filepath.Dir(self), cudaName)), os.Environ())
}
