// Package telemetry makes Stoker observable: traces, metrics, log lines that name their trace, and
// the paths by which a cluster probes a process. It alone uses OpenTelemetry and Prometheus.
//
// A run is one trace, from upstream's event to the event with its outcome. Each event and each job
// carries its position in the trace (traceparent and tracestate, W3C Trace Context), so that the
// next process continues there. If upstream names no trace, the trace id is derived from pipeline
// and run, so that all events of a run are in one trace:
//
//	upstream's span
//	└ process events.transform.ready          the dispatcher
//	  └ send jobs.train
//	    └ process jobs.train                 a worker, one per attempt, linked to the previous one
//	      ├ identify, stage, module, check, publish, commit
//	      └ send events.model.trained
//
// Names of spans, metrics and attributes are those of OpenTelemetry's messaging conventions 1.44;
// others begin with stoker. A metric may have a pipeline as label, never a run, a job or a trial:
// their number has no bound.
//
// A *Telemetry is passed in; nil collects nothing and costs nothing: each method works on it.
// Within a job, Start begins a child of the span that its ctx carries. Read Telemetry first.
package telemetry
