#include "sim/edge/internet.h"

#include <utility>

#include "runtime/deadline.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::Endpoint;

Endpoint at(const std::string& address, std::uint16_t port) {
  return *Endpoint::parse(address + ":" + std::to_string(port));
}

}  // namespace

base::Result<std::unique_ptr<platform::Stream>> PublicNet::connect(const Endpoint& endpoint) {
  ++connections_;
  for (std::size_t i = 0; i < plan_.origins.size(); ++i) {
    if (endpoint == at(public_address(plan_, i), endpoint.port)) {
      return net_.connect(at(private_address(plan_, i), endpoint.port));
    }
  }
  scene_.journal.violation("server", "connects to " + endpoint.text() + ", which is not public");
  return net_.connect(endpoint);
}

base::Result<NameService::Addresses> NameService::lie(std::size_t origin) {
  ++scene_.journal.tally.faults["names looked up in vain, or to private addresses"];
  const std::string good = public_address(plan_, origin);
  const std::string bad = private_address(plan_, origin);
  switch (dice_.below(7)) {
    case 0:
      return base::fail(base::Code::NotFound, "no such host");
    case 1:
      return base::fail(base::Code::UpstreamFail, "no name server answers");
    case 2:
      return Addresses{"127.0.0.1"};
    case 3:
      return Addresses{bad, good};
    case 4:
      return Addresses{good, bad};
    case 5:
      return Addresses{"[::ffff:" + bad + "]"};
    default:
      return Addresses{bad};
  }
}

Task<base::Result<std::vector<Endpoint>>> NameService::resolve(std::string host,
                                                               std::uint16_t port) {
  co_await runtime::sleep_for(dice_.between(10us, Duration(2ms)));
  for (std::size_t i = 0; i < plan_.origins.size(); ++i) {
    if (host != EdgePlan::host(i)) continue;
    const bool lies = !calm_ && dice_.chance(plan_.origins[i].bad_names);
    if (lies && dice_.chance(20)) co_await runtime::sleep_for(dice_.between(1ms, Duration(2s)));
    const auto found = lies ? lie(i) : base::Result<Addresses>(Addresses{public_address(plan_, i)});
    if (!found) co_return base::fail(found.error());
    std::vector<Endpoint> endpoints;
    for (const std::string& address : *found) endpoints.push_back(at(address, port));
    co_return endpoints;
  }
  // An address stands for itself.
  const auto itself = Endpoint::parse(host + ":" + std::to_string(port));
  if (itself) co_return std::vector{*itself};
  co_return base::fail(base::Code::NotFound, "no such host");
}

}  // namespace ron::sim
