//go:build stoker_cuda

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// Device is the first GPU that CUDA_VISIBLE_DEVICES lets this process see.
type Device struct {
	device  cu.Device
	name    string
	context cu.CUContext

	mu        sync.Mutex
	module    cu.Module
	kernels   []cu.Function
	params    [32]unsafe.Pointer // of the current launch
	blas      *blas              // nil: there is no cuBLAS
	blasError error              // why
}

// Open opens the first GPU. It takes some hundred milliseconds, and some hundred MB of the GPU's
// memory for the driver.
func Open() (*Device, error) {
	n, err := cu.NumDevices()
	if err == nil && n == 0 {
		err = errors.New("the driver sees none")
	}
	if err != nil {
		return nil, fmt.Errorf("find a GPU: %w", err)
	}
	d := &Device{}
	if d.device, err = cu.GetDevice(0); err != nil {
		return nil, fmt.Errorf("open GPU 0: %w", err)
	}
	if d.name, err = d.device.Name(); err != nil {
		return nil, fmt.Errorf("name of GPU 0: %w", err)
	}
	if d.context, err = d.device.RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.name, err)
	}
	leave, err := d.enter()
	if err != nil {
		return nil, errors.Join(err, d.device.ReleasePrimaryCtx())
	}
	defer leave()
	d.blas, d.blasError = openBLAS()
	return d, nil
}

// enter makes the device's context current on this thread, until leave is called: contexts belong
// to threads, and Go moves goroutines between threads.
func (d *Device) enter() (leave func(), err error) {
	d.mu.Lock()
	runtime.LockOSThread()
	if err := cu.SetCurrentContext(d.context); err != nil {
		d.leave()
		return nil, fmt.Errorf("enter the context of %s: %w", d.name, err)
	}
	return d.leave, nil
}

func (d *Device) leave() {
	runtime.UnlockOSThread()
	d.mu.Unlock()
}

// Name implements cuda.Device.
func (d *Device) Name() string { return d.name }

// BLAS returns the library for matrix products, or why there is none.
func (d *Device) BLAS() (library string, err error) {
	if d.blas == nil {
		return "", d.blasError
	}
	return d.blas.library, nil
}

// Memory implements cuda.Device.
func (d *Device) Memory() (free, total int64, err error) {
	leave, err := d.enter()
	if err != nil {
		return 0, 0, err
	}
	defer leave()
	return cu.MemInfo()
}

// Load implements cuda.Device. The driver compiles the PTX for the GPU, and caches the result in
// the user's home.
func (d *Device) Load(ptx string, kernels []cuda.Kernel) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if d.module, err = cu.LoadData(ptx); err != nil {
		return fmt.Errorf("compile PTX (a driver older than series 580 can't read it; this one is of CUDA %d.%d): %w",
			cu.Version()/1000, cu.Version()%1000/10, err)
	}
	d.kernels = make([]cu.Function, len(kernels))
	for i, k := range kernels {
		if len(k.Params) > len(d.params) {
			return fmt.Errorf("kernel %s has %d parameters, more than %d", k.Name, len(k.Params), len(d.params))
		}
		if d.kernels[i], err = d.module.Function(k.Name); err != nil {
			return fmt.Errorf("find kernel %s: %w", k.Name, err)
		}
	}
	return nil
}

// Launch implements cuda.Device.
func (d *Device) Launch(l *cuda.Launch) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	for i := range l.Args {
		d.params[i] = unsafe.Pointer(&l.Args[i].Bits)
	}
	g, b := l.Grid, l.Block
	return d.kernels[l.Kernel].Launch(g.X, g.Y, g.Z, b.X, b.Y, b.Z, 0, cu.Stream{}, d.params[:len(l.Args)])
}

// Sync implements cuda.Device.
func (d *Device) Sync() error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	return cu.Synchronize()
}

// Close implements cuda.Device.
func (d *Device) Close() error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	var errs []error
	if d.blas != nil {
		errs = append(errs, d.blas.close())
	}
	if d.kernels != nil {
		errs = append(errs, d.module.Unload())
	}
	return errors.Join(append(errs, d.device.ReleasePrimaryCtx())...)
}
