#include "services/edge/assets.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "http/freshness.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Result;
using http::CopyUse;
using http::Response;
using kit::refuse;
using platform::Task;

// How often a request may find that what it waited for is not its own.
constexpr int kMostFills = 4;

constexpr std::array<std::string_view, metrics::kCacheResults.size()> kXCache = {
    "X-Cache: hit\r\n", "X-Cache: miss\r\n", "X-Cache: stale\r\n", "X-Cache: revalidated\r\n",
    "X-Cache: hit\r\n"};

UrlTable::Bounds bounds_of(const EdgeConfig& config) {
  return {config.cache.bytes.bytes, config.cache.entries};
}

// An origin that fails, is late or cannot be asked for want of room; not one that breaks a rule.
bool is_outage(Code code) noexcept {
  return code == Code::UpstreamFail || code == Code::Timeout || code == Code::Busy ||
         code == Code::StorageBusy || code == Code::Degraded || code == Code::Canceled ||
         code == Code::Draining;
}

// The bytes of a copy are not there, or not those they were. Whatever else a disk says may be over
// in a moment.
bool is_lost(Code code) noexcept { return code == Code::NotFound || code == Code::IntegrityFail; }

// There is more to do than can be done: an origin that is asked instead makes it no less.
bool is_overload(Code code) noexcept {
  return code == Code::Busy || code == Code::Timeout || code == Code::Draining;
}

bool is_large(const Asset& asset) noexcept {
  return asset.facts.length > base::limits::kDecodedBytes;
}

// Whoever has the same key waits for the same fill. Who comes after a purge waits for none of
// before.
std::string flight_key(const AssetRequest& wanted, VaryMask vary, std::uint64_t purges,
                       std::uint64_t alone) {
  std::string key = wanted.url + "\np " + std::to_string(purges);
  if (alone != 0) return key + "\n#" + std::to_string(alone);
  const Preferences chosen = vary.of(wanted.preferences);
  if (vary.accept) key.append("\na ").append(chosen.accept);
  if (vary.accept_language) key.append("\nl ").append(chosen.accept_language);
  return key;
}

}  // namespace

Assets::Assets(EdgeParts parts)
    : parts_(std::move(parts)),
      table_(bounds_of(*parts_.settings->get()),
             &parts_.topology->meters().counter(metrics::kEvictions)),
      store_(parts_.directory.empty() ? nullptr : std::make_unique<AssetStore>(parts_, table_)),
      filler_(parts_, table_, store_.get()) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i] =
        &parts_.topology->meters().counter(metrics::kCacheRequests, {metrics::kCacheResults[i]});
  }
}

Task<Result<>> Assets::open() {
  if (!store_) co_return Result<>();
  co_return co_await store_->open();
}

void Assets::apply(const EdgeConfig& config) {
  table_.set_bounds(bounds_of(config));
  if (!store_) return;
  // Without a place the next fill makes the room.
  Change change;
  change.place = store_->try_place();
  if (!change.place) return;
  change.gone = table_.trim();
  if (!change.gone.empty()) store_->submit(std::move(change));
}

