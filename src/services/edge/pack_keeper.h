// PackKeeper: has mounted what is wanted: what the configuration names, what was added, and what is
// in packs_dir; follows their files as they change.
//
// Verifying a pack may take minutes, in which operators and reloads go on: what is wanted is asked
// for anew after every wait, and what is not wanted any more is not mounted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "platform/disk.h"
#include "platform/executor.h"
#include "platform/random.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/edge/pack_orders.h"
#include "services/edge/packs.h"
#include "services/edge/parts.h"

namespace ron::edge {

// cores[0] only. The rest outlives it.
class PackKeeper {
 public:
  PackKeeper(EdgeParts parts, Packs& packs, const PackOrders& orders)
      : parts_(std::move(parts)),
        packs_(packs),
        orders_(orders),
        jitter_(parts_.host.random.next()) {}
  PackKeeper(const PackKeeper&) = delete;
  PackKeeper& operator=(const PackKeeper&) = delete;

  // Until stopped: looks now, every two seconds and when the configuration has changed.
  // Cancel-safe.
  platform::Task<void> keep(runtime::Shutdown shutdown);

 private:
  using Orders = std::map<std::string, MountOrder>;
  // A file as it was at a look.
  struct Seen {
    std::string path;
    platform::FileVersion version;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  // When what failed, and not because of the file, is tried again.
  struct Retry {
    std::uint32_t failures = 0;
    platform::TimePoint due{};
  };

  platform::Task<void> look(runtime::Shutdown shutdown);
  // None: the directory cannot be read.
  platform::Task<std::optional<Orders>> in_directory(std::string directory);
  // As of now. A name that several want belongs to the configuration, then to what was added.
  [[nodiscard]] Orders all_wanted() const;
  [[nodiscard]] std::optional<MountOrder> wanted(const std::string& name) const;
  platform::Task<void> follow(std::string name, runtime::Shutdown shutdown);
  platform::Task<void> open(MountOrder order, platform::FileVersion version,
                            runtime::Shutdown shutdown);
  void let_go(const Orders& wanted, bool is_directory_known);
  // What was refused is tried again, though its file is the same.
  [[nodiscard]] bool is_due(const std::string& name) const;
  bool is_being_written(const MountOrder& order, const platform::FileVersion& version);
  void refuse(const MountOrder& order, const platform::FileVersion& version,
              const base::Error& why);
  void complain(std::string trouble);

  EdgeParts parts_;
  Packs& packs_;
  const PackOrders& orders_;
  Orders in_directory_;  // what packs_dir had at this look
  // Files as they were at the last look, by the pack's name, if they are not mounted like that.
  std::map<std::string, Seen> coming_;
  std::map<std::string, Retry> retries_;  // by the pack's name
  platform::FastRandom jitter_;
  std::string trouble_;  // what was said last of the directory
};

}  // namespace ron::edge
