// RawServer: a small HTTP server for machines that a service calls. Written apart from src/http, so
// that it can say what no server says, and understand what it should not.
//
// It reads requests and leaves it to the derived class what to do with them. Lives on one node, on
// its first core.
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
#include "sim/harness/http_client.h"
#include "sim/harness/scene.h"

namespace ron::sim {

// As HTTP has it.
std::string as_chunks(std::string_view body, std::size_t piece);

class RawServer {
 public:
  RawServer(Scene& scene, platform::sim::Node& node, std::uint16_t port, std::string name);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  // What derives from it calls kill() first.
  virtual ~RawServer() = default;

  // The process starts and dies; its connections are reset then.
  void start();
  void kill();
  // The machine goes dark; the next start() is that of both.
  void cut_power();
  // It neither reads nor writes for a time.
  void freeze(Duration lasts) { frozen_until_ = now() + lasts; }

  [[nodiscard]] platform::sim::NodeId node() const noexcept { return node_.id(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 protected:
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

  // What a connection is wrapped in: TLS, for one. By default nothing.
  virtual std::unique_ptr<platform::Stream> secure(std::unique_ptr<platform::Stream> stream) {
    return stream;
  }
  // The head of a request has come, its body perhaps not. False: the connection ends.
  virtual Task<bool> serve(Link* link, Incoming* request) = 0;

  // False when it ended before it was complete, which may happen.
  Task<bool> read_body(Link* link, Incoming* request);
  // All of them say whether the connection goes on.
  Task<bool> write(Link* link, std::string bytes, Pace pace);
  Task<bool> hang(Link* link);

  [[nodiscard]] TimePoint now() const { return scene_.world.now(); }
  void wrong(const std::string& what) { scene_.journal.violation(name_, what); }

  Scene& scene_;
  platform::sim::Node& node_;

 private:
  Task<void> accept_all();
  Task<void> converse(Link* link);
  Task<bool> read_head(Link* link, Incoming* request);
  Task<bool> read_more(Link* link);
  Task<void> thaw();
  [[nodiscard]] static bool parse(std::string_view head, Incoming& request);

  const std::uint16_t port_;
  const std::string name_;
  bool dark_ = false;
  TimePoint frozen_until_{};
  std::unique_ptr<platform::test::Root> listening_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace ron::sim
