#include "services/edge/asset_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "runtime/background.h"
#include "services/edge/asset_request.h"
#include "services/edge/egress.h"
#include "services/edge/wires.h"
#include "volume/files.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

constexpr base::Duration kReadTime = 5s;
constexpr base::Duration kRemoveTime = 30s;
constexpr base::Duration kOpenTime = 1min;
// What is written becomes durable within this time; a purge at once.
constexpr base::Duration kFlushEvery = 5s;
constexpr base::Duration kSweepAgainIn = 1s;
constexpr std::size_t kMostChanges = 256;  // at once
constexpr std::size_t kPage = 512;
constexpr std::size_t kSweepPage = 128;
constexpr std::size_t kMostHolders = 1024;
constexpr std::uint64_t kStreamBytes = 256 * base::kKiB;
constexpr std::uint64_t kMapCacheBytes = 4 * base::kMiB;
// The cache leaves the disk to others when it is nearly full.
constexpr std::uint64_t kMinFreeBytes = 256 * base::kMiB;
// Dead bytes are freed segment by segment: small ones bound how many there are.
constexpr std::uint64_t kSegmentsOfCache = 16;
constexpr std::uint64_t kMinSegmentBytes = 8 * base::kMiB;
constexpr std::uint64_t kMaxSegmentBytes = 256 * base::kMiB;

// A cache lets go all the time, and what it may take on disk is bounded.
constexpr base::Duration kCompactEvery = 500ms;
constexpr base::Duration kLookForRoomEvery = 50ms;

volume::Options options_of(const std::string& directory, const EdgeConfig& config) {
  volume::Options options;
  options.directory = directory + "/objects";
  options.segment_bytes = AssetStore::segment_bytes(config);
  options.compact_every = kCompactEvery;
  options.fingerprint_bytes = AssetStore::kFingerprintBytes;
  options.part_table_bytes = AssetStore::kPartTableBytes;
  options.tuning.min_free_bytes = kMinFreeBytes;
  return options;
}

std::string hex_of(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[(number >> shift) & 15];
  }
  return text;
}

// Earlier versions kept an asset under each spelling of its URL. A purge would not find it there.
bool is_canonical(std::string_view url) {
  const Result<OriginUrl> parsed = parse_url(url);
  return parsed && parsed->text() == url;
}

// The pieces of a body on disk. Holds one. The store outlives it.
class StreamSource final : public http::BodySource {
 public:
  StreamSource(volume::DiskVolume& volume, volume::ObjectHandle object, std::uint64_t offset,
               std::uint64_t length)
      : volume_(volume), object_(std::move(object)), offset_(offset), left_(length) {}

  // Cancel-safe.
  Task<Result<>> read() {
    const std::uint64_t wanted = std::min(left_, kStreamBytes - offset_ % kStreamBytes);
    auto piece = co_await volume_.read(object_, offset_, wanted, runtime::Deadline::in(kReadTime));
    if (!piece) co_return base::fail(std::move(piece.error()));
    piece_ = std::move(*piece);
    offset_ += piece_.bytes.size();
    left_ -= piece_.bytes.size();
    has_piece_ = true;
    co_return Result<>();
  }
  Task<Result<base::ByteView>> next() override {
    if (!has_piece_) {
      piece_ = {};
      if (left_ == 0) co_return base::ByteView();
      const Result<> done = co_await read();
      if (!done) co_return base::fail(done.error());
    }
    has_piece_ = false;
    platform::Executor::current()->spend(piece_.bytes.size());
    co_return piece_.bytes;
  }

 private:
  volume::DiskVolume& volume_;
  volume::ObjectHandle object_;
  std::uint64_t offset_;
  std::uint64_t left_;
  volume::Piece piece_;
  bool has_piece_ = false;
};

}  // namespace

AssetStore::AssetStore(const EdgeParts& parts, UrlTable& table)
    : host_(parts.host),
      log_(parts.log),
      directory_(parts.directory),
      table_(table),
      settings_(parts.settings),
      generations_(parts.loader),
      life_(hex_of(parts.host.random.next())),
      volume_(parts.host, *parts.topology, kCommit, kCommit.capacity, kVolumeLock,
              options_of(parts.directory, *parts.settings->get()), {},
              [log = parts.log](std::string_view text) {
                log.warn("trouble with the cache on disk", {{"what", text}});
              }),
      places_(kEvictions.capacity),
      changes_(*parts.topology, kEvictions, kEvictions.capacity) {}

