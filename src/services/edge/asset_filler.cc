#include "services/edge/asset_filler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Result;
using platform::Task;

base::Error too_large(const MemoryTier& memory) {
  return base::Error(Code::Amnesia, "amnesia mode: the answer does not fit into memory")
      .with("ram_bytes", std::to_string(memory.capacity()));
}

// A body that stays in memory, or does not fit.
class MemorySink final : public BodySink {
 public:
  explicit MemorySink(const MemoryTier& memory) : memory_(memory) {}

  Task<Result<>> begin(const Fetched* head) override {
    bytes_ = {};
    const std::uint64_t expected = head->length.value_or(0);
    if (!fits(expected)) co_return base::fail(too_large(memory_));
    bytes_ = base::Buffer(expected);
    bytes_.resize(0);
    co_return Result<>();
  }
  Task<Result<>> write(base::ByteView piece) override {
    const std::size_t at = bytes_.size();
    const std::size_t wanted = at + piece.size();
    if (!fits(wanted)) co_return base::fail(too_large(memory_));
    if (wanted > bytes_.capacity()) {
      base::Buffer larger(std::max(wanted, 2 * bytes_.capacity()));
      if (at != 0) std::memcpy(larger.data(), bytes_.data(), at);
      bytes_ = std::move(larger);
    }
    bytes_.resize(wanted);
    std::memcpy(bytes_.data() + at, piece.data(), piece.size());
    co_return Result<>();
  }
  base::Buffer take() { return std::move(bytes_); }

 private:
  [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept {
    return bytes <= base::limits::kDecodedBytes && memory_.admits(bytes);
  }
  const MemoryTier& memory_;
  base::Buffer bytes_;
};

kit::RepresentationPtr representation(const Asset& asset, base::Buffer bytes,
                                      platform::SendArena& arena) {
  return std::make_shared<const kit::Representation>(asset.tag, asset.lines, std::move(bytes),
                                                     arena);
}

std::shared_ptr<Filled> begin_filled(const FillOrder& order) {
  auto filled = std::make_shared<Filled>();
  filled->order = order.id;
  filled->asked = order.wanted.preferences;
  return filled;
}

// What came of an order that the origin, or what took its answer, failed.
Result<FilledPtr> failed(const FillOrder& order, base::Error error) {
  if (came_before_asking(error)) return base::fail(std::move(error));
  auto filled = begin_filled(order);
  filled->error = std::move(error);
  return filled;
}

}  // namespace

// All tries of an origin and the waits between them.
base::Duration AssetFiller::patience() const {
  const FillConfig& fill = parts_.settings->get()->fill;
  return (fill.timeout + fill.max + fill.base) * static_cast<std::int64_t>(fill.max_tries);
}

Task<Result<FilledPtr>> AssetFiller::fill(FillOrder order) {
  if (order.copy && !order.copy->is_negative()) order.fetch.validators = order.copy->validators();
  return store_ != nullptr ? fill_to_disk(std::move(order)) : fill_to_memory(std::move(order));
}

Task<Result<FilledPtr>> AssetFiller::fill_to_disk(FillOrder order) {
  for (;;) {
    const std::uint64_t purges = table_.purges();
    auto place = co_await store_->place(runtime::Deadline::in(patience()));
    if (!place) co_return base::fail(std::move(place.error()));
    std::string hold = store_->new_hold(parts_.loader->new_generation());
    AssetWriter writer(*store_, std::move(*place), hold, order.may_keep);
    auto fetched =
        co_await parts_.origins->get(order.fetch, &writer, runtime::Deadline::in(patience()));
    if (!fetched) {
      if (writer.refused()) parts_.rejects->count(Reject::BodyCap);
      co_return failed(order, std::move(fetched.error()));
    }
    if (fetched->status == 200) {
      auto taken = co_await take_body(&order, &*fetched, &writer, std::move(hold), purges);
      if (!taken) co_return failed(order, std::move(taken.error()));
      co_return taken;
    }
    if (fetched->status == 304 && !table_.has(*order.copy)) {
      // It was evicted or purged meanwhile, and its bytes with it.
      order.copy = nullptr;
      order.fetch.validators = {};
      continue;
    }
    std::optional<UrlTable::LetGo> gone;
    auto filled = take_word(order, *fetched, purges, gone);
    if (gone) writer.keep(filled->asset, std::move(*gone));
    co_return FilledPtr(std::move(filled));
  }
}

Task<Result<FilledPtr>> AssetFiller::take_body(const FillOrder* order, Fetched* fetched,
                                               AssetWriter* writer, std::string hold,
                                               std::uint64_t purges) {
  const bool may_keep =
      order->may_keep &&
      may_be_kept(fetched->status, fetched->fields, {fetched->requested_ms, fetched->received_ms});
  auto body = co_await writer->finish(may_keep);
  if (!body) co_return base::fail(std::move(body.error()));
  auto filled = begin_filled(*order);
  filled->asset = make_asset(*order, *fetched, *body, body->is_stored ? std::move(hold) : "");
  if (body->length > base::limits::kDecodedBytes) {
    auto object = co_await store_->locate(body->address);
    if (!object) co_return base::fail(std::move(object.error()));
    filled->object = std::move(*object);
  } else {
    filled->body = representation(*filled->asset, std::move(body->bytes), parts_.host.send_arena);
  }
  if (!may_keep) co_return filled;
  auto gone = remember(*filled, purges);
  if (gone) writer->keep(filled->asset, std::move(*gone));
  co_return filled;
}

