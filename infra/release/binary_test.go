package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"fmt"
	"strings"
)

// verifyBinary checks that a program is of the platform that its archive is named for, and depends
// on no library of the system: on Linux none at all, on macOS only the system's own.
func verifyBinary(program []byte, os, arch string) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": os, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if settings[key] != want {
			return fmt.Errorf("%s is %q, want %q", key, settings[key], want)
		}
	}
	if os == "darwin" {
		return verifyMachO(program, arch)
	}
	return verifyELF(program, arch)
}

func verifyELF(program []byte, arch string) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; file.Machine != want {
		return fmt.Errorf("it is for %s, want %s", file.Machine, want)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("it is not static: it has %s", part.Type)
		}
	}
	return nil
}

func verifyMachO(program []byte, arch string) error {
	file, err := macho.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[arch]; file.Cpu != want {
		return fmt.Errorf("it is for %s, want %s", file.Cpu, want)
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if !strings.HasPrefix(library, "/usr/lib/") && !strings.HasPrefix(library, "/System/Library/") {
			return fmt.Errorf("it needs %s, which is not of macOS", library)
		}
	}
	return nil
}
