# One entry for everything a developer or operator does here. `make help` lists the targets.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
SEEDS ?= 500

.PHONY: help setup configure build clean
help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: ## install every Debian package the project needs (quick when nothing is missing)
	@tools/setup

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json cmake/modules.cmake cmake/toolchain.cmake | setup
	cmake --preset $(PRESET)

build: setup $(BUILD)/build.ninja ## build build/release/ron (PRESET=dev|asan|tsan|fuzz for the others)
	@cmake --build --preset $(PRESET)

clean: ## remove every build
	rm -rf build
