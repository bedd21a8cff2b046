// SimKeyValues: the key-value maps of one simulated node. Operations take virtual time and take
// effect at some moment within it, also when their caller has been aborted.
//
// Batches after the last flush are a list. Whatever ends a map without one (a power cut, the end of
// its process, or its destruction) keeps a prefix of that list, its length by seed; what was
// flushed stays. Maps are not files of the node's SimDisk: they have no parent directory and are
// not listed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "platform/key_value.h"
#include "platform/sim/faults.h"
#include "platform/sim/network.h"
#include "platform/sim/power.h"

namespace ron::platform::sim {

struct SimKeyValueOptions {
  // Each takes between one and two times this long; a flush may also be as slow as a sync.
  Duration read_takes = std::chrono::microseconds(80);
  Duration write_takes = std::chrono::microseconds(5);
  Duration flush_takes = std::chrono::milliseconds(2);
  Duration open_takes = std::chrono::milliseconds(5);
  PerMillion unknown = 250'000;  // how often memory alone cannot answer
};

enum class KeyValueOp : std::uint8_t { Read, Write, Flush, Open };
inline constexpr std::size_t kKeyValueOps = 4;

class SimKeyValues final : public KeyValues {
 public:
  SimKeyValues(World& world, NodeId node, SimKeyValueOptions options);
  ~SimKeyValues() override;

  // StorageBusy while the map is open.
  Task<base::Result<std::unique_ptr<KeyValue>>> open(std::string path,
                                                     KeyValueOptions options) override;
  Task<base::Result<void>> destroy(std::string path) override;

  // Maps opened before fail from now on, and everything fails until restart().
  void power_cut();
  void restart() noexcept { power_.on = true; }
  // The process ends without a word and another may begin at once: as power_cut() and restart().
  void end_process();

  // The next `count` operations of this kind fail, apart from the rates of the fault plan.
  void fail_next(KeyValueOp op, std::uint32_t count = 1,
                 base::Code code = base::Code::StorageBusy) noexcept;
  // The map cannot be opened any more, until it is destroyed. False when there is none.
  bool damage(std::string_view path);
  // Reads and scans that meet the key fail until it is written again. False when it is not there.
  bool damage_key(std::string_view path, std::string_view key);
  // The value readers see, to be looked at or forged. Null when it is not there.
  std::string* value_at(std::string_view path, std::string_view key);

 private:
  friend class SimKeyValue;
  struct Image;   // a map on the medium
  struct Opened;  // an open map; operations under way share it

  template <class T>
  Task<base::Result<T>> run(Duration takes, std::string path,
                            std::move_only_function<base::Result<T>()> effect);
  base::Result<void> check(KeyValueOp op, PerMillion rate, std::string_view path);
  base::Result<std::unique_ptr<KeyValue>> open_now(const std::string& path,
                                                   KeyValueOptions options);
  void lose(Image& image);
  void lose_all();

  struct Ordered {
    std::uint32_t count = 0;
    base::Code code{};
  };

  World& world_;
  NodeId node_;
  SimKeyValueOptions options_;
  Power power_;
  std::array<Ordered, kKeyValueOps> fail_next_{};
  std::map<std::string, std::shared_ptr<Image>, std::less<>> images_;
};

}  // namespace ron::platform::sim
