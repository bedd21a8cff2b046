// Shelf: what origins have and have said. Every answer of theirs that was whole is noted here, with
// what it said to caches; the judge holds what clients get against it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "platform/net.h"
#include "sim/edge/plan.h"

namespace ron::sim {

using platform::TimePoint;

// An answer that an origin gave in good order, as far as it can tell.
struct Offer {
  int status = 200;  // 200, 304 or 404
  std::string tag;   // of the bytes, as the edge names them; of a 304: those it confirms
  TimePoint asked{};
  CachePolicy policy{};
  std::string language{};  // that a 404 was asked for in
};

// Outside of any executor; everybody is on the world's thread.
class Shelf {
 public:
  explicit Shelf(const EdgePlan& plan) : plan_(plan), offers_(plan.urls.size()) {}

  // Which version of a URL there is at a time. One that may not be shared is another each time.
  std::uint64_t version(std::size_t url, TimePoint now);
  // One that no honest answer ever has.
  std::uint64_t poison() noexcept { return ++poison_; }
  [[nodiscard]] std::string body(std::size_t url, std::uint64_t version,
                                 std::string_view language) const;

  // The bytes of an answer, if it has any; returns their tag.
  std::string keep(std::string body);
  void offer(std::size_t url, Offer what) { offers_[url].push_back(std::move(what)); }

  // Of this URL, and of the one that it leads to.
  template <class Holds>
  [[nodiscard]] bool any(std::size_t url, Holds holds) const {
    return std::ranges::any_of(offers_[url], holds) ||
           std::ranges::any_of(offers_[plan_.final(url)], holds);
  }
  // Null: no origin ever gave that.
  [[nodiscard]] const std::string* bytes(std::string_view tag) const;
  [[nodiscard]] std::size_t count() const;

 private:
  static constexpr std::uint64_t kFirstUnique = 1'000'000;
  static constexpr std::uint64_t kFirstPoison = 900'000'000;

  const EdgePlan& plan_;
  std::uint64_t unique_ = kFirstUnique;
  std::uint64_t poison_ = kFirstPoison;
  std::map<std::string, std::string, std::less<>> bodies_;  // by tag
  std::vector<std::vector<Offer>> offers_;                  // by URL
};

}  // namespace ron::sim
