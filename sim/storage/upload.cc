#include "sim/storage/upload.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace ron::sim {
namespace {

// The numbers in a text, in order.
std::vector<std::uint64_t> numbers_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::uint64_t> found;
  for (std::size_t at = text.find_first_of(kDigits); at != std::string_view::npos;
       at = text.find_first_of(kDigits)) {
    text.remove_prefix(at);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc()) found.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return found;
}

}  // namespace

std::optional<std::string> UploadModel::check_arrived(std::string_view ranges) const {
  const std::vector<std::uint64_t> bounds = numbers_in(ranges);
  if (bounds.size() % 2 != 0) return "half a range of parts";
  std::set<std::uint64_t> said;
  for (std::size_t i = 0; i < bounds.size(); i += 2) {
    if (bounds[i] > bounds[i + 1] || bounds[i + 1] >= parts()) return "impossible parts";
    for (std::uint64_t part = bounds[i]; part <= bounds[i + 1]; ++part) said.insert(part);
  }
  if (!std::ranges::includes(said, arrived)) return "an acknowledged part is missing";
  if (!std::ranges::includes(tried, said)) return "a part that nobody sent";
  return std::nullopt;
}

}  // namespace ron::sim
