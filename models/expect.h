// How a model test states its verdict: a case that holds under every schedule, or a seeded bug that
// must be found. Both print one line, so a run shows how much was looked at.
#pragma once

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "explorer.h"

namespace ron::models {

inline std::string to_text(const std::vector<int>& schedule) {
  std::string text = "{";
  for (const int choice : schedule) text += (text.size() > 1 ? ", " : "") + std::to_string(choice);
  return text + "}";
}

inline void expect_holds(const std::string& name, const Scenario& setup, Bounds bounds = {}) {
  const Report report = explore(setup, bounds);
  std::printf("%s: %llu schedules\n", name.c_str(),
              static_cast<unsigned long long>(report.schedules));
  if (report.failure) {
    ADD_FAILURE() << name << ": " << report.failure->what << "\nafter " << report.schedules
                  << " schedules; replay with " << to_text(report.failure->schedule) << "\n"
                  << report.failure->trace;
    return;
  }
  EXPECT_TRUE(report.complete) << name << ": too many schedules to run them all";
}

// The failure must also come back when its schedule alone is replayed.
inline void expect_caught(const std::string& name, const Scenario& setup, Bounds bounds = {}) {
  const Report report = explore(setup, bounds);
  if (!report.failure) {
    ADD_FAILURE() << name << ": a seeded bug went unnoticed in " << report.schedules
                  << " schedules";
    return;
  }
  std::printf("%s: seeded bug caught after %llu schedules (%s)\n", name.c_str(),
              static_cast<unsigned long long>(report.schedules), report.failure->what.c_str());
  const Report again = replay(setup, report.failure->schedule, bounds);
  ASSERT_TRUE(again.failure.has_value()) << name << ": the failing schedule does not replay";
  EXPECT_EQ(again.failure->what, report.failure->what);
}

}  // namespace ron::models
