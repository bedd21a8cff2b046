// A scratch directory and a random source that counts, for this folder's tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "platform/random.h"

namespace ron::cli::testing {

inline constexpr std::int64_t kNow = 1'800'000'000;  // 2027-01-15T08:00:00Z

class CountingRandom final : public platform::Random {
 public:
  void fill(base::MutableBytes out) noexcept override {
    ++draws_;
    for (std::byte& byte : out) byte = static_cast<std::byte>(draws_);
  }

 private:
  unsigned draws_ = 0;
};

class InScratch : public ::testing::Test {
 protected:
  InScratch() {
    std::string pattern = ::testing::TempDir() + "ron-cli-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) root_ = pattern;
  }
  ~InScratch() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

  CountingRandom random_;

 private:
  std::string root_;
};

}  // namespace ron::cli::testing