Task<Response> Assets::get(http::Request* request) {
  Result<AssetRequest> wanted = read_asset_request(*request);
  if (!wanted) co_return refuse(*request, wanted.error());
  const Result<> allowed = parts_.origins->check(fetch_request(*wanted, *request));
  if (!allowed) co_return refuse(*request, allowed.error());
  UrlTable::Found found = table_.find(wanted->url, wanted->preferences);
  Visit visit{.request = request,
              .wanted = std::move(*wanted),
              .settings = parts_.settings->get(),
              .vary = found.vary,
              .copy = std::move(found.asset)};
  const http::RequestCacheControl& control = visit.wanted.control;
  if (visit.copy) {
    const CopyUse use = http::decide(visit.copy->freshness, control, parts_.host.clock.unix_ms());
    if (use != CopyUse::Revalidate) {
      const CacheResult result = use == CopyUse::Fresh ? CacheResult::Hit : CacheResult::Stale;
      auto answered = co_await from_copy(&visit, visit.copy, result);
      if (answered) co_return std::move(*answered);
      const Code code = answered.error().code;
      // What is large passes through the disk, which is what failed.
      const bool is_final = is_overload(code) || control.only_if_cached ||
                            visit.settings->mode == Mode::Offline || is_large(*visit.copy);
      if (!is_lost(code) && is_final) co_return refuse(*request, answered.error());
      note_unusable(visit, code);
    }
  }
  if (control.only_if_cached) {
    co_return refuse(*request, {Code::Timeout, "only-if-cached, and nothing here may be used"});
  }
  if (visit.settings->mode == Mode::Offline) {
    co_return co_await after_error(
        &visit, base::Error(Code::NotAllowed, "edge.mode is offline, and this is not here")
                    .with("reason", "offline"));
  }
  co_return co_await fill(&visit);
}

Task<Result<Response>> Assets::from_copy(Visit* visit, AssetPtr asset, CacheResult result) {
  if (asset->is_negative()) co_return absent(*visit, *asset, CacheResult::Negative);
  kit::RepresentationPtr found = parts_.loader->find(memory_key(*asset));
  if (!found && asset->facts.hold.empty()) {
    // It was in memory only.
    forget(*asset);
    co_return base::fail(Code::NotFound, "it is not in memory any more");
  }
  if (!found && is_large(*asset)) {
    auto object = co_await store_->locate(asset->facts.address);
    if (object) co_return co_await stream(visit, std::move(asset), std::move(*object), result);
    if (is_lost(object.error().code)) forget(*asset);
    co_return base::fail(std::move(object.error()));
  }
  if (!found) {
    auto loaded = co_await load(asset, visit->request->deadline);
    if (!loaded) {
      if (is_lost(loaded.error().code)) forget(*asset);
      co_return base::fail(std::move(loaded.error()));
    }
    found = std::move(*loaded);
  }
  Response response = kit::answer(*visit->request, found);
  finish(response, *asset, result);
  co_return response;
}

// A loader that dies takes its loads along: it is asked for once more.
Task<Result<kit::RepresentationPtr>> Assets::load(AssetPtr asset, runtime::Deadline deadline) {
  bool was_cancelled = false;
  for (;;) {
    auto loaded = co_await parts_.loader->load(
        memory_key(*asset), [this, asset] { return read(asset); }, deadline);
    const bool again =
        !loaded && loaded.error().code == Code::Canceled && !std::exchange(was_cancelled, true);
    if (!again) co_return loaded;
  }
}

Task<Result<kit::RepresentationPtr>> Assets::read(AssetPtr asset) {
  auto bytes = co_await store_->load(asset->facts.address);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  co_return std::make_shared<const kit::Representation>(asset->tag, asset->lines, std::move(*bytes),
                                                        parts_.host.send_arena);
}

Task<Result<Response>> Assets::stream(Visit* visit, AssetPtr asset, volume::ObjectHandle object,
                                      CacheResult result) {
  const http::Request& request = *visit->request;
  const std::uint64_t length = asset->facts.length;
  const http::Selection selection =
      http::select(*request.head, http::EntityTag{asset->tag, false}, length);
  Response response = kit::head_for(request, selection, length);
  if (kit::describes_it(selection)) {
    response.prepared_lines = asset->lines;
    response.owner = asset;
  }
  if (selection.selects()) {
    std::unique_ptr<http::BodySource> source;
    if (request.head->method != http::Method::Head) {
      auto opened = co_await store_->stream(std::move(object), selection.offset, selection.length);
      if (!opened) {
        if (is_lost(opened.error().code)) forget(*asset);
        co_return base::fail(std::move(opened.error()));
      }
      source = std::move(*opened);
    }
    response.body = http::SizedBody{std::move(source), selection.length};
  }
  finish(response, *asset, result);
  co_return response;
}

