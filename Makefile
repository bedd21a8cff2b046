# One entry for everything a developer or operator does here. `make help` lists the targets.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
SEEDS ?= 500

.PHONY: help setup configure build run test docs clean
help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## install every Debian package the project needs (quick when nothing is missing)
	@tools/setup

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json cmake/modules.cmake cmake/toolchain.cmake | setup
	cmake --preset $(PRESET)

build: setup $(BUILD)/build.ninja ## build build/release/ron (PRESET=dev|asan|tsan|fuzz for the others)
	@cmake --build --preset $(PRESET)

run: setup $(BUILD)/build.ninja ## svc-storage in memory on 127.0.0.1:8081; admin token in ron-data/
	@cmake --build --preset $(PRESET) --target ron
	@mkdir -p -m 0700 ron-data
	@exec $(BUILD)/ron storage --amnesia --token-out ron-data/admin.token --log-format text

test: build ## every test of the build
	@ctest --test-dir $(BUILD) --output-on-failure -j 2

docs: setup $(BUILD)/build.ninja ## write docs/generated from the declarations
	@cmake --build --preset $(PRESET) --target docs

clean: ## remove every build
	rm -rf build
