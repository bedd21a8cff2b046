// The same log as C2SP tlog-tiles: the latest signed checkpoint, tiles of hashes, bundles of
// entries.
#include <string>
#include <utility>

#include "chain/tile_path.h"
#include "services/kit/handlers.h"
#include "services/registry/list_bounds.h"
#include "services/registry/routes.h"

namespace ron::registry {
namespace {

using auth::Access;
using base::Code;
using base::fail;
using base::Result;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

Task<Response> get_checkpoint(Core* core, Request* request) {
  const CheckpointPtr latest = core->checkpoints().latest();
  if (!latest) co_return refuse(*request, {Code::NotFound, "no checkpoint was signed yet"});
  Response response = Response::text(200, latest->note, "text/plain; charset=utf-8");
  response.add("Cache-Control", "no-cache");
  co_return response;
}

Task<Result<std::string>> read_hashes(Core* core, chain::Tile tile) {
  const auto hashes = co_await core->tree().read_tile(tile);
  if (!hashes) co_return fail(hashes.error());
  std::string bytes;
  bytes.reserve(hashes->size() * sizeof(chain::TreeHash));
  for (const chain::TreeHash& hash : *hashes) bytes.append(base::as_text(hash));
  co_return bytes;
}

Task<Result<std::string>> read_entries(Core* core, chain::Tile tile) {
  std::string bytes;
  for (std::uint64_t done = 0; done < tile.width;) {
    const auto found = co_await core->versions(tile.first() + done, tile.width - done);
    if (!found) co_return fail(found.error());
    for (const StoredVersion& version : *found) {
      if (version.bytes.size() > bounds::kBundleEntryBytes) {
        co_return fail(Code::NotFound, "version " + std::to_string(version.head.version) +
                                           " is too large for a bundle; ask for it by itself");
      }
      bytes.push_back(static_cast<char>(version.bytes.size() >> 8U));
      bytes.push_back(static_cast<char>(version.bytes.size()));
      bytes.append(version.bytes);
    }
    done += found->size();
    co_await platform::Yield();
  }
  co_return bytes;
}

Task<Response> get_tile(Core* core, Request* request) {
  const auto tile = chain::parse_tile_path("tile/" + std::string(request->params[0]));
  if (!tile) co_return refuse(*request, tile.error());
  Result<std::string> bytes = std::string();
  if (tile->level) {
    bytes = co_await read_hashes(core, *tile);
  } else {
    bytes = co_await read_entries(core, *tile);
  }
  if (!bytes) co_return refuse(*request, bytes.error());
  Response response = Response::text(200, std::move(*bytes), "application/octet-stream");
  response.add("Cache-Control", "public, max-age=31536000, immutable");
  co_return response;
}

}  // namespace

void add_tlog_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Get, "/registry/tlog/checkpoint", Access::read(), get_checkpoint)
      .add(Method::Get, "/registry/tlog/tile/{tile...}", Access::read(), get_tile);
}

}  // namespace ron::registry
