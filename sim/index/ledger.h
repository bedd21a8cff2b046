// What clients of the index were told, and what that obliges it to.
//
// Names: the version of a name only ever grows, so that all answers about it are in some order
// exactly when none says less than was told to anybody before it was asked for, a version is the
// same for everybody, and each was asked for. What was acknowledged stays, over all lives and power
// cuts; what was never answered may have happened.
//
// Providers: of a node and an address no older record is returned than one that was acknowledged
// before, and none that is forged, expired, replayed or a stranger's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ron::sim {

// One name. A target that is empty stands for a removal.
class NameLedger {
 public:
  // Somebody is about to ask for this.
  void asked(const std::string& target) { asked_.insert(target); }
  [[nodiscard]] bool removal_was_asked() const { return asked_.contains(""); }
  // The newest version that anybody was told of; what comes back from a request goes to told().
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  [[nodiscard]] const std::map<std::uint64_t, std::string>& versions() const noexcept {
    return versions_;
  }

  // Somebody was told that the name was at this version, not before the newest was `floor`. What
  // is wrong with that.
  std::optional<std::string> told(std::uint64_t version, const std::string& target,
                                  std::uint64_t floor);
  // Whoever asked for the target was told that it is this version.
  std::optional<std::string> written(std::uint64_t version, const std::string& target,
                                     std::uint64_t floor);
  // It was told that its change was refused: it must never be seen.
  std::optional<std::string> refused(const std::string& target);

 private:
  std::uint64_t newest_ = 0;
  std::set<std::string> asked_;
  std::set<std::string> refused_;
  std::map<std::uint64_t, std::string> versions_;
};

// Records of one address, by the number of their node.
class ProviderLedger {
 public:
  // A sequence number that nobody has used.
  std::uint64_t next_seq(std::size_t node) { return ++last_[node]; }
  void acknowledged(std::size_t node, std::uint64_t seq);
  // The highest that was ever used.
  [[nodiscard]] std::uint64_t last(std::size_t node) const {
    const auto found = last_.find(node);
    return found == last_.end() ? 0 : found->second;
  }
  // The newest of each node that was acknowledged.
  [[nodiscard]] const std::map<std::size_t, std::uint64_t>& newest() const noexcept {
    return newest_;
  }

 private:
  std::map<std::size_t, std::uint64_t> last_;
  std::map<std::size_t, std::uint64_t> newest_;
};

}  // namespace ron::sim
