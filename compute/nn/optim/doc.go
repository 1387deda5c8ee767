// Package optim has optimizers, which change weights along their gradients, schedules of the
// learning rate, and limits of gradients. Formulas, names and defaults are those of Keras 3.
//
// Start with Optimizer. New finds one by name, NewSingle makes one of an Algorithm, NewParts
// combines several, WithSettings sets a Schedule and a Clip. A step is a kernel.Formula with
// numbers and slots, each as long as the weights. An Updater describes the step for a plan.Machine,
// so that a device takes the same one. Layers and losses are in compute/nn, gradients in
// compute/nn/autodiff.
//
// To add an optimizer, write its Algorithm and list it in methods. Builtin modules, searches and
// tests read Names.
package optim
