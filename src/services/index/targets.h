// TargetList: whom discovery may ask, as configured; the same for every core. Target i of the list
// is target i of the breaker table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/upstream_address.h"
#include "runtime/meter.h"
#include "services/index/target.h"

namespace ron::index {

class TargetList {
 public:
  // Lane i is proxy i: their order matters, and is the same on every node of a DHT. Malformed names
  // the URL; too many proxies as well.
  static base::Result<TargetList> parse(const std::vector<std::string>& proxies,
                                        const std::vector<std::string>& peers,
                                        const std::vector<std::string>& servers);

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(entries_.size());
  }
  [[nodiscard]] TargetKind kind(std::uint32_t target) const { return entries_[target].kind; }
  // The URL: what metrics, answers and operators see.
  [[nodiscard]] const std::string& name(std::uint32_t target) const {
    return entries_[target].address.url();
  }
  [[nodiscard]] std::vector<std::string> names() const;

  // Those of one core, who all ask through its client.
  [[nodiscard]] std::vector<std::unique_ptr<Target>> make(http::Client& client,
                                                          runtime::Meters& meters) const;

 private:
  struct Entry {
    TargetKind kind;
    std::uint8_t lane;  // of a proxy
    http::UpstreamAddress address;
  };

  base::Result<void> add(TargetKind kind, const std::vector<std::string>& urls);

  std::vector<Entry> entries_;
};

}  // namespace ron::index
