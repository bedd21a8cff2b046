// History: what clients did to objects and what they were told, checked against the one rule that
// matters: some order of the operations explains every answer.
//
// An object is there as long as somebody holds it; its content cannot differ, so who holds it is
// all its state. Each operation has an interval, from its first byte to its answer, and takes
// effect at one moment within it. One whose answer never came took effect at any later moment of
// the same life of the service, or not at all. What a service in memory holds ends with its life;
// what one on disk has acknowledged is there in the next, however the life ended. check() finds
// such an order or says that there is none, exactly: it never calls a possible history wrong, nor
// an impossible one right.
//
// One thread. Memory grows with the number of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/harness/timeline.h"

namespace ron::sim {

class History {
 public:
  enum class Act : std::uint8_t { Put, Delete, Read };
  // For whom. An operator stores for those without a tenant and removes whatever anybody holds.
  enum class Who : std::uint8_t { Operator, Nameless, Tenant };
  // What an operation turned out to have done.
  enum class Result : std::uint8_t {
    Unknown,       // no answer: it happened or not, then or later
    Nothing,       // refused
    Added,         // was absent, now present
    AlreadyThere,  // was and is present, and held by the one who put it
    Stored,        // is present, and held by the one who put it; who knows since when
    Removed,       // was held by the one who removed it, or for an operator by anybody
    NotThere,      // was not
    Present,       // read: there
    Absent,        // read: not there
  };

  // `lasts`: what is stored outlives the service.
  explicit History(bool lasts = false) : lasts_(lasts) {}

  // The operation begins; `life` counts the runs of the service.
  std::size_t begin(unsigned life, std::size_t object, Act act, Who who = Who::Operator);
  // Its answer is here. Once.
  void end(std::size_t operation, Result result, TimePoint now);

  // Nothing of this life takes effect from now on.
  void life_ended(unsigned life) { life_ends_.try_emplace(life, moment_++); }

  // Nothing, or what cannot be explained.
  [[nodiscard]] std::optional<std::string> check() const;

  [[nodiscard]] std::size_t size() const noexcept { return operations_.size(); }
  // The most copies of the object that a service can hold at once, now or at any time since then,
  // if what is removed stays until its last reader lets go: one that is stored, and one for each
  // removal that had a reader of its own who was not done by then. Never more than were added.
  [[nodiscard]] std::size_t copies(unsigned life, std::size_t object, TimePoint since) const;
  // Puts that were acknowledged, and those of them whose object was read while it lasted.
  [[nodiscard]] std::size_t acknowledged() const noexcept;
  [[nodiscard]] std::size_t acknowledged_and_read() const noexcept;
  // Acknowledged puts of an earlier life whose object was read in a later one.
  [[nodiscard]] std::size_t survived() const noexcept;

 private:
  static constexpr std::uint64_t kNeverEnds = UINT64_MAX;
  struct Operation {
    unsigned life;
    std::size_t object;
    Act act;
    Who who;
    Result result;
    std::uint64_t begin;
    std::uint64_t end;
    TimePoint ended;

    // It may never have happened.
    [[nodiscard]] bool optional() const noexcept { return result == Result::Unknown; }
  };
  using Group = std::vector<const Operation*>;  // of one object, while it lasts
  using Holders = unsigned;                     // a bit for each

  // What the operation makes of the state; nothing when it cannot have happened in it.
  [[nodiscard]] static std::optional<Holders> after(const Operation& operation, Holders holders);
  [[nodiscard]] std::vector<Operation> within_lives() const;
  [[nodiscard]] std::vector<Group> groups(const std::vector<Operation>& operations) const;
  class Search;
  [[nodiscard]] static std::string describe(const Group& operations);

  const bool lasts_;
  std::vector<Operation> operations_;
  std::map<unsigned, std::uint64_t> life_ends_;
  std::uint64_t moment_ = 0;
};

}  // namespace ron::sim
