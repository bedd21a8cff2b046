// edge_sim: runs svc-edge in simulated worlds, seed after seed, until one goes wrong.
#include "sim/edge/plant.h"
#include "sim/edge/subject.h"
#include "sim/harness/program.h"

int main(int count, char** words) {
  using namespace ron::sim;
  return run_program({"edge_sim", all_edge_plants(), make_edge_subject}, count, words);
}
