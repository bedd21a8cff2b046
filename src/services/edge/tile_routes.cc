#include <string>
#include <utility>

#include "b3/hash.h"
#include "base/json.h"
#include "http/accept.h"
#include "services/edge/lists.h"
#include "services/edge/pack_source.h"
#include "services/edge/routes.h"
#include "services/edge/tile.h"
#include "services/edge/tilejson.h"
#include "services/kit/handlers.h"

namespace ron::edge {
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

// `world` of `world.json`; nothing: it has another ending.
std::optional<std::string_view> without(std::string_view text, std::string_view ending) noexcept {
  if (!text.ends_with(ending)) return std::nullopt;
  return text.substr(0, text.size() - ending.size());
}

Response refuse_tile(Core& core, const Request& request, const base::Error& error) {
  core.packs().count(TileOutcome::Failed);
  if (error.code == Code::DecodedCap || error.code == Code::DecodedRatio) {
    core.rejects().count(Reject::DecompressCap);
  }
  return refuse(request, error);
}

Response no_tile(Core& core, const Request& request, MissingTile policy) {
  core.packs().count(TileOutcome::Missing);
  Response response = policy == MissingTile::NoContent
                          ? Response(204)
                          : refuse(request, {Code::NotFound, "the pack does not have this tile"});
  response.add("Cache-Control", kTileCaching);
  return response;
}

// Which of its forms the client wants; NotAcceptable: neither.
Result<TileForm> choose_form(const Request& request, const Mount& mount) {
  if (mount.coding == http::Coding::Identity) return TileForm::Stored;
  if (http::coding_weight(*request.head, mount.coding) > 0) return TileForm::Stored;
  if (http::coding_weight(*request.head, http::Coding::Identity) > 0) return TileForm::Decoded;
  return fail(Code::NotAcceptable, "the tile can be had as " +
                                       std::string(http::coding_name(mount.coding)) +
                                       " or without a coding");
}

base::Error wrong_extension(const Mount& mount) {
  const std::string right(pack::extension(mount.info().type));
  return {Code::NotFound, "the tiles of " + mount.order.name + " end in ." + right};
}

// One coroutine for all of it: every hit takes this way, and nothing of it waits.
Task<Response> get_tile(Core* core, Request* request) {
  const auto path = parse_tile_path(request->params[1], request->params[2], request->params[3]);
  if (!path) co_return refuse_tile(*core, *request, path.error());
  const PackTable& table = core->packs().here();
  const MountEntry* const entry = table.find(request->params[0]);
  if (entry == nullptr || !entry->mount) {
    co_return refuse_tile(*core, *request, table.mount_of(request->params[0]).error());
  }
  const Mount& mount = *entry->mount;
  if (!fits(mount.info().type, path->extension)) {
    co_return refuse_tile(*core, *request, wrong_extension(mount));
  }
  const auto form = choose_form(*request, mount);
  if (!form) co_return refuse_tile(*core, *request, form.error());
  const MissingTile policy = table.missing_of(mount);
  const bool is_in_zooms =
      path->at.z >= mount.info().min_zoom && path->at.z <= mount.info().max_zoom;
  if (!is_in_zooms) co_return no_tile(*core, *request, policy);
  const MemoryKey key = tile_key(mount, path->at, *form);
  if (const auto found = core->loader().find(key)) {
    if (found == mount.no_tile) co_return no_tile(*core, *request, policy);
    core->packs().count(TileOutcome::Hit);
    co_return kit::answer(*request, found);
  }
  // The table may be another after the wait: the order has what is needed of this one.
  TileOrder order{.mount = entry->mount,
                  .at = path->at,
                  .form = *form,
                  .limits = table.limits,
                  .arena = &core->send_arena()};
  const MountPtr pinned = order.mount;
  const auto loaded = co_await core->loader().load(
      key, [order = std::move(order)] { return load_tile(order); }, request->deadline);
  if (!loaded) co_return refuse_tile(*core, *request, loaded.error());
  if (*loaded == pinned->no_tile) co_return no_tile(*core, *request, policy);
  core->packs().count(TileOutcome::Loaded);
  co_return kit::answer(*request, *loaded);
}

std::string tiles_url(const PackTable& table, const Request& request, const Mount& mount) {
  std::string url = table.public_url.empty() ? origin_of(request) : table.public_url;
  url += "/edge/tiles/" + mount.order.name + "/{z}/{x}/{y}.";
  return url.append(pack::extension(mount.info().type));
}

// Another proxy in between may have another answer, and a pack may be replaced: nobody uses it
// without asking.
Task<Response> get_tilejson(Core* core, Request* request) {
  const auto name = without(request->params[0], ".json");
  if (!name) {
    co_return refuse(*request, {Code::NotFound, "ask for {pack}.json or {pack}/{z}/{x}/{y}"});
  }
  const PackTable& table = core->packs().here();
  const auto mount = table.mount_of(*name);
  if (!mount) co_return refuse(*request, mount.error());
  const std::string body = tilejson((*mount)->tilejson, tiles_url(table, *request, **mount));
  base::Buffer bytes(body.size());
  std::ranges::copy(base::as_bytes(body), bytes.data());
  std::string tag = b3::hash(bytes.view()).text();
  std::string lines = "ETag: \"" + tag +
                      "\"\r\nContent-Type: application/json\r\nCache-Control: no-cache\r\n"
                      "Accept-Ranges: bytes\r\n";
  if (table.public_url.empty()) lines += "Vary: X-Forwarded-Host, X-Forwarded-Proto\r\n";
  co_return kit::answer(
      *request, std::make_shared<const kit::Representation>(std::move(tag), std::move(lines),
                                                            std::move(bytes), core->send_arena()));
}

Task<Response> get_file(Core* core, Request* request) {
  const auto name = without(request->params[0], ".pmtiles");
  if (!name) co_return refuse(*request, {Code::NotFound, "ask for {pack}.pmtiles"});
  auto mount = core->packs().here().mount_of(*name);
  if (!mount) co_return refuse(*request, mount.error());
  if ((*mount)->info().format != pack::Format::Pmtiles) {
    co_return refuse(*request, {Code::NotFound, "the pack is no PMTiles file; ask for its tiles"});
  }
  co_return co_await send_file(std::move(*mount), request);
}

std::string_view state_of(const MountEntry& entry) noexcept {
  if (entry.mount) return entry.is_opening() ? "replacing" : "mounted";
  return entry.is_opening() ? "verifying" : "refused";
}

void write_info(base::JsonWriter& json, const pack::Info& info, const Mount& mount) {
  const bool is_pmtiles = info.format == pack::Format::Pmtiles;
  json.key("format").value(is_pmtiles ? "pmtiles" : "mbtiles");
  json.key("type").value(pack::extension(info.type));
  json.key("min_zoom").value(std::uint32_t{info.min_zoom});
  json.key("max_zoom").value(std::uint32_t{info.max_zoom});
  json.key("tiles").value(info.tiles).key("bytes").value(info.bytes);
  json.key("hash").value(mount.file_tag).key("generation").value(mount.generation);
}

Task<Response> list_packs(Core* core, Request*) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("packs").begin_array();
  for (const auto& [name, entry] : core->packs().here().packs) write_pack(json, name, entry);
  json.end_array().end_object();
  body += '\n';
  Response response = Response::json(200, std::move(body));
  response.add("Cache-Control", "no-cache");
  co_return response;
}

}  // namespace

void write_pack(base::JsonWriter& json, std::string_view pack_name, const MountEntry& entry) {
  json.begin_object().key("name").value(pack_name).key("state").value(state_of(entry));
  json.key("source").value(name(entry.order.source));
  if (entry.mount) write_info(json, entry.mount->info(), *entry.mount);
  if (!entry.error.empty()) {
    json.key("error").value(without_directory(entry.error, entry.order.path));
  }
  json.end_object();
}

void add_tile_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Get, "/edge/tiles/{pack}/{z}/{x}/{y}", Access::read(), get_tile)
      .add(Method::Get, "/edge/tiles/{pack}", Access::read(), get_tilejson)
      .add(Method::Get, "/edge/packs/{pack}", Access::read(), get_file)
      .list(kPackList, Access::read(), list_packs);
}

}  // namespace ron::edge
