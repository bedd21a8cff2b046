// gateway_sim: runs svc-gateway in simulated worlds, seed after seed, until one goes wrong.
#include "sim/gateway/plant.h"
#include "sim/gateway/subject.h"
#include "sim/harness/program.h"

int main(int count, char** words) {
  using namespace ron::sim;
  return run_program({"gateway_sim", all_gateway_plants(), make_gateway_subject}, count, words);
}
