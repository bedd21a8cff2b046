#include "services/index/targets.h"

#include <limits>
#include <utility>

#include "services/index/dht_target.h"
#include "services/index/peer_target.h"
#include "services/index/static_target.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;

Result<TargetList> TargetList::parse(const std::vector<std::string>& proxies,
                                     const std::vector<std::string>& peers,
                                     const std::vector<std::string>& servers) {
  TargetList list;
  if (proxies.size() > std::numeric_limits<std::uint8_t>::max()) {
    return fail(Code::Malformed, "there are more proxies than lanes");
  }
  for (const auto& [kind, urls] :
       {std::pair(TargetKind::Dht, &proxies), std::pair(TargetKind::Peer, &peers),
        std::pair(TargetKind::Static, &servers)}) {
    const Result<void> added = list.add(kind, *urls);
    if (!added) return fail(added.error());
  }
  return list;
}

Result<void> TargetList::add(TargetKind kind, const std::vector<std::string>& urls) {
  std::uint8_t lane = 0;
  for (const std::string& url : urls) {
    Result<http::UpstreamAddress> address = http::UpstreamAddress::parse(url);
    if (!address) return fail(Code::Malformed, "'" + url + "': " + address.error().message);
    entries_.push_back({kind, lane++, std::move(*address)});
  }
  return {};
}

std::vector<std::string> TargetList::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) names.push_back(entry.address.url());
  return names;
}

std::vector<std::unique_ptr<Target>> TargetList::make(http::Client& client,
                                                      runtime::Meters& meters) const {
  std::vector<std::unique_ptr<Target>> targets;
  targets.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    switch (entry.kind) {
      case TargetKind::Dht:
        targets.push_back(std::make_unique<DhtTarget>(client, meters, entry.lane, entry.address));
        break;
      case TargetKind::Peer:
        targets.push_back(std::make_unique<PeerTarget>(client, entry.address));
        break;
      case TargetKind::Static:
        targets.push_back(std::make_unique<StaticTarget>(client, entry.address));
        break;
    }
  }
  return targets;
}

}  // namespace ron::index
