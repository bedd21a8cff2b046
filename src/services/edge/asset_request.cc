#include "services/edge/asset_request.h"

#include <optional>
#include <utility>

#include "http/field_list.h"
#include "http/freshness.h"
#include "services/edge/egress.h"

namespace ron::edge {
namespace {

using base::Result;

// `/edge/assets/` of the path as it was sent: its segments are those of the decoded one, which was
// matched, because no escape stands for a slash.
constexpr int kSlashesBeforeHost = 3;
constexpr std::string_view kScheme = "https://";

// All lines of a field, as one (RFC 9110, 5.3).
std::string joined(const http::FieldTable& head, http::KnownField field) {
  std::string all;
  head.for_each(field, [&](std::string_view line) {
    if (!all.empty()) all += ", ";
    all += line;
  });
  return all;
}
std::string joined(const http::FieldTable& head, std::string_view name) {
  std::string all;
  for (const http::Field& field : head.fields()) {
    if (!http::iequals(field.name, name)) continue;
    if (!all.empty()) all += ", ";
    all += field.value;
  }
  return all;
}

struct HostAndTarget {
  std::string_view host_port;
  std::string_view target;
};

// `host[:port]/path?query`.
std::optional<HostAndTarget> split(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t query = text.find('?');
  if (slash == std::string_view::npos || query < slash) return std::nullopt;
  return HostAndTarget{text.substr(0, slash), text.substr(slash)};
}

}  // namespace

Result<AssetRequest> read_asset_request(const http::Request& request) {
  std::string_view rest = request.head->target;
  for (int i = 0; i < kSlashesBeforeHost; ++i) {
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  const auto parts = split(rest);
  if (!parts) return base::fail(base::Code::Malformed, "the path is /edge/assets/HOST/PATH");
  Result<OriginUrl> origin = parse_origin(parts->host_port, parts->target);
  if (!origin) return base::fail(std::move(origin.error()));
  AssetRequest wanted;
  wanted.url = origin->text();
  wanted.host_port = origin->authority();
  wanted.target = std::move(origin->target);
  wanted.preferences = {joined(*request.head, http::KnownField::Accept),
                        joined(*request.head, "Accept-Language")};
  wanted.control = http::request_cache_control(*request.head);
  return wanted;
}

Result<OriginUrl> parse_url(std::string_view url) {
  const auto parts = url.starts_with(kScheme) ? split(url.substr(kScheme.size())) : std::nullopt;
  if (!parts) return base::fail(base::Code::Malformed, "the URL is https://HOST/PATH");
  return parse_origin(parts->host_port, parts->target);
}

FetchRequest fetch_request(const AssetRequest& wanted, const http::Request& request) {
  return {.host_port = wanted.host_port,
          .target = wanted.target,
          .accept = wanted.preferences.accept,
          .accept_language = wanted.preferences.accept_language,
          .token = request.token,
          .corr_id = request.corr_id,
          .waits_until = request.deadline};
}

}  // namespace ron::edge