AssetStore::~AssetStore() = default;

std::uint64_t AssetStore::segment_bytes(const EdgeConfig& config) noexcept {
  return std::clamp(config.cache.bytes.bytes / kSegmentsOfCache, kMinSegmentBytes,
                    kMaxSegmentBytes);
}

bool AssetStore::has_room() const {
  const SettingsPtr config = settings_->get();
  return volume_.stats().stored_bytes <
         kStoredPerKept * config->cache.bytes.bytes + kSegmentsBeyond * segment_bytes(*config);
}

Task<bool> AssetStore::wait_for_room(runtime::Deadline deadline) {
  while (!has_room()) {
    if (deadline.passed()) co_return false;
    co_await runtime::sleep_for(kLookForRoomEvery);
  }
  co_return true;
}

std::string AssetStore::new_hold(std::uint64_t serial) const { return life_ + hex_of(serial); }

Task<Result<>> AssetStore::open() {
  Result<> done = co_await volume::make_directories(&host_.disk, directory_, "objects");
  if (done) done = co_await volume_.open();
  if (done) done = co_await open_map();
  if (done) done = co_await load_entries();
  if (!done) {
    base::Error error = done.error();
    error.message = directory_ + ": " + error.message;
    co_return base::fail(std::move(error));
  }
  co_return done;
}

// One that is damaged is made anew: what it knew is filled again.
Task<Result<>> AssetStore::open_map() {
  const std::string path = directory_ + "/entries";
  auto map = co_await host_.key_values.open(path, {.cache_bytes = kMapCacheBytes});
  if (!map && map.error().code == Code::IntegrityFail) {
    log_.warn("what was remembered of the cache is damaged; it begins anew", {{"path", path}});
    const Result<> gone = co_await host_.key_values.destroy(path);
    if (!gone) co_return gone;
    map = co_await host_.key_values.open(path, {.cache_bytes = kMapCacheBytes});
  }
  if (!map) co_return base::fail(std::move(map.error()));
  map_ = std::move(*map);
  co_return Result<>();
}

Task<Result<>> AssetStore::load_entries() {
  const base::Duration negative_for = settings_->get()->cache.negative_ttl;
  std::string from;
  for (;;) {
    auto page = co_await map_->scan(from, "", kPage);
    if (!page && page.error().code == Code::IntegrityFail) co_return Result<>();
    if (!page) co_return base::fail(std::move(page.error()));
    for (auto& [hold, text] : *page) {
      auto facts = decode_facts(text);
      if (!facts || facts->hold != hold || !is_canonical(facts->url)) {
        unread_.push_back(hold);  // swept, with what it held
        continue;
      }
      remembered_.emplace(hold, facts->address);
      auto asset = std::make_shared<const Asset>(std::move(*facts), generations_->new_generation(),
                                                 negative_for);
      auto gone = table_.put(std::move(asset));
      std::ranges::move(gone, std::back_inserter(unwanted_));
    }
    if (page->size() < kPage) co_return Result<>();
    from = page->back().first + '\0';
  }
}

Task<Result<runtime::Semaphore::Permit>> AssetStore::place(runtime::Deadline deadline) {
  runtime::Semaphore::Permit permit = places_.try_acquire();
  if (!permit) permit = co_await places_.acquire(deadline);
  if (!permit) co_return base::fail(Code::StorageBusy, "the cache on disk does not keep up");
  co_return permit;
}

// There are as many places as the channel has, so it is never full.
void AssetStore::submit(Change change) {
  const auto sent = changes_.try_send(std::move(change));
  static_cast<void>(sent);
}

Task<Result<volume::ObjectHandle>> AssetStore::locate(base::ObjectId address) {
  return volume_.locate(address, runtime::Deadline::in(kReadTime));
}

Task<Result<base::Buffer>> AssetStore::load(base::ObjectId address) {
  auto object = co_await locate(address);
  if (!object) co_return base::fail(std::move(object.error()));
  base::Buffer whole(object->length);
  for (std::uint64_t offset = 0; offset < object->length;) {
    if (runtime::turn_is_over()) co_await platform::Yield();
    const std::uint64_t wanted = std::min(object->length - offset, volume::kPartBytes);
    const auto piece =
        co_await volume_.read(*object, offset, wanted, runtime::Deadline::in(kReadTime));
    if (!piece) co_return base::fail(piece.error());
    std::memcpy(whole.data() + offset, piece->bytes.data(), piece->bytes.size());
    offset += piece->bytes.size();
    platform::Executor::current()->spend(piece->bytes.size());
  }
  co_return whole;
}

