//go:build stoker_cuda

package driver

// #include "blas.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// EnvBLAS is the environment variable that names the cuBLAS library for matrix products, or is
// none, for our own kernels.
const EnvBLAS = "STOKER_CUBLAS"

// blas is cuBLAS, opened at run time.
type blas struct {
	functions C.stoker_blas
	library   string
}

// libraries lists the libraries in the order in which they are tried, the newest first.
func libraries() []string {
	switch name := os.Getenv(EnvBLAS); name {
	case "none":
		return nil
	case "":
		return []string{"libcublas.so.13", "libcublas.so.12"}
	default:
		return []string{name}
	}
}

func openBLAS() (*blas, error) {
	b := &blas{}
	var reasons []string
	for _, b.library = range libraries() {
		name := C.CString(b.library)
		reason := C.stoker_blas_open(name, &b.functions)
		C.free(unsafe.Pointer(name))
		if reason == nil {
			return b, nil
		}
		reasons = append(reasons, C.GoString(reason))
	}
	if len(reasons) == 0 {
		return nil, errors.New(EnvBLAS + " says none")
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

func (b *blas) close() error {
	if r := C.stoker_blas_close(&b.functions); r != 0 {
		return fmt.Errorf("cublasDestroy: status %d", int(r))
	}
	return nil
}

// Multiplier implements cuda.Device.
func (d *Device) Multiplier() cuda.Multiplier {
	if d.blas == nil {
		return nil
	}
	return multiplier{d}
}

type multiplier struct{ *Device }

// Multiply implements cuda.Multiplier. cuBLAS stores matrices by columns: a row-major matrix is its
// transpose there, and (a b) transposed is (b transposed)(a transposed), so the operands are
// exchanged.
func (m multiplier) Multiply(p cuda.Product) error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	lda, ldb := p.K, p.N
	if p.TransA {
		lda = p.M
	}
	if p.TransB {
		ldb = p.K
	}
	beta := C.float(0)
	if p.AddToC {
		beta = 1
	}
	r := C.stoker_blas_sgemm(&m.blas.functions, flag(p.TransB), flag(p.TransA), C.int(p.N), C.int(p.M), C.int(p.K),
		C.ulonglong(p.B), C.int(ldb), C.ulonglong(p.A), C.int(lda), beta, C.ulonglong(p.C), C.int(p.N))
	if r != 0 {
		return fmt.Errorf("cublasSgemm of %d x %d x %d: status %d", p.M, p.N, p.K, int(r))
	}
	return nil
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
