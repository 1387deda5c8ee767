package runner

import (
	"slices"
	"strings"
)

// allowedEnv keeps of the worker's environment what a module may know. All else stays out, for the worker's environment
// holds the credentials of the bus and the store.
func allowedEnv(environ []string) []string {
	var kept []string
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); allowed(name) {
			kept = append(kept, pair)
		}
	}
	return kept
}

func allowed(name string) bool {
	names := []string{
		"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"STOKER_PRELOAD", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "OMP_NUM_THREADS",
		"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME", cacheEnv, "XLA_FLAGS", "STOKER_KERNELS", "STOKER_MAX_RECORD_MIB", "STOKER_GPU_MEMORY", "STOKER_CUBLAS",
		"TF_CONFIG", "TF_USE_LEGACY_KERAS", "TF_DETERMINISTIC_OPS", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_FORCE_UNIFIED_MEMORY",
		"TF_ENABLE_ONEDNN_OPTS", "TF_ENABLE_AUTO_MIXED_PRECISION", "TF_USE_CUBLASLT", "TF_AUTOTUNE_THRESHOLD", "TF_SYNC_ON_FINISH",
	}
	return slices.Contains(names, name) || slices.ContainsFunc(tensorFlow(), func(family string) bool {
		return strings.HasPrefix(name, family)
	})
}

// tensorFlow are the beginnings of names that are TensorFlow's alone. TF_ is Terraform's too, which keeps credentials in
// TF_VAR_*, TF_TOKEN_*, TF_CLI_*, TF_HTTP_* and TF_ENCRYPTION.
func tensorFlow() []string {
	return []string{"TF_CPP_", "TF_NUM_", "TF_GPU_", "TF_CUDNN_", "TF_CUDA_", "TF_XLA_", "TF_ONEDNN_", "TF_TRT_", "TPU_"}
}
