#include "sim/edge/watched_origins.h"

#include <algorithm>
#include <utility>

namespace ron::sim {
namespace {

using base::Result;
using edge::BodySink;
using edge::Fetched;
using edge::FetchRequest;

// Remembers the head of a body; perhaps takes a second try for more of the first.
class PlantedSink final : public BodySink {
 public:
  PlantedSink(BodySink& sink, bool joins_tries) : sink_(sink), joins_tries_(joins_tries) {}

  Task<Result<>> begin(const Fetched* head) override {
    const bool is_again = std::exchange(begun_, true);
    head_ = *head;
    if (is_again && joins_tries_) co_return Result<>();
    // How long it will be it does not say, since it will be another.
    if (joins_tries_) head_.length.reset();
    co_return co_await sink_.begin(&head_);
  }
  Task<Result<>> write(base::ByteView piece) override {
    written_ += piece.size();
    return sink_.write(piece);
  }
  // Nothing: no body has begun.
  [[nodiscard]] std::optional<Fetched> as_if_whole() const {
    if (!begun_ || written_ == 0) return std::nullopt;
    Fetched head = head_;
    head.length = written_;
    return head;
  }

 private:
  BodySink& sink_;
  const bool joins_tries_;
  bool begun_ = false;
  std::uint64_t written_ = 0;
  Fetched head_;
};

void say_to_caches(Fetched& fetched, const std::string& what) {
  for (auto& [name, value] : fetched.fields) {
    if (name == "Cache-Control") value = what;
  }
}

}  // namespace

class WatchedOrigins::Watch {
 public:
  Watch(WatchedOrigins& origins, const FetchRequest& request) : origins_(origins) {
    const std::string key = request.host_port + request.target;
    const bool is_shared = origins.shares_(request) && !origins.has_failed_lately(key);
    Fill fill{.key = key, .is_shared = is_shared};
    const auto is_same = [&](const Fill& other) { return other.is_shared && other.key == key; };
    if (is_shared && std::ranges::any_of(origins.running_, is_same)) {
      fill.overlaps_since = origins.scene_.world.now();
    }
    ++origins.fills_;
    self_ = origins.running_.insert(origins.running_.end(), std::move(fill));
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  // Whoever came after this one is alone now, if nobody else is there.
  ~Watch() {
    const std::string key = self_->key;
    origins_.running_.erase(self_);
    const auto is_same = [&](const Fill& other) { return other.is_shared && other.key == key; };
    if (std::ranges::count_if(origins_.running_, is_same) != 1) return;
    std::ranges::find_if(origins_.running_, is_same)->overlaps_since = platform::kNever;
  }

 private:
  WatchedOrigins& origins_;
  std::list<Fill>::iterator self_;
};

bool WatchedOrigins::has_failed_lately(const std::string& key) const {
  const auto found = failed_.find(key);
  return found != failed_.end() && scene_.world.now() <= found->second + scene_.longest_deadline;
}

std::optional<std::string> WatchedOrigins::look() const {
  const TimePoint now = scene_.world.now();
  for (const Fill& fill : running_) {
    const bool overlaps =
        fill.overlaps_since != platform::kNever && now > fill.overlaps_since + scene_.plan.moment();
    if (overlaps) return "two fills of " + fill.key + " at once";
  }
  return std::nullopt;
}

Task<Result<Fetched>> WatchedOrigins::get(FetchRequest request, BodySink* sink,
                                          runtime::Deadline deadline) {
  const Watch watch(*this, request);
  const std::string key = request.host_port + request.target;
  Result<Fetched> fetched = co_await get_planted(std::move(request), sink, deadline);
  const bool is_given = fetched && (fetched->status == 200 || fetched->status == 304);
  if (!is_given) failed_[key] = scene_.world.now();
  co_return fetched;
}

Task<Result<Fetched>> WatchedOrigins::get_planted(FetchRequest request, BodySink* sink,
                                                  runtime::Deadline deadline) {
  if (plant_ == EdgePlant::AlwaysSame && request.validators.any()) {
    Fetched same;
    same.status = 304;
    same.requested_ms = same.received_ms = scene_.world.unix_ms();
    co_return same;
  }
  PlantedSink planted(*sink, plant_ == EdgePlant::JoinTries);
  Result<Fetched> fetched = co_await fetcher_->get(std::move(request), &planted, deadline);
  if (!fetched && plant_ == EdgePlant::PartialBody) {
    const auto part = planted.as_if_whole();
    if (part) co_return *part;
  }
  if (fetched && plant_ == EdgePlant::FreshForever) {
    const std::string_view said = edge::find_field(fetched->fields, "Cache-Control");
    if (said.starts_with("max-age")) say_to_caches(*fetched, "max-age=1000");
  }
  if (fetched && plant_ == EdgePlant::SharePrivate) {
    const std::string_view said = edge::find_field(fetched->fields, "Cache-Control");
    if (said.starts_with("no-store") || said.starts_with("private")) {
      say_to_caches(*fetched, "max-age=1000");
    }
  }
  co_return fetched;
}

}  // namespace ron::sim
