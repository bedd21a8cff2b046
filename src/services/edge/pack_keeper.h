// PackKeeper: has mounted what is wanted: what the configuration names, what was added, and what is
// in packs_dir; follows their files as they change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/disk.h"
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
      : parts_(std::move(parts)), packs_(packs), orders_(orders) {}
  PackKeeper(const PackKeeper&) = delete;
  PackKeeper& operator=(const PackKeeper&) = delete;

  // Until stopped: looks now, every two seconds and when the configuration has changed.
  // Cancel-safe.
  platform::Task<void> keep(runtime::Shutdown shutdown);

 private:
  using Orders = std::vector<MountOrder>;

  platform::Task<void> look(SettingsPtr config, runtime::Shutdown shutdown);
  // None: the directory cannot be read.
  platform::Task<std::optional<Orders>> in_directory(std::string directory);
  platform::Task<void> follow(MountOrder order, runtime::Shutdown shutdown);
  void let_go(const std::map<std::string, MountOrder>& wanted, bool is_directory_known);
  bool is_being_written(const MountOrder& order, const platform::FileVersion& version);
  void complain(std::string trouble);

  EdgeParts parts_;
  Packs& packs_;
  const PackOrders& orders_;
  // Files of packs_dir as they were at the last look, if they are not mounted like that.
  std::map<std::string, platform::FileVersion, std::less<>> coming_;
  std::string trouble_;  // what was said last of the directory
};

}  // namespace ron::edge
