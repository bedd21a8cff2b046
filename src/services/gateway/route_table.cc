#include "services/gateway/route_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "http/uri.h"
#include "services/kit/cors.h"

namespace ron::gateway {
namespace {

using base::Code;
using base::fail;
using http::Method;

constexpr std::array kMethods = {Method::Get,    Method::Head,    Method::Put,  Method::Post,
                                 Method::Delete, Method::Options, Method::Patch};
constexpr std::string_view kInProcess = "inproc:";

std::uint32_t bit(Method method) noexcept { return 1U << static_cast<unsigned>(method); }

bool is_normal(std::string_view prefix) {
  if (prefix == "/") return true;
  if (!prefix.starts_with('/') || prefix.ends_with('/')) return false;
  if (prefix.find_first_of("?#") != std::string_view::npos) return false;
  http::UriScratch scratch;
  const auto decoded = http::decode_path(prefix, scratch);
  return decoded && *decoded == prefix;
}

bool covers(std::string_view prefix, std::string_view path) {
  if (prefix == "/") return true;
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// HEAD is let through wherever GET is.
base::Result<std::uint32_t> parse_methods(const config::TextList& names) {
  std::uint32_t methods = 0;
  for (const std::string& name : names) {
    const Method method = http::parse_method(name);
    if (method == Method::Other) return fail(Code::Malformed, "no method '" + name + "' is known");
    methods |= bit(method);
    if (method == Method::Get) methods |= bit(Method::Head);
  }
  if (methods != 0) return methods;
  for (const Method method : kMethods) methods |= bit(method);
  return methods;
}

base::Result<auth::Access> parse_scope(const RouteConfig& row) {
  if (row.scope.empty()) return row.is_open ? auth::Access::open() : auth::Access::any();
  if (row.is_open) return fail(Code::Malformed, "an open route asks for no scope");
  const std::optional<auth::Scope> scope = auth::scope_named(row.scope);
  if (!scope) return fail(Code::Malformed, "there is no scope '" + row.scope + "'");
  return auth::Access::needs(*scope);
}

// `/api/v1` is `api-v1`: what a label and a path segment may be.
std::string slug(std::string_view prefix) {
  std::string out;
  for (const char c : prefix.substr(1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain || c == '_' || c == '.' ? c : '-';
  }
  constexpr std::size_t kMost = 40;
  return out.empty() ? "root" : out.substr(0, kMost);
}

base::Error in_row(const RouteConfig& row, const base::Error& error) {
  return {Code::Malformed, "'" + row.prefix + "': " + error.message};
}

}  // namespace

bool Route::allows_origin(std::string_view origin) const noexcept {
  return kit::allows_origin(cors, origin);
}

std::string Route::allow() const {
  std::string out;
  for (const Method method : kMethods) {
    if (!allows(method)) continue;
    if (!out.empty()) out += ", ";
    out += http::method_name(method);
  }
  return out;
}

base::Result<RouteTable> RouteTable::make(const std::vector<RouteConfig>& rows) {
  RouteTable table;
  for (const RouteConfig& row : rows) {
    if (const base::Result<> added = table.add(row); !added) {
      return fail(in_row(row, added.error()));
    }
  }
  std::ranges::sort(table.routes_, std::ranges::greater{},
                    [](const Route& route) { return route.prefix.size(); });
  return table;
}

base::Result<> RouteTable::add(const RouteConfig& row) {
  if (!is_normal(row.prefix)) {
    return fail(Code::Malformed, "the prefix is not a plain path: begin it with /, end it without");
  }
  const auto same = [&row](const Route& other) { return other.prefix == row.prefix; };
  if (std::ranges::any_of(routes_, same)) return fail(Code::Malformed, "the prefix is there twice");
  const auto methods = parse_methods(row.methods);
  if (!methods) return fail(methods.error());
  const auto write = parse_scope(row);
  if (!write) return fail(write.error());
  const auto upstream = plan(row);
  if (!upstream) return fail(upstream.error());
  routes_.push_back({.prefix = row.prefix,
                     .upstream = *upstream,
                     .methods = *methods,
                     .write = *write,
                     .is_open = row.is_open,
                     .is_inline = row.is_inline,
                     .cost = static_cast<Cost>(row.cost),
                     .deadline = row.deadline,
                     .cors = row.cors});
  return {};
}

base::Result<std::size_t> RouteTable::plan(const RouteConfig& row) {
  const auto known = std::ranges::find(upstreams_, row.upstream, &UpstreamPlan::as_given);
  if (known != upstreams_.end()) return static_cast<std::size_t>(known - upstreams_.begin());
  UpstreamPlan plan;
  plan.as_given = row.upstream;
  for (const std::string& text : row.upstream) {
    if (text.starts_with(kInProcess)) {
      plan.service = text.substr(kInProcess.size());
      if (row.upstream.size() > 1) {
        return fail(Code::Malformed, "a service of this process stands alone: '" + text + "'");
      }
      continue;
    }
    auto address = http::UpstreamAddress::parse(text);
    if (!address) return fail(address.error());
    plan.members.push_back(std::move(*address));
  }
  plan.name = free_name(plan.members.empty() ? plan.service : slug(row.prefix));
  upstreams_.push_back(std::move(plan));
  return upstreams_.size() - 1;
}

std::string RouteTable::free_name(std::string wanted) const {
  std::string name = wanted;
  for (int n = 2; std::ranges::find(upstreams_, name, &UpstreamPlan::name) != upstreams_.end();
       ++n) {
    name = wanted + "-" + std::to_string(n);
  }
  return name;
}

const Route* RouteTable::find(std::string_view path) const noexcept {
  for (const Route& route : routes_) {
    if (covers(route.prefix, path)) return &route;
  }
  return nullptr;
}

}  // namespace ron::gateway