Task<Result<std::unique_ptr<http::BodySource>>> AssetStore::stream(volume::ObjectHandle object,
                                                                   std::uint64_t offset,
                                                                   std::uint64_t length) {
  auto source = std::make_unique<StreamSource>(volume_, std::move(object), offset, length);
  const Result<> read = co_await source->read();
  if (!read) co_return base::fail(read.error());
  co_return std::unique_ptr<http::BodySource>(std::move(source));
}

Task<AssetStore::Next> AssetStore::next_change(runtime::Shutdown shutdown, runtime::Deadline wake) {
  using Received = std::expected<Change, runtime::Waited>;
  runtime::Background<Received> receiving(changes_.recv(wake));
  if (!receiving.done()) {
    const runtime::Waited waited =
        co_await runtime::wait_for(receiving.finished(), runtime::Deadline(), std::move(shutdown));
    if (waited == runtime::Waited::Stopped) {
      co_return Next{.change = changes_.try_recv(), .stops = true};
    }
  }
  Received received = receiving.take();
  if (!received) co_return Next{};
  co_return Next{.change = std::move(*received)};
}

AssetStore::Next AssetStore::next_now(const runtime::Shutdown& shutdown) {
  return {.change = changes_.try_recv(), .stops = shutdown.requested()};
}

Task<void> AssetStore::janitor(runtime::Shutdown shutdown) {
  runtime::Deadline flush_at = runtime::Deadline::in(kFlushEvery);
  runtime::Deadline sweep_at = runtime::Deadline::in(0s);
  for (;;) {
    Swept swept = Swept::NotNow;
    if (!is_swept_ && sweep_at.passed()) {
      swept = co_await sweep(shutdown);
      is_swept_ = swept == Swept::Everything;
      if (swept == Swept::NotNow) sweep_at = runtime::Deadline::in(kSweepAgainIn);
    }
    Next next;
    if (swept == Swept::Some) {
      next = next_now(shutdown);
    } else {
      next = co_await next_change(shutdown, is_swept_ ? flush_at : flush_at.sooner(sweep_at));
    }
    std::vector<Change> changes;
    while (next.change) {
      changes.push_back(std::move(*next.change));
      next.change = changes.size() < kMostChanges ? changes_.try_recv() : std::nullopt;
    }
    const bool is_over = next.stops && changes.empty();
    if (!changes.empty()) co_await apply(std::move(changes));
    if (is_over || flush_at.passed()) {
      if (is_dirty_) co_await flush();
      flush_at = runtime::Deadline::in(kFlushEvery);
    }
    if (is_over) co_return;
  }
}

// First the map forgets, then the bytes go: the other way round an entry could outlive its bytes by
// a crash, which costs a look-up, too. Either is right.
Task<void> AssetStore::apply(std::vector<Change> changes) {
  platform::KeyValueBatch batch;
  std::vector<HeldBytes> unwanted;
  bool wants_flush = false;
  for (Change& change : changes) {
    // What left the table before it came here is, or will be, among those that are gone.
    if (change.kept && table_.has(*change.kept) && !change.kept->facts.hold.empty()) {
      batch.put(change.kept->facts.hold, encode(change.kept->facts));
    }
    for (const AssetPtr& asset : change.gone) {
      if (asset->facts.hold.empty()) continue;
      batch.erase(asset->facts.hold);
      unwanted.push_back({asset->facts.address, asset->facts.hold});
    }
    std::ranges::move(change.leftovers, std::back_inserter(unwanted));
    wants_flush = wants_flush || change.durable;
  }
  if (!batch.empty()) {
    const Result<> written = co_await map_->write(std::move(batch));
    if (!written) log_.warn("the cache cannot be noted", {{"what", written.error().message}});
    is_dirty_ = true;
  }
  if (wants_flush) co_await flush();
  for (Change& change : changes) {
    if (change.durable) std::move(*change.durable).send(!is_dirty_);
    if (change.upload) co_await end_upload(std::move(*change.upload));
  }
  co_await remove(std::move(unwanted));
}

