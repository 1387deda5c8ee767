package guest

import (
	"slices"
	"strings"
)

// allowedEnv keeps of the worker's environment what a module may know. All else stays out, for the worker's environment
// holds the credentials of the bus and the store.
func allowedEnv(environ []string) []string {
	names := []string{
		"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "OMP_NUM_THREADS",
		"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME", "XLA_FLAGS",
	}
	var kept []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(names, name) || strings.HasPrefix(name, "TF_") {
			kept = append(kept, pair)
		}
	}
	return kept
}
