// Packs: the packs that are mounted, under their names.
//
// What is mounted is one immutable table, swapped whole. The keeper (pack_keeper.h) changes it as
// the configuration and files change, and the mounter (pack_orders.h) as operators ask for. A pack
// is verified before it is mounted; one that is refused leaves the mount that is there as it is,
// and is listed with the reason.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "http/decode_guard.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/edge/mount.h"
#include "services/edge/parts.h"
#include "services/kit/core_copies.h"

namespace ron::edge {

// How a file becomes a pack.
using PackOpener = std::function<platform::Task<base::Result<pack::PackPtr>>(std::string path)>;

// A name and what is known of it.
struct MountEntry {
  MountOrder order;
  MountPtr mount{};                 // null: it is being verified for the first time, or was refused
  platform::FileVersion mounted{};  // its file as it was then
  platform::FileVersion tried{};    // the file as it was at the last try
  std::string error{};              // why that was refused; or what is wrong with the file now
  std::uint64_t opening = 0;        // which Packs::Opening has it; 0: it is not being verified

  [[nodiscard]] bool is_opening() const noexcept { return opening != 0; }
};

// All that the answer to a request for a tile depends on. Immutable.
struct PackTable {
  std::map<std::string, MountEntry, std::less<>> packs;
  MissingTile missing = MissingTile::NoContent;
  http::DecodeLimits limits;
  std::string public_url;

  // Null: there is no such pack.
  [[nodiscard]] const MountEntry* find(std::string_view name) const noexcept;
  // NotFound; Degraded when it is wanted and not there.
  [[nodiscard]] base::Result<MountPtr> mount_of(std::string_view name) const;
  [[nodiscard]] MissingTile missing_of(const Mount& mount) const noexcept {
    return mount.order.missing == MissingTile::Inherited ? missing : mount.order.missing;
  }
};
using PackTablePtr = std::shared_ptr<const PackTable>;

// In the order of metrics::kTileOutcomes.
enum class TileOutcome : std::uint8_t { Hit, Loaded, Missing, Failed };

// Made on cores[0]; read on any core. Changed on cores[0] only.
class Packs {
 public:
  // Under all names, whoever ordered them.
  static constexpr std::size_t kMost = 1024;
  // Of what is kept of all of them together, in memory.
  static constexpr std::uint64_t kMostIndexBytes = 2 * base::kGiB;

  // `opener` is for tests; none: pack::open.
  explicit Packs(EdgeParts parts, PackOpener opener = {});
  Packs(const Packs&) = delete;
  Packs& operator=(const Packs&) = delete;

  // At the start and after a reload.
  void apply(const EdgeConfig& config);

  // The table as this core sees it; valid until the caller waits. Costs one load of a counter.
  [[nodiscard]] const PackTable& here() { return tables_.here(); }
  // The same for whoever waits meanwhile.
  [[nodiscard]] PackTablePtr table() const { return tables_.get(); }

  // Opens a file and verifies all of it. Malformed with the reason; Canceled when a stop came
  // first. Cancel-safe.
  platform::Task<base::Result<pack::PackPtr>> verify(std::string path, runtime::Shutdown shutdown);
  // The name is shown as being verified while this lives, or until it is removed or another opens
  // it: what was verified is then not wanted any more.
  class [[nodiscard]] Opening {
   public:
    Opening(Packs& packs, MountOrder order);
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    ~Opening();

    [[nodiscard]] bool is_wanted() const;
    [[nodiscard]] const MountOrder& order() const noexcept { return order_; }

   private:
    Packs& packs_;
    const MountOrder order_;
    const std::uint64_t number_;
  };
  // Makes what verify() gave the pack of its name; answers that have begun keep the one before.
  // Quota when there is no room for what is kept of it, Canceled when it is not wanted any more.
  // Cancel-safe.
  platform::Task<base::Result<MountPtr>> mount(const Opening* opening, pack::PackPtr verified,
                                               platform::FileVersion version, Operator by);
  // What is mounted is what is wanted: perhaps with other options, and nothing is wrong with it.
  void confirm(const MountOrder& order);

  // It was not mounted. What is mounted under the name stays; a name that has nothing is kept with
  // the reason, or forgotten. The same of the same file is not told again.
  enum class Refused : std::uint8_t { Kept, Forgotten };
  void refuse(const MountOrder& order, platform::FileVersion version, const base::Error& why,
              Refused refused, const Operator& by);
  void unmount(const std::string& name, std::string why, const Operator& by);

  // What the configuration wants and is not there, for readiness. Any core.
  [[nodiscard]] std::vector<std::string> missing() const;
  // False until everything that was wanted at the start has been tried.
  [[nodiscard]] bool is_settled() const noexcept { return settled_.load(); }
  void settle() noexcept { settled_.store(true); }
  [[nodiscard]] std::size_t mounted() const;
  // Any core.
  void count(TileOutcome outcome) noexcept { outcomes_[static_cast<std::size_t>(outcome)]->add(); }

 private:
  [[nodiscard]] base::Result<> check_room(const std::string& name, const pack::Info& info) const;
  void publish(PackTable next);
  void tell(EventKind kind, const std::string& name, std::string detail, const Operator& by,
            std::uint64_t bytes = 0);

  EdgeParts parts_;
  PackOpener opener_;
  kit::CoreCopies<PackTable> tables_;
  std::uint64_t last_opening_ = 0;
  std::atomic<bool> settled_ = false;
  std::array<runtime::Counter*, metrics::kTileOutcomes.size()> outcomes_;
};

}  // namespace ron::edge