// Whoever was aborted while it committed does not know whether it has.
Task<void> AssetStore::end_upload(LeftUpload upload) {
  auto [sender, receiver] = runtime::oneshot<Result<bool>>();
  co_await volume_.abort_upload(upload.id, runtime::Deadline::in(kRemoveTime), std::move(sender));
  const auto ended = co_await receiver.recv(runtime::Deadline::in(kRemoveTime));
  if (ended && *ended) co_return;
  const auto found = co_await volume_.find_upload(upload.id, runtime::Deadline::in(kReadTime));
  if (!found || !found->committed) co_return;
  std::vector<HeldBytes> committed = {{*found->committed, std::move(upload.hold)}};
  co_await remove(std::move(committed));
}

Task<void> AssetStore::flush() {
  const Result<> flushed = co_await map_->flush();
  if (flushed) is_dirty_ = false;
  if (!flushed) log_.warn("the cache cannot be noted", {{"what", flushed.error().message}});
}

// All of them are on their way before the first is waited for: one sync serves many.
Task<void> AssetStore::remove(std::vector<HeldBytes> all) {
  std::vector<runtime::OneshotReceiver<Result<volume::Removed>>> replies;
  replies.reserve(all.size());
  for (HeldBytes& held : all) {
    auto [sender, receiver] = runtime::oneshot<Result<volume::Removed>>();
    replies.push_back(std::move(receiver));
    co_await volume_.remove({held.address, std::move(held.hold)},
                            runtime::Deadline::in(kRemoveTime), std::move(sender));
  }
  for (auto& reply : replies) {
    const auto removed = co_await reply.recv(runtime::Deadline::in(kRemoveTime));
    const bool is_gone = removed && (*removed || removed->error().code == Code::NotFound);
    if (!is_gone) log_.debug("bytes of the cache stay until the next start", {});
  }
}

// One sync serves a page of bytes that nobody wants.
Task<AssetStore::Swept> AssetStore::sweep(runtime::Shutdown shutdown) {
  const bool any = co_await sweep_entries();
  if (any) co_return Swept::Some;
  auto page = co_await volume_.list(swept_, kSweepPage, runtime::Deadline::in(kOpenTime));
  if (!page) co_return Swept::NotNow;
  std::vector<HeldBytes> unwanted;
  std::optional<base::ObjectId> last = swept_;
  bool is_whole = true;
  for (const volume::Volume::Listed& listed : *page) {
    if (shutdown.requested()) co_return Swept::Some;
    if (runtime::turn_is_over()) co_await platform::Yield();
    const Result<> seen = co_await look_at(listed.id, &unwanted);
    is_whole = seen.has_value();
    if (!is_whole) break;
    last = listed.id;
  }
  co_await remove(std::move(unwanted));
  swept_ = last;
  if (!is_whole) co_return Swept::NotNow;
  if (page->size() == kSweepPage) co_return Swept::Some;
  remembered_ = {};
  co_return Swept::Everything;
}

// A page of what the map should not have. False: there is nothing.
Task<bool> AssetStore::sweep_entries() {
  if (unwanted_.empty() && unread_.empty()) co_return false;
  platform::KeyValueBatch batch;
  for (std::size_t i = 0; i < kSweepPage && !unread_.empty(); ++i) {
    batch.erase(unread_.back());
    unread_.pop_back();
  }
  if (!batch.empty()) {
    const Result<> erased = co_await map_->write(std::move(batch));
    if (!erased) log_.warn("the cache cannot be noted", {{"what", erased.error().message}});
    is_dirty_ = true;
  }
  std::vector<Change> changes(1);
  while (changes[0].gone.size() < kSweepPage && !unwanted_.empty()) {
    changes[0].gone.push_back(std::move(unwanted_.back()));
    unwanted_.pop_back();
  }
  co_await apply(std::move(changes));
  co_return true;
}

Task<Result<>> AssetStore::look_at(base::ObjectId id, std::vector<HeldBytes>* unwanted) {
  auto holders = co_await volume_.holders(id, kMostHolders, runtime::Deadline::in(kReadTime));
  if (!holders) {
    const Code code = holders.error().code;
    const bool is_over = code == Code::NotFound || code == Code::IntegrityFail;
    if (is_over) co_return Result<>();
    co_return base::fail(std::move(holders.error()));
  }
  for (std::string& hold : holders->tenants) {
    const auto known = remembered_.find(hold);
    // A part of a body that was being written has the hold of what it became.
    const bool is_wanted =
        hold.starts_with(life_) || (known != remembered_.end() && known->second == id);
    if (!is_wanted) unwanted->push_back({id, std::move(hold)});
  }
  co_return Result<>();
}

}  // namespace ron::edge
