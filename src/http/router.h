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

#include "auth/access.h"
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
  // `/o/{addr}`: literal segments and {parameters}, which stand for one segment each. The last may
  // be a tail, `/names/{name...}`: all that follows, slashes included, and maybe nothing.
  std::string pattern;
  auth::Access access;  // no default: somebody decides
  Handler handler;
  Weight weight = Weight::Heavy;
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

  // Puts something around the handlers of routes that are added from now on.
  using Around = std::function<Handler(Handler)>;
  void wrap(Around around) { around_ = std::move(around); }

  // A pattern without a tail is tried before all with one, and those with the most segments first;
  // among equals the first added wins.
  void add(Route route);

  struct Match {
    const Route* route = nullptr;
    RouteMeters* meters = nullptr;
    bool path_known = false;  // another method would have matched
    std::string allow{};      // those methods, filled only when nothing matched
  };
  // Fills the request's parameters. HEAD uses the route of GET.
  Match match(Method method, Request& request) const;
  // Fills in route, meters and parameters, or says what a request without a route is answered.
  std::optional<Response> route(Request& request) const;

  // Counts what no route answers: refused heads, unknown paths.
  [[nodiscard]] RouteMeters& unmatched() const noexcept { return unmatched_; }

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // a parameter is an empty string; without the tail
    bool has_tail = false;
    std::unique_ptr<RouteMeters> meters;
  };
  static bool matches(const Entry& entry, std::string_view path, Request& request);
  static bool goes_before(const Entry& a, const Entry& b) noexcept;

  runtime::Meters& meters_;
  Around around_;
  std::vector<Entry> entries_;
  mutable RouteMeters unmatched_;
};

}  // namespace ron::http