Task<Response> Assets::fill(Visit* visit) {
  // What is not here cannot be checked, only had again.
  const bool is_here = visit->copy && (!visit->copy->facts.hold.empty() ||
                                       parts_.loader->memory().find(memory_key(*visit->copy)));
  if (!is_here) visit->copy = nullptr;
  visit->alone = visit->wanted.control.no_store;
  bool was_cancelled = false;
  for (int i = 0; i < kMostFills; ++i) {
    const std::uint64_t order = orders_.fetch_add(1, std::memory_order_relaxed);
    auto filled = co_await fill_once(visit, order);
    if (!filled) {
      // A worker that dies takes its fills along: it is asked for once more.
      const bool again =
          filled.error().code == Code::Canceled && !std::exchange(was_cancelled, true);
      if (again) continue;
      co_return co_await after_error(visit, std::move(filled.error()));
    }
    const bool is_own = (*filled)->order == order;
    if (!is_own && !may_share(*visit, **filled)) {
      auto answered = co_await from_new_copy(visit);
      if (answered) co_return std::move(*answered);
      continue;
    }
    if ((*filled)->error) co_return co_await after_error(visit, *(*filled)->error);
    const bool is_revalidated = (*filled)->is_revalidated;
    auto answered = co_await from_fill(visit, std::move(*filled));
    if (answered) co_return std::move(*answered);
    const Code code = answered.error().code;
    // An origin says that the copy is right, and the disk does not give it: then it says it all, if
    // that is small.
    const bool is_tried = visit->is_unreadable || (visit->copy && is_large(*visit->copy));
    const bool again = is_lost(code) || (is_revalidated && !is_tried);
    if (is_overload(code) || !again) co_return refuse(*visit->request, answered.error());
    note_unusable(*visit, code);
  }
  co_return refuse(*visit->request,
                   {Code::Busy, "the origin's answers were for other requests only"});
}

bool Assets::may_share(Visit& visit, const Filled& filled) {
  if (!filled.error && !filled.asset->may_be_shared) {
    visit.alone = true;
    return false;
  }
  if (filled.fits(visit.wanted.preferences)) return true;
  const bool is_success = !filled.error && !filled.asset->is_negative();
  visit.vary = visit.vary | (is_success ? filled.asset->vary : VaryMask::all());
  // An old copy of this request stays one, whatever another request was refused.
  if (is_success) visit.copy = nullptr;
  return false;
}

Task<std::optional<Response>> Assets::from_new_copy(Visit* visit) {
  AssetPtr found = table_.find(visit->wanted.url, visit->wanted.preferences).asset;
  const bool is_usable = found && !visit->alone &&
                         http::decide(found->freshness, visit->wanted.control,
                                      parts_.host.clock.unix_ms()) == CopyUse::Fresh;
  if (!is_usable) co_return std::nullopt;
  auto answered = co_await from_copy(visit, std::move(found), CacheResult::Hit);
  if (!answered) co_return std::nullopt;
  co_return std::move(*answered);
}

Task<Result<FilledPtr>> Assets::fill_once(Visit* visit, std::uint64_t id) {
  FillOrder order{.id = id,
                  .wanted = visit->wanted,
                  .fetch = fetch_request(visit->wanted, *visit->request),
                  .copy = visit->is_unreadable ? nullptr : visit->copy,
                  .may_keep = !visit->wanted.control.no_store && !visit->is_unreadable};
  std::string key = flight_key(visit->wanted, visit->vary, table_.purges(), visit->alone ? id : 0);
  return parts_.loader->fill(
      std::move(key),
      [this, order = std::move(order)]() mutable { return filler_.fill(std::move(order)); },
      visit->request->deadline);
}

