// Package plantest is the suite that every plan.Machine must pass, on this computer's cores or on a
// device: each operation with each of its attributes against what it means, written down here once
// more in float64, and the stories of training. Start with Suite.
package plantest
