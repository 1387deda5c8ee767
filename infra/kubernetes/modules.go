//go:build definitions

// The modules with the definitions of custom resources. They are not compiled: the imports make
// go.mod name the modules, with their checksums.
package kubernetes

import (
	_ "github.com/kedacore/keda/v2/version"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/jobset/pkg/version"
)
