// Records: the provider records of a seed. Which of them may be returned can be read off the URL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/provider_record.h"
#include "sim/harness/dice.h"
#include "sim/index/plan.h"

namespace ron::sim {

// What a URL says of its record.
struct UrlMeaning {
  bool may_be_returned = false;
  std::size_t node = 0;
  std::size_t address = 0;
  std::uint64_t seq = 0;
};
std::optional<UrlMeaning> meaning_of(std::string_view url);

class Records {
 public:
  // Those that were there before anybody announced anything have this `seq`; announced ones have
  // more, replayed ones less.
  static constexpr std::uint64_t kFirstSeq = 1'000'000;

  Records(const IndexPlan& plan, std::int64_t now_unix_ms);

  // A record of a node that is known, as it should be.
  [[nodiscard]] catalog::ProviderRecord good(std::size_t node, std::size_t address,
                                             std::uint64_t seq) const;
  // Signed by somebody else than it says.
  [[nodiscard]] catalog::ProviderRecord forged(std::size_t node, std::size_t address,
                                               std::uint64_t seq) const;
  // By a node that nobody knows.
  [[nodiscard]] catalog::ProviderRecord foreign(std::size_t address, std::uint64_t seq) const;

  // What a proxy has under a key of its lane: the good ones among bad ones; nothing: no such key.
  [[nodiscard]] std::vector<catalog::ProviderRecord> at(std::uint8_t lane, std::string_view key,
                                                        Dice& dice) const;

 private:
  [[nodiscard]] catalog::ProviderRecord make(std::string_view word, std::size_t node,
                                             std::size_t address, std::uint64_t seq,
                                             std::int64_t expires_ms,
                                             const auth::SigningKey& key) const;

  const IndexPlan& plan_;
  const std::int64_t now_ms_;
};

}  // namespace ron::sim
