#!/usr/bin/env bash
# Makes FOLDER/libcuda.a: NVIDIA's driver library for the linker, where there is none. Each function of cuda.h jumps to the one of
# libcuda.so.1, which is opened when the program starts; where that is missing, or lacks the function, it returns 100, "no device".
#   libcuda.sh HEADERS FOLDER
set -euo pipefail
headers=$1 folder=$2
case "$(uname -m)" in
x86_64) jump='movq stoker_cuda_functions+8*N(%rip), %rax; jmp *%rax' ;;
aarch64) jump='adrp x16, stoker_cuda_functions+8*N; ldr x16, [x16, :lo12:stoker_cuda_functions+8*N]; br x16' ;;
*) echo "libcuda.sh: no jumps for $(uname -m)" >&2 && exit 1 ;;
esac
mkdir -p "$folder"
cd "$folder"

# The preprocessor knows which version a name stands for: cuMemAlloc is cuMemAlloc_v2.
mapfile -t names < <(echo '#include <cuda.h>' | gcc -E -I "$headers" - | grep -oE '\bcu[A-Z]\w+ *\(' | tr -d ' (' | sort -u)

{
  echo '#include <dlfcn.h>'
  echo 'static int missing(void) { return 100; } // CUDA_ERROR_NO_DEVICE'
  echo "void *stoker_cuda_functions[${#names[@]}];"
  echo 'static const char *const names[] = {'
  printf '  "%s",\n' "${names[@]}"
  echo '};'
  cat <<'C'
__attribute__((constructor)) static void open_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    void *f = library ? dlsym(library, names[i]) : 0;
    stoker_cuda_functions[i] = f ? f : (void *)missing;
  }
}
C
} >open.c
{
  echo '.text'
  for i in "${!names[@]}"; do
    echo ".globl ${names[$i]}"
    echo ".type ${names[$i]}, %function"
    echo "${names[$i]}: ${jump//N/$i}"
  done
  echo '.section .note.GNU-stack,"",%progbits'
} >jumps.s
gcc -O2 -fPIC -c open.c -o open.o
gcc -c jumps.s -o jumps.o
rm -f libcuda.a
ar rcs libcuda.a open.o jumps.o
