// Router: the routes of one listener, declared in one table, matched segment by segment.
//
// Built at start-up, read-only afterwards, shared by all cores.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/head.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/task.h"
#include "runtime/meter.h"

namespace ron::http {

// Handlers run on the connection's core. The request outlives the returned task.
using Handler = std::function<platform::Task<Response>(Request*)>;

// How much of the ingress a route passes through.
enum class Weight : std::uint8_t {
  Heavy,  // every stage
  Light,  // health, readiness, version, metrics: never queues behind work and is never refused for
          // load
};

struct Route {
  Method method;
  std::string pattern;  // `/o/{addr}`: literal segments and {parameters}
  Handler handler;
  Weight weight = Weight::Heavy;
  std::string scope{};  // the capability it needs; empty: public
  // Does as well as `scope`, and lets the handler do more (Request::grant_full).
  std::string full_scope{};
  bool is_read = false;  // public unless auth.public_reads is off
};

// The counters of one route, looked up once per status.
class RouteMeters {
 public:
  RouteMeters(runtime::Meters& meters, std::string_view endpoint);
  RouteMeters(const RouteMeters&) = delete;
  RouteMeters& operator=(const RouteMeters&) = delete;

  void answered(int status, base::Duration took) noexcept;
  runtime::Counter& busy_rejections;

 private:
  runtime::Meters& meters_;
  std::string endpoint_;
  runtime::Histogram& duration_;
  std::array<std::atomic<runtime::Counter*>, 600> by_status_{};
};

class Router {
 public:
  explicit Router(runtime::Meters& meters) : meters_(meters), unmatched_(meters, "unmatched") {}

  void add(Route route);

  struct Match {
    const Route* route = nullptr;
    RouteMeters* meters = nullptr;
    bool path_known = false;  // another method would have matched
    std::string allow{};      // those methods, filled only when nothing matched
  };
  // Fills the request's parameters. HEAD uses the route of GET.
  Match match(Method method, Request& request) const;

  // Counts what no route answers: refused heads, unknown paths.
  [[nodiscard]] RouteMeters& unmatched() const noexcept { return unmatched_; }

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // a parameter is an empty string
    std::unique_ptr<RouteMeters> meters;
  };
  static bool matches(const Entry& entry, std::string_view path, Request& request);

  runtime::Meters& meters_;
  std::vector<Entry> entries_;
  mutable RouteMeters unmatched_;
};

}  // namespace ron::http
