// Proxy: the REST proxy of a DHT node, as svc-index asks it, well-behaved or not.
#pragma once

#include <cstddef>
#include <string>

#include "sim/harness/raw_server.h"
#include "sim/index/plan.h"
#include "sim/index/records.h"

namespace ron::sim {

class Proxy final : public RawServer {
 public:
  Proxy(Scene& scene, const IndexPlan& plan, std::size_t number, const Records& records);
  ~Proxy() override;

  // From now on it does everything right.
  void calm_down() noexcept { calm_ = true; }

 private:
  Task<bool> serve(Link* link, Incoming* request) override;
  Task<bool> answer(Link* link, std::string body, ProxyDeed deed);
  [[nodiscard]] ProxyDeed draw_deed();
  // A line of JSON for each value, as OpenDHT has it.
  [[nodiscard]] std::string values_of(const Incoming& request, ProxyDeed deed);

  const ProxyPlan& own_;
  const std::size_t number_;
  const Records& records_;
  Dice dice_;
  bool calm_ = false;
};

}  // namespace ron::sim
