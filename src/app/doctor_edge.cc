#include "app/doctor_edge.h"

namespace ron::app {

void examine_edge_files(const config::Config&, const std::string&, Findings&) {}

void judge_edge(const config::Config&, const platform::posix::Machine&, std::size_t, Findings&) {}

}  // namespace ron::app
