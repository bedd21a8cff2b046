# One entry for everything a developer or operator does here. `make help` lists the targets.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
SEEDS ?= 500
ROUNDS ?= 300
FLIPS ?= 1000
SECONDS ?= 60
DETAIL ?= 110m
CONFIGURED := $(BUILD)/build.ninja
CMAKE_FILES := CMakeLists.txt CMakePresets.json cmake/modules.cmake cmake/toolchain.cmake
CPP := find $(wildcard src models sim tests bench) -name '*.cc' -o -name '*.h'

# A finding ends the run; stacks have names.
SYMBOLIZER := /usr/lib/llvm-19/bin/llvm-symbolizer
export ASAN_OPTIONS ?= detect_leaks=1:external_symbolizer_path=$(SYMBOLIZER)
export UBSAN_OPTIONS ?= print_stacktrace=1:external_symbolizer_path=$(SYMBOLIZER)
export TSAN_OPTIONS ?= suppressions=$(CURDIR)/tools/tsan.suppressions:halt_on_error=1:second_deadlock_stack=1:external_symbolizer_path=$(SYMBOLIZER)

.PHONY: help setup setup-run setup-demo setup-test setup-bench with-tests ron build run demo-map test lint format-check format bench fuzz sim crash rot full-disk docs asan tsan tsan-paths long clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## install every Debian package the project needs (quick when nothing is missing)
	@tools/setup all

setup-run setup-demo setup-test setup-bench: setup-%:
	@tools/setup $*

# Whoever only runs ron has neither the tests' libraries nor their tools; the first who wants the
# tests adds them to the same build.
$(CONFIGURED): $(CMAKE_FILES) | setup-run
	@cmake --preset $(PRESET) $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DRON_TESTS=OFF)

with-tests: setup-test $(CONFIGURED)
	@grep -q '^RON_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt || cmake --preset $(PRESET) -DRON_TESTS=ON

ron: setup-run $(CONFIGURED)
	@cmake --build --preset $(PRESET) -j $(JOBS) --target ron

build: with-tests ## build everything in build/release (PRESET=dev|asan|tsan|fuzz for the others)
	@cmake --build --preset $(PRESET) -j $(JOBS) $(if $(TARGETS),--target $(TARGETS))

run: ron ## build ron and run all its services on 127.0.0.1:8080 with their data in ./ron-data
	@tools/first-steps >&2
	@mkdir -p ron-data/maps
	@exec $(BUILD)/ron up --data ron-data --set edge.packs_dir=ron-data/maps --log-format text

# The folder of maps is followed: a ron that runs already shows it as well.
demo-map: setup-demo ron ## a map of the world in ron-data/maps, where `make run` finds it; DETAIL=50m takes minutes
	@tools/demo-map $(DETAIL) $(BUILD)/npm $(BUILD)/demo/world.mbtiles
	@rm -f $(BUILD)/demo/world.pmtiles
	@$(BUILD)/ron pack convert $(BUILD)/demo/world.mbtiles $(BUILD)/demo/world.pmtiles
	@mkdir -p ron-data/maps && mv $(BUILD)/demo/world.pmtiles ron-data/maps/world.pmtiles
	@echo 'With `make run`: http://127.0.0.1:8080/edge/preview/world'

test: build ## build, then unit, model, simulation, end-to-end and lint tests (CTEST='-R http' for some)
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --no-tests=error $(CTEST)

lint: with-tests format-check ## formatting, house rules, clang-tidy over what changed
	@tools/lint
	@tools/tidy -p $(BUILD) -j $(JOBS) $(TIDY)

format-check: | setup-test
	@$(CPP) | xargs clang-format-19 --dry-run --Werror

format: | setup-test ## format every C++ file
	@$(CPP) | xargs clang-format-19 -i

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory test PRESET=asan

tsan: ## the tests under ThreadSanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

# Builds little besides ron, which is less than half of what `make tsan` does.
tsan-paths: ## uploads, tenants, registry, index and edge under ThreadSanitizer, end to end
	@$(MAKE) --no-print-directory test PRESET=tsan TARGETS='ron storage_test' CTEST='-L shared'

long: ## what .ci/run leaves out: clang-tidy over everything, ThreadSanitizer, 10 s of each fuzzer
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory tsan-paths
	@$(MAKE) --no-print-directory fuzz SECONDS=10

fuzz: ## every fuzz target for SECONDS=60, two at a time; KEEP=1 keeps new inputs in tests/corpus
	@$(MAKE) --no-print-directory build PRESET=fuzz
	@tools/fuzz --seconds $(SECONDS) --jobs $(JOBS) $(if $(KEEP),--keep)

sim: build ## whole services under SEEDS=500 seeds of simulated faults
	@shopt -s nullglob; programs=($(BUILD)/sim/*_sim); \
	(( $${#programs[@]} )) || { echo "sim: no simulation in $(BUILD)/sim" >&2; exit 1; }; \
	for program in "$${programs[@]}"; do "$$program" --seeds $(SEEDS) || exit 1; done

crash: setup-test ron ## kill the server ROUNDS=300 times under load; what it acknowledged must be there
	@RON_BINARY=$(CURDIR)/$(BUILD)/ron python3 tests/durability/crash.py --rounds $(ROUNDS)

rot: setup-test ron ## flip FLIPS=1000 bits of segments and index, one at a time; nothing wrong may be served
	@RON_BINARY=$(CURDIR)/$(BUILD)/ron python3 tests/durability/rot.py --flips $(FLIPS)

full-disk: setup-test ron ## full and failing file systems; needs root to mount small ones
	@RON_BINARY=$(CURDIR)/$(BUILD)/ron python3 tests/durability/full_disk.py

docs: setup-run $(CONFIGURED) ## write docs/generated from the declarations in the code
	@cmake --build --preset $(PRESET) -j $(JOBS) --target docs

bench: setup-bench ron ## side by side with named peers
	@cmake --build --preset $(PRESET) -j $(JOBS) --target bench_load bench_registry bench_registry_fill
	@bench/run

clean: ## remove every build
	rm -rf build
