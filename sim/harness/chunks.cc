#include "sim/harness/chunks.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ron::sim {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

}  // namespace

Chunks::State Chunks::feed(std::string& arrived, std::string& body) {
  for (;;) {
    if (step_ == Step::Data) {
      const std::size_t taken = std::min(left_, arrived.size());
      body.append(arrived, 0, taken);
      arrived.erase(0, taken);
      left_ -= taken;
      if (left_ > 0) return State::More;
      step_ = Step::DataEnd;
    }
    const std::size_t end = arrived.find(kLineEnd);
    if (end == std::string::npos) return State::More;
    const std::string line = arrived.substr(0, end);
    arrived.erase(0, end + kLineEnd.size());
    if (step_ == Step::Size) {
      const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), left_, 16);
      if (error != std::errc() || stop != line.data() + line.size()) return State::Bad;
      step_ = left_ > 0 ? Step::Data : Step::LastLine;
      continue;
    }
    if (!line.empty()) return State::Bad;  // nobody here sends trailers
    if (step_ == Step::LastLine) return State::Done;
    step_ = Step::Size;
  }
}

std::string chunk_size_line(std::size_t bytes) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
  return std::string(digits.data(), end) + std::string(kLineEnd);
}

}  // namespace ron::sim
