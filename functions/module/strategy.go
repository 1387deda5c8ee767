package module

// Assignment.Strategy: how one model is trained by several processes or devices. All of them are tf.distribute's, and TFX
// modules' alone. What the module's function does runs in the scope of the strategy, and a strategy that it makes by itself is this one.
const (
	StrategyMirrored    = "mirrored"     // MirroredStrategy: all GPUs of one process, or its CPU
	StrategyMultiWorker = "multi_worker" // MultiWorkerMirroredStrategy: Workers processes with a TF_CONFIG
	StrategyTPU         = "tpu"          // TPUStrategy: what TPU_NAME names, or the TPU of this machine
)

// Strategies are what Assignment.Strategy may be.
func Strategies() []string { return []string{StrategyMirrored, StrategyMultiWorker, StrategyTPU} }

// MaxWorkers keeps a slip of the pen from filling a machine: each worker is a process with a TensorFlow of its own.
const MaxWorkers = 64
