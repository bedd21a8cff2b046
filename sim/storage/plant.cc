#include "sim/storage/plant.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "platform/wait.h"
#include "runtime/permit.h"
#include "services/storage/routes.h"

namespace ron::sim {
namespace {

using base::Code;
using base::ObjectId;
using platform::Task;
using runtime::Deadline;
using storage::Call;
using storage::NewBytes;
using storage::ObjectPtr;
using storage::Stored;

constexpr std::array kPlants = {
#define RON_X(name, text, what) PlantInfo{text, what},
    RON_SIM_PLANTS(RON_X)
#undef RON_X
};

// Does everything right; the mistakes below override one thing each.
class Relay : public storage::ObjectStore {
 public:
  explicit Relay(storage::ObjectStore& api) : api_(api) {}

  ObjectPtr cached(const ObjectId& id) const override { return api_.cached(id); }
  Task<base::Result<storage::LocatedObject>> locate(ObjectId id, Deadline deadline) override {
    return api_.locate(id, deadline);
  }
  bool loads_whole(std::uint64_t length) const override { return api_.loads_whole(length); }
  Task<base::Result<ObjectPtr>> load(storage::LocatedObject found, Deadline deadline) override {
    return api_.load(std::move(found), deadline);
  }
  Task<base::Result<volume::Piece>> read(storage::LocatedObject found,
                                         storage::ReadRequest wish) override {
    return api_.read(std::move(found), wish);
  }
  std::uint64_t chunk_bytes() const override { return api_.chunk_bytes(); }
  base::Duration piece_timeout() const override { return api_.piece_timeout(); }
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    return api_.put(std::move(wish), deadline);
  }
  base::Result<void> check_room() override { return api_.check_room(); }
  Task<base::Result<void>> remove(volume::Removal removal, Call call) override {
    return api_.remove(std::move(removal), std::move(call));
  }
  Task<base::Result<volume::Upload>> begin_upload(storage::NewUpload wish,
                                                  Deadline deadline) override {
    return api_.begin_upload(std::move(wish), deadline);
  }
  Task<base::Result<storage::OpenUpload>> open_upload(volume::UploadId id, std::string tenant,
                                                      Deadline deadline) override {
    return api_.open_upload(id, std::move(tenant), deadline);
  }
  Task<base::Result<volume::UploadState>> upload_state(volume::UploadId id, std::string tenant,
                                                       Deadline deadline) override {
    return api_.upload_state(id, std::move(tenant), deadline);
  }
  Task<base::Result<b3::ChainingValue>> put_part(storage::OpenUpload open, std::uint64_t part,
                                                 base::Buffer bytes, Deadline deadline) override {
    return api_.put_part(std::move(open), part, std::move(bytes), deadline);
  }
  Task<base::Result<Stored>> commit_upload(volume::UploadId id, std::string tenant,
                                           Call call) override {
    return api_.commit_upload(id, std::move(tenant), std::move(call));
  }
  Task<base::Result<void>> abort_upload(volume::UploadId id, std::string tenant,
                                        Deadline deadline) override {
    return api_.abort_upload(id, std::move(tenant), deadline);
  }

 protected:
  storage::ObjectStore& api_;
};

class AckEarly final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    const Stored promised{b3::hash(wish.bytes.view()), wish.bytes.size(), true};
    const std::optional<ObjectId> expected = wish.expected;
    auto stored = co_await api_.put(std::move(wish), deadline);
    const bool late = !stored && stored.error().code == Code::Timeout;
    if (late && (!expected || *expected == promised.id)) co_return promised;
    co_return stored;
  }
};

class ShortKey final : public Relay {
 public:
  using Relay::Relay;
  ObjectPtr cached(const ObjectId& id) const override {
    ObjectPtr found = api_.cached(id);
    if (!found) return found;
    ObjectPtr& remembered = last_[id.hash() % last_.size()];
    if (!remembered) remembered = std::move(found);
    return remembered;
  }

 private:
  mutable std::array<ObjectPtr, 16> last_;
};

// Whatever was in memory once stays there.
class StaleCache final : public Relay {
 public:
  using Relay::Relay;
  ObjectPtr cached(const ObjectId& id) const override {
    ObjectPtr found = api_.cached(id);
    ObjectPtr& kept = kept_[id];
    if (found) kept = std::move(found);
    return kept;
  }
  Task<base::Result<ObjectPtr>> load(storage::LocatedObject found, Deadline deadline) override {
    const ObjectId id = found.id();
    auto loaded = co_await api_.load(std::move(found), deadline);
    if (loaded) kept_[id] = *loaded;
    co_return loaded;
  }

 private:
  mutable std::map<ObjectId, ObjectPtr> kept_;
};

// As many puts at once as there will ever be; of those that fail none leaves.
class PermitLeak final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    runtime::Limit::Permit permit = places_.try_acquire();
    if (!permit) {
      co_return base::fail(base::Error(Code::Busy, "the work queue is full").with("queue", "work"));
    }
    auto stored = co_await api_.put(std::move(wish), deadline);
    if (!stored) lost_.push_back(std::move(permit));
    co_return stored;
  }

 private:
  runtime::Limit places_{24};
  std::vector<runtime::Limit::Permit> lost_;
};

class HastyDeadline final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    const platform::TimePoint now = platform::Executor::current()->now();
    return api_.put(std::move(wish), Deadline(now + (deadline.at() - now) / 2));
  }
};

