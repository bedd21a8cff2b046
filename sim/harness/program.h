// What every simulation of a service does with its seeds: a main() is one call.
#pragma once

#include <span>
#include <string_view>

#include "sim/harness/run.h"

namespace ron::sim {

struct Simulation {
  std::string_view name;  // of the program
  std::span<const PlantInfo> plants;
  MakeSubject make;
};

// Runs the seeds that the arguments ask for until one goes wrong, and tells what was done. The exit
// code. With --plant, success is to find it.
int run_program(const Simulation& simulation, int count, char** words);

}  // namespace ron::sim
