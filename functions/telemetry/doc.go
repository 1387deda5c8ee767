// Package telemetry is how Stoker is watched: traces, metrics, log lines that name their trace, and the paths by which a cluster asks
// whether a process lives. It alone knows OpenTelemetry and Prometheus.
//
// A run is one trace, from upstream's fact to the fact that tells what came of it. Each fact and each job carries its place in it
// (traceparent and tracestate, W3C Trace Context), so that who works on it next goes on there. Where upstream says nothing, the trace
// follows from pipeline and run, and all facts of a run meet in it:
//
//	upstream's span
//	└ process facts.transform.ready          the dispatcher
//	  └ send jobs.train
//	    └ process jobs.train                 a worker, one for each attempt, with a link to the one before it
//	      ├ identify, stage, module, check, publish, commit
//	      └ send facts.model.trained
//
// Names of spans, metrics and attributes are those of OpenTelemetry's messaging conventions 1.44; what has no name there begins with
// stoker. A metric may name a pipeline, never a run, a job or a trial: their number has no bound.
//
// A *Telemetry is handed in; nil is none, and costs nothing: each method works on it. Inside of a job, Start begins a part of whatever
// span its ctx carries. Read Telemetry first.
package telemetry
