//go:build schemas

// What the definitions of custom resources come from. Nothing of it is compiled: go.mod is to name
// the modules, with their sums.
package manifests

import (
	_ "github.com/kedacore/keda/v2/version"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/jobset/pkg/version"
)
