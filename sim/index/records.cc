#include "sim/index/records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace ron::sim {
namespace {

using catalog::ProviderRecord;

constexpr std::int64_t kHour = 3'600'000;
constexpr std::string_view kGood = "good";

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

// `http://good.NODE.ADDRESS.SEQ:80`
std::optional<UrlMeaning> meaning_of(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const std::size_t dot = url.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  UrlMeaning meaning{.may_be_returned = url.substr(0, dot) == kGood};
  url.remove_prefix(dot + 1);
  const auto node = take_number(url);
  const auto address = take_number(url);
  const auto seq = take_number(url);
  if (!node || !address || !seq) return std::nullopt;
  meaning.node = *node;
  meaning.address = *address;
  meaning.seq = *seq;
  return meaning;
}

Records::Records(const IndexPlan& plan, std::int64_t now_unix_ms)
    : plan_(plan), now_ms_(now_unix_ms) {}

ProviderRecord Records::make(std::string_view word, std::size_t node, std::size_t address,
                             std::uint64_t seq, std::int64_t expires_ms,
                             const auth::SigningKey& key) const {
  ProviderRecord record;
  record.addr = plan_.addresses[address];
  record.url = "http://" + std::string(word) + "." + std::to_string(node) + "." +
               std::to_string(address) + "." + std::to_string(seq) + ":80";
  record.seq = seq;
  record.expires_ms = static_cast<std::uint64_t>(expires_ms);
  return *catalog::sign(std::move(record), key);
}

ProviderRecord Records::good(std::size_t node, std::size_t address, std::uint64_t seq) const {
  return make(kGood, node, address, seq, now_ms_ + 24 * kHour, plan_.nodes[node]);
}

ProviderRecord Records::forged(std::size_t node, std::size_t address, std::uint64_t seq) const {
  ProviderRecord record =
      make("forged", node, address, seq, now_ms_ + 24 * kHour, plan_.strangers.front());
  record.node = plan_.nodes[node].public_key();
  return record;
}

ProviderRecord Records::foreign(std::size_t address, std::uint64_t seq) const {
  return make("foreign", 0, address, seq, now_ms_ + 24 * kHour, plan_.strangers.front());
}

// A replayed one comes behind the one that it is older than: who hears it alone cannot know.
std::vector<ProviderRecord> Records::at(std::uint8_t lane, std::string_view key, Dice& dice) const {
  std::vector<ProviderRecord> values;
  for (std::size_t address = 0; address < plan_.addresses.size(); ++address) {
    if (IndexPlan::home(address) != IndexPlan::Home::Dht) continue;
    if (catalog::lane_key(lane, plan_.addresses[address]) != key) continue;
    const std::size_t node = address % IndexPlan::kNodes;
    const auth::SigningKey& signer = plan_.nodes[node];
    if (dice.chance(50)) values.push_back(forged(node, address, 2 * kFirstSeq));
    if (dice.chance(50)) values.push_back(foreign(address, kFirstSeq));
    if (dice.chance(50)) {
      values.push_back(make("expired", node, address, kFirstSeq - 2, now_ms_ - 1, signer));
    }
    if (dice.chance(50)) {
      // It claims to hold for longer than anybody may claim.
      values.push_back(
          make("eternal", node, address, kFirstSeq - 3, now_ms_ + 1000 * kHour, signer));
    }
    if (dice.chance(50)) {
      const std::size_t other = (address + 1) % plan_.addresses.size();
      values.push_back(make("elsewhere", node, other, kFirstSeq, now_ms_ + kHour, signer));
    }
    values.push_back(good(node, address, kFirstSeq));
    if (dice.chance(50)) {
      values.push_back(make("replayed", node, address, kFirstSeq - 1, now_ms_ + kHour, signer));
    }
  }
  return values;
}

}  // namespace ron::sim
