// Member: one upstream behind the gateway, a small HTTP server that is well-behaved or not.
//
// What comes in is held against the book: a request that nobody sent, another body, a field that
// was meant for the gateway alone, or a second sight of what may be done only once is a violation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/gateway/book.h"
#include "sim/harness/raw_server.h"
#include "sim/harness/scene.h"

namespace ron::sim {

class Member final : public RawServer {
 public:
  Member(Scene& scene, const GatewayPlan& plan, std::size_t number, Book& book);
  ~Member() override;

  // From now on it does everything right.
  void calm_down() noexcept { calm_ = true; }

 private:
  enum class Framing : std::uint8_t { Length, Chunked, UntilClose };

  // All of these say whether the connection goes on.
  Task<bool> serve(Link* link, Incoming* request) override;
  Task<bool> answer_probe(Link* link);
  Task<bool> act(Link* link, Incoming* request, Errand* errand, Sighting* sighting);
  Task<bool> answer(Link* link, const Incoming* request, Errand* errand, Sighting* sighting);

  [[nodiscard]] bool check(const Incoming& request, const Errand& errand);
  [[nodiscard]] Deed draw_deed(const Incoming& request);
  void draw_answer(Sighting& sighting);
  [[nodiscard]] bool may_poison() const;

  const GatewayPlan& plan_;
  const std::size_t number_;
  Book& book_;
  Dice dice_;
  bool calm_ = false;
};

}  // namespace ron::sim
