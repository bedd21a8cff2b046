// Origin: a web server on the other side of the internet, over TLS, well-behaved or not.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "platform/tls.h"
#include "sim/edge/plan.h"
#include "sim/edge/shelf.h"
#include "sim/harness/raw_server.h"

namespace ron::sim {

class Origin final : public RawServer {
 public:
  Origin(Scene& scene, const EdgePlan& plan, std::size_t number, Shelf& shelf,
         std::shared_ptr<const platform::TlsServer> tls);
  ~Origin() override;

  // From now on it does everything right.
  void calm_down() noexcept { calm_ = true; }
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }

 private:
  // What is about to be said.
  struct Reply {
    std::string head;  // status line and fields, without length or coding
    std::string body;
  };
  std::unique_ptr<platform::Stream> secure(std::unique_ptr<platform::Stream> stream) override {
    return tls_->secure(std::move(stream));
  }
  Task<bool> serve(Link* link, Incoming* request) override;
  Task<bool> answer(Link* link, Incoming* request, std::size_t url);
  Task<bool> answer_odd(Link* link, std::size_t url);
  // Those that end in what is no answer.
  Task<bool> misbehave(Link* link, OriginDeed deed);
  Task<bool> redirect(Link* link, std::string_view where, std::string_view fields = {});
  Task<bool> send(Link* link, Reply reply, OriginDeed deed);
  Task<bool> send_broken(Link* link, Reply reply, OriginDeed deed);
  [[nodiscard]] OriginDeed draw_deed();
  [[nodiscard]] std::string redirect_to(OriginDeed deed);
  [[nodiscard]] std::optional<std::size_t> find(std::string_view target) const;
  void check(const Incoming& request);

  const EdgePlan& plan_;
  const OriginPlan& own_;
  const std::size_t number_;
  Shelf& shelf_;
  const std::shared_ptr<const platform::TlsServer> tls_;
  Dice dice_;
  bool calm_ = false;
  std::uint64_t requests_ = 0;
};

}  // namespace ron::sim
