#include "sim/edge/shelf.h"

#include <utility>

#include "b3/hash.h"
#include "base/bytes.h"

namespace ron::sim {

std::uint64_t Shelf::version(std::size_t url, TimePoint now) {
  const UrlPlan& what = plan_.urls[url];
  if (!what.policy.may_be_shared()) return ++unique_;
  if (what.changes_every == Duration::zero()) return 1;
  return 1 + static_cast<std::uint64_t>(now.time_since_epoch() / what.changes_every);
}

// Says what it is, so that a trace of it can be read and no two are the same; the rest is noise.
std::string Shelf::body(std::size_t url, std::uint64_t version, std::string_view language) const {
  const UrlPlan& what = plan_.urls[url];
  std::string bytes = "v" + std::to_string(version) + std::string(what.varies ? language : "") +
                      " of " + plan_.name(url) + "\n";
  Dice dice(plan_.seed * 1'000'003 + url * 7919 + version);
  while (bytes.size() < what.bytes) {
    const std::uint64_t word = dice.next();
    for (std::size_t i = 0; i < sizeof word; ++i) bytes += static_cast<char>(word >> (8 * i));
  }
  bytes.resize(what.bytes);
  return bytes;
}

std::string Shelf::keep(std::string body) {
  std::string tag = b3::hash(base::as_bytes(body)).text();
  bodies_.emplace(tag, std::move(body));
  return tag;
}

const std::string* Shelf::bytes(std::string_view tag) const {
  const auto found = bodies_.find(tag);
  return found == bodies_.end() ? nullptr : &found->second;
}

std::size_t Shelf::count() const {
  std::size_t sum = 0;
  for (const auto& of_url : offers_) sum += of_url.size();
  return sum;
}

}  // namespace ron::sim
