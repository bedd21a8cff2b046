// index_sim: runs svc-index in simulated worlds, seed after seed, until one goes wrong.
#include "sim/harness/program.h"
#include "sim/index/plant.h"
#include "sim/index/subject.h"

int main(int count, char** words) {
  using namespace ron::sim;
  return run_program({"index_sim", all_index_plants(), make_index_subject}, count, words);
}
