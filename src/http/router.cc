#include "http/router.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "http/metric_names.h"
#include "runtime/metric_names.h"

namespace ron::http {

RouteMeters::RouteMeters(runtime::Meters& meters, std::string_view endpoint)
    : busy_rejections(meters.counter(runtime::metrics::kBusyRejectionsTotal, {endpoint, endpoint})),
      meters_(meters),
      endpoint_(endpoint),
      duration_(meters.histogram(metrics::kRequestSeconds, {endpoint})) {}

void RouteMeters::answered(int status, base::Duration took) noexcept {
  duration_.observe(took);
  std::atomic<runtime::Counter*>& slot = by_status_[static_cast<std::size_t>(status)];
  runtime::Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &meters_.counter(metrics::kRequestsTotal, {endpoint_, std::to_string(status)});
    slot.store(counter, std::memory_order_release);
  }
  counter->add();
}

void Router::add(Route route) {
  assert(route.pattern.starts_with('/'));
  if (around_) route.handler = around_(std::move(route.handler));
  Entry entry{std::move(route), {}, false, nullptr};
  std::string_view rest = std::string_view(entry.route.pattern).substr(1);
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view segment = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    entry.has_tail = segment.ends_with("...}");
    assert((!entry.has_tail || rest.empty()) && "a tail is the last of a pattern");
    if (!entry.has_tail) entry.segments.emplace_back(segment.starts_with('{') ? "" : segment);
  }
  const std::string endpoint =
      std::string(method_name(entry.route.method)) + " " + entry.route.pattern;
  entry.meters = std::make_unique<RouteMeters>(meters_, endpoint);
  entries_.insert(std::ranges::upper_bound(entries_, entry, goes_before), std::move(entry));
}

bool Router::goes_before(const Entry& a, const Entry& b) noexcept {
  if (a.has_tail != b.has_tail) return b.has_tail;
  return a.has_tail && a.segments.size() > b.segments.size();
}

bool Router::matches(const Entry& entry, std::string_view path, Request& request) {
  if (!path.starts_with('/')) return false;
  std::string_view rest = path.substr(1);
  std::size_t params = 0;
  for (const std::string& segment : entry.segments) {
    const std::size_t slash = rest.find('/');
    const std::string_view given = rest.substr(0, slash);
    if (segment.empty()) {
      if (given.empty() || params == Request::kParams) return false;
      request.params[params++] = given;
    } else if (segment != given) {
      return false;
    }
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    const bool is_last = &segment == &entry.segments.back() && !entry.has_tail;
    if (slash == std::string_view::npos && !is_last) return false;
  }
  if (entry.has_tail) {
    if (params == Request::kParams) return false;
    request.params[params] = rest;
    return true;
  }
  return rest.empty() && (path == "/" || !path.ends_with('/'));
}

Router::Match Router::match(Method method, Request& request) const {
  const Method wanted = method == Method::Head ? Method::Get : method;
  Match found;
  for (const Entry& entry : entries_) {
    if (entry.route.method == wanted && matches(entry, request.path, request)) {
      return {&entry.route, entry.meters.get(), true, {}};
    }
  }
  // A route for OPTIONS says what others allow; it makes no path known.
  for (const Entry& entry : entries_) {
    if (entry.route.method == Method::Options) continue;
    if (!matches(entry, request.path, request)) continue;
    found.path_known = true;
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += method_name(entry.route.method);
    if (entry.route.method == Method::Get) found.allow += ", HEAD";
  }
  return found;
}

std::optional<Response> Router::route(Request& request) const {
  using base::Code;
  const RequestHead& head = *request.head;
  const Match found = match(head.method, request);
  request.route = found.route;
  request.route_meters = found.meters;
  if (found.route != nullptr) return std::nullopt;
  const auto refuse = [&request](Code code, std::string message) {
    return Response::error({code, std::move(message)}, request.corr_id);
  };
  if (head.method == Method::Options && (found.path_known || head.target == "*")) {
    Response response(204);
    response.add("Allow", found.path_known ? found.allow : std::string_view("GET, HEAD, OPTIONS"));
    return response;
  }
  if (head.method == Method::Other) {
    return refuse(Code::NotImplemented, "the method is not implemented");
  }
  if (!found.path_known) return refuse(Code::NotFound, "there is no such route");
  Response response = refuse(Code::MethodNotAllowed, "the route allows " + found.allow);
  response.add("Allow", found.allow);
  return response;
}

}  // namespace ron::http
