// IndexRequest: one thing a client asks of svc-index, as bytes and as what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/harness/request.h"
#include "sim/index/ledger.h"
#include "sim/index/plan.h"
#include "sim/index/records.h"

namespace ron::sim {

enum class IndexAsk : std::uint8_t {
  Set,     // whatever the name is at
  Cas,     // only if it is at the version that the client believes
  Remove,  // the same
  Name,
  Version,  // one that somebody was told of
  History,
  List,
  ResolveName,
  ResolveNameFresh,
  ResolveAddress,
  ResolveAddressFresh,
  Providers,
  Announce,
  AnnounceForged,
  AnnounceForeign,  // without a token
  SetWrong,         // what is no name, or no target
  Health,
  Ready,
  Missing,
  Garbage,
};
std::string_view name(IndexAsk ask) noexcept;

// Where answers of a client are remembered by what they are about.
struct IndexLedgers {
  std::vector<NameLedger> names{IndexPlan::kNames};
  std::vector<ProviderLedger> providers{IndexPlan::kAddresses};
};

struct IndexRequest : Request {
  IndexAsk ask = IndexAsk::Name;
  std::size_t about = 0;  // the number of a name or an address
  std::string target;     // that the name shall have; empty: it is removed, or this is a read
  std::optional<std::uint64_t> expected;
  std::uint64_t version = 0;  // that it asks for
  std::size_t node = 0;
  std::uint64_t seq = 0;

  [[nodiscard]] bool is_about_name() const {
    return ask <= IndexAsk::History || ask == IndexAsk::ResolveName ||
           ask == IndexAsk::ResolveNameFresh;
  }
  [[nodiscard]] bool changes_name() const { return ask <= IndexAsk::Remove; }
  [[nodiscard]] bool resolves() const {
    return ask >= IndexAsk::ResolveName && ask <= IndexAsk::Providers;
  }
  // Whoever resolves the same key at once gets the same answer.
  [[nodiscard]] std::string key() const {
    return (is_about_address() ? "address " : "name ") + std::to_string(about);
  }
  [[nodiscard]] bool is_about_address() const {
    return ask >= IndexAsk::ResolveAddress && ask <= IndexAsk::AnnounceForeign;
  }
};

class IndexRequestMaker {
 public:
  IndexRequestMaker(const IndexPlan& plan, const std::string& token, IndexLedgers& ledgers)
      : plan_(plan), token_(token), ledgers_(ledgers) {}

  // Once the world has a time.
  void set_records(const Records& records) noexcept { records_ = &records; }

  [[nodiscard]] RequestPtr make(Dice& dice, IndexAsk ask, std::size_t about) const;
  [[nodiscard]] RequestPtr any(Dice& dice) const;

  [[nodiscard]] static std::string name_text(std::size_t number) {
    return "docs/n" + std::to_string(number);
  }

 private:
  [[nodiscard]] std::string target_of(Dice& dice, IndexRequest& request) const;
  void add_body(Dice& dice, IndexRequest& request) const;

  const IndexPlan& plan_;
  const std::string& token_;
  IndexLedgers& ledgers_;
  const Records* records_ = nullptr;
};

}  // namespace ron::sim
