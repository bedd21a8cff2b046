// storage_sim: runs svc-storage in simulated worlds, seed after seed, until one goes wrong.
#include "sim/harness/program.h"
#include "sim/storage/plant.h"
#include "sim/storage/subject.h"

int main(int count, char** words) {
  using namespace ron::sim;
  return run_program({"storage_sim", all_plants(), make_storage_subject}, count, words);
}
