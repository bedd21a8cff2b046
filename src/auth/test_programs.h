// Programs that tests compare us with, run through the shell.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace ron::auth::testing {

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

inline Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    outcome.output.append(buffer, n);
  }
  const int ended = pclose(pipe);
  outcome.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return outcome;
}

inline std::string quoted(std::string_view argument) {
  EXPECT_EQ(argument.find('\''), std::string_view::npos);
  return "'" + std::string(argument) + "'";
}

}  // namespace ron::auth::testing
