# Everything sets itself up: `make demo` and `make test` need Python 3.11 or newer, with
# venv and pip, and nothing else.  Another interpreter: make PYTHON=/path/to/python3.12 demo

PYTHON ?= python3
VENV := .venv
PROGRAMS := build/testprogs/unpacked

.PHONY: demo test bench bench-tables bench-deferred deferred-table policies sweep mutate real readers records hostile notes fuzz-decoder lint clean

demo: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python testprogs/demo.py

test: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python -m pytest -q

bench: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/run.py

# Another assembler, linker or readelf: make TOOLS='--readelf /path/to/readelf' bench-tables
bench-tables: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/tables.py $(TOOLS)

# Debian's own programs and libraries, fetched once; wants apt, not root. Some three minutes.
sweep: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/sweep.py

# Single faults in their tables, judged by sweeps, and in our programs', also by real runs. Twenty minutes.
mutate: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/planted.py

# Debian's own programs, dynamic, beside qemu-user; wants apt, and root or user namespaces.
# A part of it: make REAL='--machine s390x --only python' real
real: $(VENV)/ready
	@$(VENV)/bin/python benchmarks/real.py $(REAL)

# gdb, eu-stack and perf on our cores and recordings; fetched once, wants apt, not root. A part of
# it: make READERS='--machine s390x --only lua' readers
readers: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/readers.py $(READERS)

# What perf shows of what `record` writes, by each policy. Two minutes; fetches perf.
records: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/records.py

# An assembler that is wrong once in a thousand notes, in 45 ways: does the fuzzer find it? Wants the
# compilers of `unwindlab toolchain sid`. One kind: make NOTES=def-cfa-offset-drop notes
notes: $(VENV)/ready
	@$(VENV)/bin/python benchmarks/notes.py $(NOTES)

# A million damaged .sframe sections: some five minutes on two cores.
hostile: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/hostile.py

# The model of deferred unwinding: its speed, and a state machine of 100,000 steps.
bench-deferred: $(VENV)/ready
	@$(VENV)/bin/python benchmarks/deferred.py

# What breaks which design, searched anew and written to docs/deferred.md. Some five minutes.
deferred-table: $(VENV)/ready
	@$(VENV)/bin/python benchmarks/deferred.py --table

# The kernel's user unwinders over the test programs, written to docs/policies.md. Two minutes.
policies: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python benchmarks/policies.py

# Five minutes, or make fuzz-decoder SECONDS=3600.
SECONDS := 300
fuzz-decoder: $(VENV)/ready $(PROGRAMS)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[fuzz]'
	@$(VENV)/bin/python tests/fuzz/fuzz_sframe.py --corpus build/fuzz/first
	@mkdir -p build/fuzz/found
	@$(VENV)/bin/python tests/fuzz/fuzz_sframe.py build/fuzz/found build/fuzz/first \
	    -max_total_time=$(SECONDS) -max_len=2000 -artifact_prefix=build/fuzz/

lint: $(VENV)/ready
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

# The environment, with the caches of compiled code filled by the doctor.
$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "unwindlab needs Python 3.11 or newer; try: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up $(VENV): done once, takes a minute"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test]'
	@$(VENV)/bin/unwindlab doctor > $(VENV)/doctor.txt || { cat $(VENV)/doctor.txt; exit 1; }
	@touch $@

$(PROGRAMS): $(VENV)/ready testprogs/manifest.json $(wildcard testprogs/prebuilt/*)
	@$(VENV)/bin/python testprogs/unpack.py
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find arch emu tests testprogs benchmarks -name __pycache__ -prune -exec rm -rf {} +
