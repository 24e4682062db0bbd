#!/bin/sh
# Assembles each MACHINE's *.s here with binutils 2.47.50, and links the one that runs.
set -e
for source in *-*.s; do
	name=${source%.s}
	"${name##*-}-linux-gnu-as" "$source" -o "$name.o"
done
aarch64-linux-gnu-ld run-aarch64.o signature-aarch64.o -o run-aarch64
rm run-aarch64.o
