// For tests and fuzzers: bytes in memory as a Source.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "pack/source.h"

namespace ron::pack::test {

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  base::Result<void> fill(std::uint64_t offset, base::MutableBytes into) override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
      return base::fail(base::Code::Malformed, "bytes past the end of the file");
    }
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  std::string bytes_;
};

}  // namespace ron::pack::test
