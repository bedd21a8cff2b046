#include "sim/edge/plant.h"

#include <algorithm>
#include <array>
#include <utility>

#include "b3/hash.h"
#include "services/edge/routes.h"

namespace ron::sim {
namespace {

using http::Method;
using http::Response;
using platform::Task;

constexpr std::array kPlants = {
#define RON_X(name, text, what) PlantInfo{text, what},
    RON_SIM_EDGE_PLANTS(RON_X)
#undef RON_X
};

constexpr std::string_view kDirectory = "/careless";

std::string path_of(std::string_view tag) {
  std::string name(tag);
  std::ranges::replace(name, ':', '-');
  return std::string(kDirectory) + "/" + name;
}

// Of an answer with its lines as they are sent.
std::string tag_of(const Response& response) {
  const std::string lines = response.lines + std::string(response.prepared_lines);
  constexpr std::string_view kName = "ETag: \"";
  const std::size_t at = lines.find(kName);
  if (at == std::string::npos) return "";
  const std::size_t from = at + kName.size();
  return lines.substr(from, lines.find('"', from) - from);
}

}  // namespace

std::span<const PlantInfo> all_edge_plants() noexcept { return kPlants; }

std::optional<EdgePlant> edge_plant_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPlants, name, &PlantInfo::name);
  if (found == kPlants.end()) return std::nullopt;
  // The first is None.
  return static_cast<EdgePlant>(1 + (found - kPlants.begin()));
}

// Of routes that match alike the first one wins.
void PlantedRoutes::add(http::Router& router, edge::Core& core) {
  constexpr std::string_view kAssets = "/edge/assets/{host}/{path...}";
  meters_ = std::make_unique<runtime::Meters>("svc-edge");
  real_ = std::make_unique<http::Router>(*meters_);
  edge::add_asset_routes(*real_, core);
  edge::add_tile_routes(*real_, core);
  if (plant_ == EdgePlant::NoSingleFlight) {
    router.add({Method::Get, std::string(kAssets), auth::Access::read(),
                [this](http::Request* request) { return alone(request); }});
  }
  if (plant_ == EdgePlant::TornCopy) {
    router.add({Method::Get, std::string(kAssets), auth::Access::read(),
                [this](http::Request* request) { return careless(request); }});
  }
  if (plant_ == EdgePlant::OldTiles) {
    router.add({Method::Get, "/edge/tiles/{pack}/{z}/{x}/{y}", auth::Access::read(),
                [this](http::Request* request) { return from_memory(request); }});
  }
  edge::add_routes(router, core);
}

Task<Response> PlantedRoutes::call(http::Request* request) {
  const http::Router::Match match = real_->match(Method::Get, *request);
  return match.route->handler(request);
}

// Who wants nothing kept shares with nobody.
Task<Response> PlantedRoutes::alone(http::Request* request) {
  std::string text(request->head->method_text);
  text.append(" ").append(request->head->raw_target).append(" HTTP/1.1\r\n");
  for (const http::Field& field : request->head->fields()) {
    text.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  text += "Cache-Control: no-store\r\n\r\n";
  http::RequestHead head;
  http::parse_head(text, head);
  const http::RequestHead* const theirs = std::exchange(request->head, &head);
  Response response = co_await call(request);
  request->head = theirs;
  co_return response;
}

// Whatever is mounted by now.
Task<Response> PlantedRoutes::from_memory(http::Request* request) {
  Response response = co_await call(request);
  if (response.status != 200 || response.bytes().empty()) co_return response;
  const auto [first, is_new] =
      tiles_.emplace(std::string(request->path), std::string(base::as_text(response.bytes())));
  if (is_new) co_return response;
  response.prepared_lines = {};
  response.lines = "ETag: \"" + b3::hash(base::as_bytes(first->second)).text() + "\"\r\n";
  response.body = first->second;
  co_return response;
}

// What an earlier life wrote is taken for what it should be.
Task<Response> PlantedRoutes::careless(http::Request* request) {
  Response response = co_await call(request);
  std::string tag = tag_of(response);
  const base::ByteView bytes = response.bytes();
  if (response.status != 200 || bytes.empty()) co_return response;
  const auto known = copies_.find(tag);
  if (known == copies_.end()) {
    co_await write_down(std::move(tag), std::string(base::as_text(bytes)));
    co_return response;
  }
  if (known->second == life_) co_return response;
  auto read = co_await read_back(std::move(tag), bytes.size());
  if (read) response.body = std::move(*read);
  co_return response;
}

Task<void> PlantedRoutes::write_down(std::string tag, std::string bytes) {
  const base::Result<> made = co_await disk_.make_directory(std::string(kDirectory));
  if (!made) co_return;
  auto file = co_await disk_.open(path_of(tag),
                                  platform::OpenOptions{.mode = platform::OpenMode::CreateOrOpen});
  if (!file) co_return;
  base::Buffer piece(bytes.size());
  std::ranges::copy(base::as_bytes(bytes), piece.data());
  std::vector<base::Buffer> pieces;
  pieces.push_back(std::move(piece));
  const auto written = co_await (*file)->write_gather(0, std::move(pieces));
  const base::Result<> named = co_await disk_.sync_directory(std::string(kDirectory));
  if (written && named) copies_.emplace(std::move(tag), life_);
}

Task<std::optional<std::string>> PlantedRoutes::read_back(std::string tag, std::size_t length) {
  auto file = co_await disk_.open(path_of(tag), platform::OpenOptions{});
  if (!file) co_return std::nullopt;
  auto read = co_await (*file)->read_at(0, base::Buffer(length));
  if (!read) co_return std::nullopt;
  co_return std::string(base::as_text(read->view()));
}

}  // namespace ron::sim