class KeepsAnyway final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    const std::vector<volume::Removal> doomed = std::exchange(doomed_, {});
    for (const volume::Removal& removal : doomed) {
      const auto removed = co_await api_.remove(removal, deadline);
      static_cast<void>(removed);
    }
    co_return co_await api_.put(std::move(wish), deadline);
  }
  Task<base::Result<void>> remove(volume::Removal removal, Call call) override {
    const auto found = co_await api_.locate(removal.id, call.deadline);
    if (!found) co_return base::fail(found.error());
    doomed_.push_back(std::move(removal));
    co_return base::Result<void>();
  }

 private:
  std::vector<volume::Removal> doomed_;
};

class ForeignHolds final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<void>> remove(volume::Removal removal, Call call) override {
    removal.tenant.reset();
    return api_.remove(std::move(removal), std::move(call));
  }
};

// Lets one put at a time through. The turn of one that gave up waiting is given to it all the same.
class LostWakeup final : public Relay {
 public:
  using Relay::Relay;
  Task<base::Result<Stored>> put(NewBytes wish, Deadline deadline) override {
    if (busy_) {
      platform::Parker parker;
      const Place place(*this, parker);
      const bool in_time = co_await parker.park(deadline.at());
      if (!in_time) co_return base::fail(Code::Timeout, "it was not this put's turn in time");
    }
    busy_ = true;
    auto stored = co_await api_.put(std::move(wish), deadline);
    pass_on();
    co_return stored;
  }

 private:
  struct Ticket {
    platform::Waiter* waiter;
  };
  class Place {
   public:
    Place(LostWakeup& owner, platform::Parker& parker)
        : waiter_(parker), ticket_(std::make_shared<Ticket>(&waiter_)) {
      owner.queue_.push_back(ticket_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      ticket_->waiter = nullptr;
      waiter_.take_back();
    }

   private:
    platform::Waiter waiter_;
    std::shared_ptr<Ticket> ticket_;
  };

  void pass_on() {
    busy_ = !queue_.empty();
    if (queue_.empty()) return;
    const std::shared_ptr<Ticket> next = std::move(queue_.front());
    queue_.pop_front();
    if (next->waiter != nullptr) next->waiter->wake();
  }

  bool busy_ = false;
  std::deque<std::shared_ptr<Ticket>> queue_;
};

std::unique_ptr<storage::ObjectStore> make_faulty(Plant plant, storage::ObjectStore& api) {
  switch (plant) {
    case Plant::AckEarly:
      return std::make_unique<AckEarly>(api);
    case Plant::ShortKey:
      return std::make_unique<ShortKey>(api);
    case Plant::LostWakeup:
      return std::make_unique<LostWakeup>(api);
    case Plant::HastyDeadline:
      return std::make_unique<HastyDeadline>(api);
    case Plant::KeepsAnyway:
      return std::make_unique<KeepsAnyway>(api);
    case Plant::ForeignHolds:
      return std::make_unique<ForeignHolds>(api);
    case Plant::StaleCache:
      return std::make_unique<StaleCache>(api);
    case Plant::PermitLeak:
      return std::make_unique<PermitLeak>(api);
    case Plant::None:
    case Plant::SharedBuffer:
    case Plant::SkipSync:  // see FaultyDisk
      break;
  }
  return std::make_unique<Relay>(api);
}

}  // namespace

// Answers whole objects piece by piece, all from one buffer.
class Planted::Mangler {
 public:
  explicit Mangler(storage::ObjectStore& api) : meters_("planted"), routes_(meters_) {
    storage::add_routes(routes_, api);
  }
  Task<http::Response> get(http::Request* request) {
    const http::Router::Match match = routes_.match(http::Method::Get, *request);
    http::Response response = co_await match.route->handler(request);
    const base::ByteView bytes = response.bytes();
    if (response.status != 200 || bytes.size() <= buffer_.size()) co_return response;
    response.body = http::SizedBody{std::make_unique<Source>(buffer_, bytes), bytes.size()};
    co_return response;
  }

 private:
  using Shared = std::array<std::byte, 2048>;
  class Source final : public http::BodySource {
   public:
    Source(Shared& buffer, base::ByteView bytes) : buffer_(buffer), left_(bytes) {}
    Task<base::Result<base::ByteView>> next() override {
      const base::ByteView piece = left_.first(std::min(left_.size(), buffer_.size()));
      left_ = left_.subspan(piece.size());
      std::ranges::copy(piece, buffer_.begin());
      co_return base::ByteView(buffer_).first(piece.size());
    }

   private:
    Shared& buffer_;
    base::ByteView left_;
  };

  runtime::Meters meters_;
  http::Router routes_;
  Shared buffer_{};
};

std::span<const PlantInfo> all_plants() noexcept { return kPlants; }

std::optional<Plant> plant_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPlants, name, &PlantInfo::name);
  if (found == kPlants.end()) return std::nullopt;
  // The first is None.
  return static_cast<Plant>(1 + (found - kPlants.begin()));
}

Planted::Planted(Plant plant, http::Router& router, storage::ObjectStore& api)
    : faulty_(make_faulty(plant, api)) {
  if (plant == Plant::SharedBuffer) {
    mangler_ = std::make_unique<Mangler>(api);
    // Comes before the right one, which is then never asked.
    router.add({.method = http::Method::Get,
                .pattern = "/o/{addr}",
                .access = auth::Access::read(),
                .handler = [this](http::Request* request) { return mangler_->get(request); }});
  }
  storage::add_routes(router, *faulty_);
}

Planted::~Planted() = default;

}  // namespace ron::sim
