#!/bin/sh
# Makes the objects here that are named after a machine from frames.c, with GCC 16 and binutils
# 2.47.50.  In each but frames-*.o one note of floats() is wrong:
#   offset    its first .cfi_def_cfa_offset is a word more
#   register  the first .cfi_offset of a register that SFrame knows nothing of is a word less
#   signed    with signed return addresses, the first .cfi_negate_ra_state is missing
set -e
flags="-O2 -fPIC -fexceptions -g0 -fasynchronous-unwind-tables -fno-stack-protector"

compile() {  # MACHINE NAME OPTIONS AWK-PROGRAM
	"$1-linux-gnu-gcc" -S $flags $3 frames.c -o frames.s
	awk "/^floats:/ { inside = 1 } $4 { print }" frames.s > changed.s
	"$1-linux-gnu-gcc" -c -Wa,--gsframe changed.s -o "$2-$1.o"
	rm frames.s changed.s
}

for machine in x86_64 aarch64 s390x; do
	case $machine in x86_64) kept=3 ;; aarch64) kept=19 ;; s390x) kept=24 ;; esac
	compile $machine frames "" ""
	compile $machine offset "" \
		'inside && /\.cfi_def_cfa_offset/ { $2 += 8; inside = 0 }'
	compile $machine register "" \
		"inside && /\\.cfi_offset $kept,/ { \$3 -= 8; inside = 0 }"
done
compile aarch64 pac -mbranch-protection=standard ""
compile aarch64 signed -mbranch-protection=standard \
	'inside && /\.cfi_negate_ra_state/ { inside = 0; next }'
# Takes SP back from a register that it knows its callee to leave alone (-fipa-ra).
x86_64-linux-gnu-gcc -c $flags -Wa,--gsframe kept.c -o kept-x86_64.o
# Keeps a size in such a register.
aarch64-linux-gnu-gcc -c $flags -Wa,--gsframe sized.c -o sized-aarch64.o
# Probes the stack.
aarch64-linux-gnu-gcc -c -O0 -g0 -fstack-clash-protection -fstack-protector-all \
	-fasynchronous-unwind-tables -Wa,--gsframe probe.c -o probe-aarch64.o
