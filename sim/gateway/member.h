// Member: one upstream behind the gateway, a small HTTP server that is well-behaved or not. Written
// apart from src/http, so that it can say what no server says, and understand what it should not.
//
// What comes in is held against the book: a request that nobody sent, another body, a field that
// was meant for the gateway alone, or a second sight of what may be done only once is a violation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "sim/gateway/book.h"
#include "sim/harness/http_client.h"
#include "sim/harness/scene.h"

namespace ron::sim {

class Member {
 public:
  Member(Scene& scene, const GatewayPlan& plan, std::size_t number, Book& book);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  // The process starts and dies; its connections are reset then.
  void start();
  void kill();
  // The machine goes dark; the next start() is that of both.
  void cut_power();
  // It neither reads nor writes for a time.
  void freeze(Duration lasts);
  // From now on it does everything right.
  void calm_down() noexcept { calm_ = true; }

  [[nodiscard]] platform::sim::NodeId node() const noexcept { return node_.id(); }

 private:
  // A connection, and what has arrived on it and was not used.
  struct Link {
    std::unique_ptr<platform::Stream> stream;
    std::string arrived;
    std::unique_ptr<platform::test::Root> task;
  };
  struct Incoming {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
    std::string body;

    [[nodiscard]] std::size_t count(std::string_view name) const;
    [[nodiscard]] std::string_view field(std::string_view name) const;
  };
  enum class Framing : std::uint8_t { Length, Chunked, UntilClose };

  Task<void> accept_all();
  Task<void> converse(Link* link);
  Task<bool> read_head(Link* link, Incoming* request);
  Task<bool> read_body(Link* link, Incoming* request);
  Task<bool> read_more(Link* link);
  Task<bool> write(Link* link, std::string bytes, Pace pace);
  Task<void> thaw();

  // All of these say whether the connection goes on.
  Task<bool> answer_probe(Link* link);
  Task<bool> serve(Link* link, Incoming* request);
  Task<bool> act(Link* link, Incoming* request, Errand* errand, Sighting* sighting);
  Task<bool> answer(Link* link, const Incoming* request, Errand* errand, Sighting* sighting);
  Task<bool> hang(Link* link);

  [[nodiscard]] bool parse(std::string_view head, Incoming& request) const;
  [[nodiscard]] bool check(const Incoming& request, const Errand& errand);
  [[nodiscard]] Deed draw_deed(const Incoming& request);
  void draw_answer(Sighting& sighting);
  [[nodiscard]] bool may_poison() const;
  [[nodiscard]] TimePoint now() const { return scene_.world.now(); }
  void wrong(const std::string& what);

  Scene& scene_;
  const GatewayPlan& plan_;
  const std::size_t number_;
  const std::string name_;
  Book& book_;
  platform::sim::Node& node_;
  Dice dice_;
  bool calm_ = false;
  bool dark_ = false;
  TimePoint frozen_until_{};
  std::unique_ptr<platform::test::Root> listening_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace ron::sim
