package module

import "os"

// The environment's names for where in a trace a process works.
const (
	traceParentEnv = "TRACEPARENT"
	traceStateEnv  = "TRACESTATE"
)

// Environ is the trace as variables that a process begins with, for programs that speak no word of this package's.
func (t *Trace) Environ() (all []string) {
	if t == nil || t.Parent == "" {
		return nil
	}
	all = append(all, traceParentEnv+"="+t.Parent)
	if t.State != "" {
		all = append(all, traceStateEnv+"="+t.State)
	}
	return all
}

// export leaves the trace where OpenTelemetry's tools look for it, and nothing of an earlier assignment's.
func (t *Trace) export() {
	if t == nil {
		t = &Trace{}
	}
	for name, value := range map[string]string{traceParentEnv: t.Parent, traceStateEnv: t.State} {
		if value == "" {
			_ = os.Unsetenv(name) // fails for names alone that can't be
			continue
		}
		_ = os.Setenv(name, value)
	}
}
