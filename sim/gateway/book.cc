#include "sim/gateway/book.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ron::sim {

bool Errand::met_misdeed() const {
  return std::ranges::any_of(seen, [](const Sighting& each) { return is_misdeed(each.deed); });
}

Errand& Book::add(Errand errand) {
  std::string id = errand.id;
  return errands_.insert_or_assign(std::move(id), std::move(errand)).first->second;
}

Errand* Book::find(std::string_view id) {
  const auto found = errands_.find(id);
  return found == errands_.end() ? nullptr : &found->second;
}

const Errand* Book::find(std::string_view id) const {
  const auto found = errands_.find(id);
  return found == errands_.end() ? nullptr : &found->second;
}

std::string Book::marker(const Errand& errand, std::size_t sighting) {
  return errand.id + "/" + std::to_string(sighting);
}

const Sighting* Book::marked(const Errand& errand, std::string_view marker) const {
  if (!marker.starts_with(errand.id + "/")) return nullptr;
  const std::string_view digits = marker.substr(errand.id.size() + 1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && number < errand.seen.size() ? &errand.seen[number] : nullptr;
}

void Book::trouble(std::size_t member, TimePoint from, TimePoint until) {
  troubles_[member].push_back({from, until});
}

bool Book::troubled(const GroupPlan& group, TimePoint from, TimePoint until) const {
  for (std::size_t member = group.first; member < group.first + group.count; ++member) {
    const bool was = std::ranges::any_of(troubles_[member], [&](const Trouble& each) {
      return each.from <= until && each.until >= from;
    });
    if (was) return true;
  }
  return false;
}

bool Book::any_trouble(TimePoint from, TimePoint until) const {
  return troubled({.prefix = {}, .first = 0, .count = troubles_.size()}, from, until);
}

Book::Sums Book::sums(unsigned life) const {
  Sums sums;
  for (const auto& [id, errand] : errands_) {
    if (errand.life != life) continue;
    ++sums.errands;
    sums.sightings += errand.seen.size();
    if (!errand.seen.empty()) sums.repetitions += errand.seen.size() - 1;
  }
  return sums;
}

}  // namespace ron::sim
