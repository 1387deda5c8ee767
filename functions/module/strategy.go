package module

// Assignment.Strategy: how one model is trained by several processes or devices. All of them are tf.distribute's, and TFX
// modules' alone.
const (
	StrategyMirrored    = "mirrored"     // the module mirrors over the devices of its one process: what it does when nothing is said
	StrategyMultiWorker = "multi_worker" // Workers processes with a TF_CONFIG
	StrategyTPU         = "tpu"          // the module connects to what TPU_NAME names
)

// Strategies are what Assignment.Strategy may be.
func Strategies() []string { return []string{StrategyMirrored, StrategyMultiWorker, StrategyTPU} }

// MaxWorkers keeps a slip of the pen from filling a machine: each worker is a process with a TensorFlow of its own.
const MaxWorkers = 64

// WhyKeras2 says why several workers train under no other Keras.
const WhyKeras2 = "several workers need keras: 2 (or auto, which is 2 for them): under Keras 3, fit fails with MultiWorkerMirroredStrategy"
