// For tests and simulations: the property everything else serves. Whatever was acknowledged is
// there, whatever was acknowledged as gone is gone, and nothing is there in part, after any
// sequence of power cuts, crashes, failing writes and names, compactions and lost indexes. The same
// of what several tenants hold: nobody loses an object by what others do, nor pays for what it gave
// up. Where the medium has rotted or cannot be read, that costs what lies there and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "volume/test_volume.h"

namespace ron::volume {

// What was done and checked, of one history or of many.
struct HistoryCounts {
  std::uint64_t writes = 0;        // submitted: puts, removes, and the steps of uploads
  std::uint64_t acknowledged = 0;  // of those
  std::uint64_t refused = 0;       // answered with an error
  std::uint64_t checks = 0;        // objects and uploads compared with what they must be
  std::uint64_t stops = 0;
  std::uint64_t crashes = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t lost_changes = 0;  // writes and names that a power cut lost or tore
  std::uint64_t compactions = 0;   // asked for
  std::uint64_t rebuilds = 0;      // starts without a usable index
  std::uint64_t rotten = 0;        // bits that were flipped
  std::uint64_t broken = 0;        // sectors that cannot be read any more

  void add(const HistoryCounts& other) noexcept;
};

// Everything a seed decides beforehand.
struct HistoryPlan {
  std::uint64_t seed = 0;
  Options options{};
  platform::sim::FaultPlan faults{};
  bool medium_fails = false;  // between lives: bits flip, sectors cannot be read
  int lives = 6;
};
// Many small segments or few large ones, and which batches are written directly, by seed.
HistoryPlan history_plan(std::uint64_t seed);
// The same, and writes, syncs and changes of names fail now and then.
HistoryPlan failing_history_plan(std::uint64_t seed);
// The same, and the medium loses what it had.
HistoryPlan decaying_history_plan(std::uint64_t seed);

// One machine's history against what it acknowledged. Runs once.
class History {
 public:
  using Print = std::function<void(std::string_view line)>;

  // `print` gets the story; none: silent. It changes nothing.
  explicit History(HistoryPlan plan, Print print = {});
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // What was violated; empty if nothing.
  std::string run();
  [[nodiscard]] const HistoryCounts& counts() const noexcept { return counts_; }
  // Of everything that happened: the same for the same plan.
  [[nodiscard]] std::uint64_t hash() const noexcept { return machine_.world.trace_hash(); }
  [[nodiscard]] platform::sim::World& world() noexcept { return machine_.world; }

 private:
  enum class Presence : std::uint8_t { Absent, Present, Either };

  static constexpr std::array<std::string_view, 3> kTenants = {"acme", "birch", ""};

  struct ModelObject {
    std::vector<std::byte> bytes;
    base::ObjectId id;
    std::array<Presence, kTenants.size()> holds{};  // of each tenant
    bool busy = false;                              // a write is under way
    // Its bytes were hit: it is known, and right or withheld.
    bool rotten = false;
    // What was hit speaks of it: it may be there or not, or be withheld; only never wrong.
    bool unsure = false;

    // It is there as long as anybody holds it.
    [[nodiscard]] Presence presence() const;
    [[nodiscard]] Presence known() const {
      return rotten || unsure ? Presence::Either : presence();
    }
    void doubt_all();
  };

  struct ModelUpload {
    UploadId id;
    std::size_t object = 0;
    std::size_t tenant = 0;
    bool begun = false;     // acknowledged
    bool doubtful = false;  // its end was submitted and not acknowledged
    bool over = false;
    std::int64_t expires_unix_s = 0;  // or never, and then nobody promises to remember its commit
    bool remembered = false;        // its commit was acknowledged, and its object not removed since
    bool unsure = false;            // what was hit speaks of it: left alone from then on
    std::set<std::uint64_t> parts;  // acknowledged
    std::set<std::uint64_t> submitted;  // perhaps there
    bool busy = false;
  };

  void add_object(std::size_t size);
  void violate(const std::string& what);
  void note(std::string_view what) const;
  [[nodiscard]] std::string name_of(const ModelObject& object) const;
  [[nodiscard]] std::string name_of(const ModelUpload& upload) const;

  void start();
  void live(bool last);
  void await_answers();
  void end_life();
  void be_busy();
  void crash();
  void power_cut();
  void lose_index();
  void damage_medium();
  void mark(const Record& record, bool payload_only);
  void advance(base::Duration time);

  void step();
  ModelObject* idle_object();
  std::size_t any_tenant() { return random_.below(kTenants.size()); }
  void submit_put();
  void submit_remove();
  void submit_remove_outright();
  void submit_upload();
  void submit_begin(ModelUpload* upload);
  void forget_commits_of(const ModelObject& object);
  void submit_part(ModelUpload* upload);
  void submit_commit(ModelUpload* upload);
  void submit_abort(ModelUpload* upload);

  // A write may fail, if something was made to: nobody knows then what became of it.
  template <class T>
  bool failed(const base::Result<T>& answer, const std::string& what) {
    if (answer || answer.error().code == base::Code::NotFound) return false;
    if (!faulty()) violate(what + " fails: " + answer.error().message);
    return true;
  }
  [[nodiscard]] bool faulty() const {
    return plan_.faults.fail_write + plan_.faults.fail_sync + plan_.faults.fail_name != 0;
  }

  // Remembers a write; `then` is called with its answer.
  template <class T, class Then>
  void watch(std::string what, Write<T> write, Then then) {
    ++counts_.writes;
    note(what);
    auto shared = std::make_shared<Write<T>>(std::move(write));
    outstanding_.push_back([this, shared, then, what = std::move(what)]() {
      if (!shared->done()) return false;
      const base::Result<T> answer = shared->get();
      note(what + (answer ? ": done" : ": " + answer.error().message));
      ++(answer ? counts_.acknowledged : counts_.refused);
      then(answer);
      return true;
    });
  }

  void check_everything();
  void check_holds(ModelObject& object);
  void check_usage();
  void check_upload(ModelUpload& upload);
  void compare_with_rebuilt();

  static constexpr std::size_t kUploads = 16;

  const HistoryPlan plan_;
  const Print print_;
  Machine machine_;
  platform::FastRandom random_;
  HistoryCounts counts_;
  std::vector<ModelObject> objects_;
  std::vector<ModelUpload> uploads_;  // at most kUploads: they are pointed to
  std::unique_ptr<Life> life_;
  std::vector<std::function<bool()>> outstanding_;
  std::string violation_;
};

}  // namespace ron::volume