std::optional<UrlTable::LetGo> AssetFiller::remember(const Filled& filled, std::uint64_t purges) {
  MemoryTier& memory = parts_.loader->memory();
  const MemoryKey key = memory_key(*filled.asset);
  // First its bytes: whoever finds it in the table looks for them at once.
  const bool is_in_memory = filled.body && memory.insert(key, filled.body, memory.ticket(key));
  // What the disk did not take is in memory only, or nowhere.
  if (!is_in_memory && filled.asset->facts.hold.empty()) return std::nullopt;
  auto gone = table_.put_unless_purged(filled.asset, purges);
  if (!gone && is_in_memory) memory.erase(key);
  return gone;
}

AssetPtr AssetFiller::make_asset(const FillOrder& order, Fetched& fetched,
                                 const AssetWriter::Body& body, std::string hold) {
  AssetFacts facts{.url = order.wanted.url,
                   .preferences = order.wanted.preferences,
                   .status = fetched.status,
                   .fields = std::move(fetched.fields),
                   .times = {fetched.requested_ms, fetched.received_ms},
                   .address = body.address,
                   .length = body.length,
                   .final_url = fetched.final_url == order.wanted.url ? "" : fetched.final_url,
                   .hold = std::move(hold)};
  return std::make_shared<const Asset>(std::move(facts), parts_.loader->new_generation(),
                                       parts_.settings->get()->cache.negative_ttl);
}

std::shared_ptr<Filled> AssetFiller::take_word(const FillOrder& order, Fetched& fetched,
                                               std::uint64_t purges,
                                               std::optional<UrlTable::LetGo>& gone) {
  auto filled = begin_filled(order);
  if (fetched.status != 304) {
    filled->asset = make_asset(order, fetched, {}, "");
    if (!order.may_keep) return filled;
    if (filled->asset->is_of_use()) gone = table_.put_unless_purged(filled->asset, purges);
    // A copy that a request with the same fields got is gone. Other requests keep theirs.
    const bool had_it = order.copy && !order.copy->is_negative() &&
                        order.copy->facts.preferences == order.wanted.preferences;
    if (had_it && table_.erase(*order.copy)) {
      if (!gone) gone.emplace();
      gone->push_back(order.copy);
    }
    return filled;
  }
  AssetFacts facts = order.copy->facts;
  facts.preferences = order.wanted.preferences;  // it may vary by more than it did
  freshen(facts.fields, fetched.fields);
  facts.times = {fetched.requested_ms, fetched.received_ms};
  fetched.restraints.apply(facts.status, facts.fields, facts.times);
  MemoryTier& memory = parts_.loader->memory();
  auto asset = std::make_shared<Asset>(std::move(facts), order.copy->serial, base::Duration{});
  if (asset->lines != order.copy->lines) {
    // What is in memory has the old lines. With new ones it is another representation.
    asset->serial = parts_.loader->new_generation();
    const kit::RepresentationPtr old = memory.find(memory_key(*order.copy));
    if (old) {
      base::Buffer bytes(old->bytes().size());
      if (!old->bytes().empty()) {
        std::memcpy(bytes.data(), old->bytes().data(), old->bytes().size());
      }
      filled->body = representation(*asset, std::move(bytes), parts_.host.send_arena);
      memory.insert(memory_key(*asset), filled->body, memory.ticket(memory_key(*asset)));
    }
  }
  filled->asset = std::move(asset);
  filled->is_revalidated = true;
  if (!filled->asset->may_be_shared) {
    // What may not be kept any more is not kept as it was, either.
    if (table_.erase(*order.copy)) gone.emplace({order.copy});
  } else if (order.may_keep) {
    // Of what varies by something else now the table would take it for another variant.
    const bool moves = filled->asset->vary != order.copy->vary && table_.erase(*order.copy);
    gone = table_.put_unless_purged(filled->asset, purges);
    if (!gone && moves) gone.emplace({order.copy});
  }
  return filled;
}

Task<Result<FilledPtr>> AssetFiller::fill_to_memory(FillOrder order) {
  const std::uint64_t purges = table_.purges();
  MemoryTier& memory = parts_.loader->memory();
  MemorySink sink(memory);
  auto fetched =
      co_await parts_.origins->get(order.fetch, &sink, runtime::Deadline::in(patience()));
  if (!fetched) co_return failed(order, std::move(fetched.error()));
  if (fetched->status != 200) {
    std::optional<UrlTable::LetGo> gone;  // nothing of it is on disk
    co_return FilledPtr(take_word(order, *fetched, purges, gone));
  }
  AssetWriter::Body body;
  body.bytes = sink.take();
  body.address = b3::hash(body.bytes.view());
  body.length = body.bytes.size();
  auto filled = begin_filled(order);
  filled->asset = make_asset(order, *fetched, body, "");
  filled->body = representation(*filled->asset, std::move(body.bytes), parts_.host.send_arena);
  const bool keeps = order.may_keep && filled->asset->may_be_shared;
  if (keeps && !memory.admits(filled->body->footprint())) {
    co_return failed(order, too_large(memory));
  }
  if (keeps) static_cast<void>(remember(*filled, purges));  // nothing that leaves is on disk
  co_return filled;
}

}  // namespace ron::edge
