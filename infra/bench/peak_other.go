//go:build !amd64

package main

import "github.com/stoker-ml/stoker/compute/kernel"

func peakLoops() map[kernel.ISA]peakLoop { return nil }