Task<Result<Response>> Assets::from_fill(Visit* visit, FilledPtr filled) {
  const CacheResult result = filled->is_revalidated ? CacheResult::Revalidated : CacheResult::Miss;
  if (filled->body) {
    Response response = kit::answer(*visit->request, filled->body);
    finish(response, *filled->asset, result);
    co_return response;
  }
  if (filled->object.length != 0) {
    co_return co_await stream(visit, filled->asset, filled->object, result);
  }
  if (filled->asset->is_negative()) co_return absent(*visit, *filled->asset, result);
  co_return co_await from_copy(visit, filled->asset, result);
}

Response Assets::absent(const Visit& visit, const Asset& asset, CacheResult result) {
  Response response = refuse(*visit.request, {Code::NotFound, "the origin does not have it"});
  finish(response, asset, result);
  return response;
}

void Assets::note_unusable(Visit& visit, Code why) {
  if (is_lost(why)) {
    visit.copy = nullptr;
  } else {
    visit.is_unreadable = true;
  }
}

bool Assets::may_serve_on_error(const Visit& visit) const {
  return visit.copy && !visit.copy->is_negative() &&
         http::may_serve_on_error(visit.copy->freshness, visit.wanted.control,
                                  visit.settings->cache.stale_if_error,
                                  parts_.host.clock.unix_ms());
}

Task<Response> Assets::after_error(Visit* visit, base::Error error) {
  const bool is_offline = visit->settings->mode == Mode::Offline;
  if ((is_offline || is_outage(error.code)) && may_serve_on_error(*visit)) {
    auto answered = co_await from_copy(visit, visit->copy, CacheResult::Stale);
    if (answered) co_return std::move(*answered);
    const Code code = answered.error().code;
    const bool is_why = is_overload(code) || (is_offline && !is_lost(code));
    if (is_why) co_return refuse(*visit->request, answered.error());
  }
  if (error.code == Code::Amnesia) parts_.rejects->count(Reject::Amnesia);
  if (is_offline) parts_.rejects->count(Reject::NotAllowed);  // no fetcher was asked, who counts
  co_return refuse(*visit->request, error);
}

void Assets::finish(Response& response, const Asset& asset, CacheResult result) {
  const auto at = static_cast<std::size_t>(result);
  results_[at]->add();
  std::array<char, 16> text{};
  const std::uint32_t age = http::current_age_s(asset.freshness, parts_.host.clock.unix_ms());
  const auto end = std::to_chars(text.begin(), text.end(), age).ptr;
  response.lines.append("Age: ").append(text.data(), end).append("\r\n").append(kXCache[at]);
}

// Its bytes are gone or damaged, so it is worth nothing. If there is no place, the entry stays on
// disk until the next start finds it out again.
void Assets::forget(const Asset& asset) {
  if (!table_.erase(asset) || !store_) return;
  Change change;
  change.place = store_->try_place();
  if (!change.place) return;
  change.gone.push_back(std::make_shared<const Asset>(asset));
  store_->submit(std::move(change));
}

Task<Result<std::uint64_t>> Assets::purge(std::function<bool(const Asset&)> is_one,
                                          runtime::Deadline deadline) {
  if (!store_) {
    const UrlTable::LetGo gone = table_.purge(is_one);
    for (const AssetPtr& asset : gone) parts_.loader->memory().erase(memory_key(*asset));
    co_return gone.size();
  }
  auto place = co_await store_->place(deadline);
  if (!place) co_return base::fail(std::move(place.error()));
  Change change;
  change.place = std::move(*place);
  auto [sender, receiver] = runtime::oneshot<bool>();
  change.durable.emplace(std::move(sender));
  change.gone = table_.purge(is_one);
  const std::uint64_t purged = change.gone.size();
  for (const AssetPtr& asset : change.gone) parts_.loader->memory().erase(memory_key(*asset));
  store_->submit(std::move(change));
  const auto durable = co_await receiver.recv(deadline);
  if (!durable || !*durable) {
    co_return base::fail(Code::StorageBusy, "it is purged, but the disk has not noted it");
  }
  co_return purged;
}

}  // namespace ron::edge
