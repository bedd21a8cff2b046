// registry_sim: runs svc-registry in simulated worlds, seed after seed, until one goes wrong.
#include "sim/harness/program.h"
#include "sim/registry/plant.h"
#include "sim/registry/subject.h"

int main(int count, char** words) {
  using namespace ron::sim;
  return run_program({"registry_sim", all_registry_plants(), make_registry_subject}, count, words);
}
