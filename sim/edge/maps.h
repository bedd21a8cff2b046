// Maps: a pack on the machine of the edge that is replaced now and then by whoever runs it. Each
// version says in every tile which one it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pack/pack.h"
#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "sim/edge/plan.h"
#include "sim/harness/scene.h"

namespace ron::sim {

// Outside of any executor; everybody is on the world's thread.
class Maps {
 public:
  // Tiles of zooms up to this one; of the next there are none.
  static constexpr std::uint8_t kMaxZoom = 2;

  explicit Maps(const EdgePlan& plan) : plan_(plan) {}

  // The first version, and the others when the plan says so.
  void enter(Scene& scene);
  // Whoever writes goes with the machine.
  void interrupt() { writing_.reset(); }
  // And with the world, where nobody comes after them.
  void leave() {
    calm_ = true;
    interrupt();
  }
  // From now on nothing is replaced any more; if nothing ever was there, it is now.
  void calm_down();

  // What a version is, byte for byte.
  [[nodiscard]] std::string file(std::uint64_t version) const;
  [[nodiscard]] static std::string tile(std::uint64_t version, pack::Zxy at);
  // The version whose file has this tag, or whose tile has it; nothing: there is none.
  [[nodiscard]] std::optional<std::uint64_t> of_file(std::string_view tag) const;
  [[nodiscard]] std::optional<std::uint64_t> of_tile(std::string_view tag, pack::Zxy at) const;

  struct Version {
    TimePoint begun{};                    // somebody began to put it there
    TimePoint placed = platform::kNever;  // it is there, and stays after a power cut
  };
  // Counted from 1.
  [[nodiscard]] const Version& version(std::uint64_t number) const { return versions_[number - 1]; }
  // The newest that was there, and stayed, by that time; 0: none was.
  [[nodiscard]] std::uint64_t newest(TimePoint by) const;
  [[nodiscard]] std::uint64_t placed() const { return newest(platform::kNever - Duration(1)); }

 private:
  void replace();
  Task<void> write(std::uint64_t version);

  const EdgePlan& plan_;
  Scene* scene_ = nullptr;
  std::vector<Version> versions_;
  std::unique_ptr<platform::test::Root> writing_;
  bool calm_ = false;
};

}  // namespace ron::sim
