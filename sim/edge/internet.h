// The internet as the edge sees it: a name service that may lie, and a network on which origins
// have public addresses, and which knows whom nobody may connect to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/net.h"
#include "platform/resolver.h"
#include "sim/edge/plan.h"
#include "sim/harness/scene.h"

namespace ron::sim {

// The net of the edge's machine: every connection out of it is to the public address of an origin,
// or wrong. The net below outlives it.
class PublicNet final : public platform::Net {
 public:
  PublicNet(Scene& scene, const EdgePlan& plan, platform::Net& net)
      : scene_(scene), plan_(plan), net_(net) {}

  base::Result<std::unique_ptr<platform::Listener>> listen(
      const platform::Endpoint& endpoint) override {
    return net_.listen(endpoint);
  }
  base::Result<std::unique_ptr<platform::Stream>> connect(
      const platform::Endpoint& endpoint) override;
  [[nodiscard]] std::uint32_t own_uid() const noexcept override { return net_.own_uid(); }

  [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }

 private:
  Scene& scene_;
  const EdgePlan& plan_;
  platform::Net& net_;
  std::uint64_t connections_ = 0;
};

// Says where origins are; at times late, or nothing, or what is private, or a list with both.
class NameService final : public platform::Resolver {
 public:
  NameService(Scene& scene, const EdgePlan& plan)
      : scene_(scene), plan_(plan), dice_(plan.seed ^ 0xD45ULL) {}

  Task<base::Result<std::vector<platform::Endpoint>>> resolve(std::string host,
                                                              std::uint16_t port) override;
  // From now on it tells the truth.
  void calm_down() noexcept { calm_ = true; }

 private:
  using Addresses = std::vector<std::string>;
  base::Result<Addresses> lie(std::size_t origin);

  Scene& scene_;
  const EdgePlan& plan_;
  Dice dice_;
  bool calm_ = false;
};

}  // namespace ron::sim
