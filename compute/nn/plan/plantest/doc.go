// Package plantest is the suite that every plan.Machine must pass, on this computer's cores or on a
// device: each operation with each of its attributes, compared with a definition in float64, and
// complete trainings. Start with Suite.
package plantest
