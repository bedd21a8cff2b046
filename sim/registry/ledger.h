// Ledger: what clients of the registry were told, and what that obliges it to.
//
// HEAD only ever grows, so that all reads and commits of all clients are in some order exactly when
// none answers with less than was told to anybody before it began, and a version has one hash for
// everybody. What was acknowledged stays, over all lives and power cuts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ron::sim {

// One proposal on its way, as its client knows it.
struct Flow {
  std::string id;                        // empty: not acknowledged
  std::string text;                      // to sign
  std::set<std::size_t> approved;        // signers whose approval was acknowledged
  std::set<std::size_t> tried;           // or may be there
  bool commit_tried = false;             // may be committed
  bool withdraw_tried = false;           // may be withdrawn
  bool withdrawn = false;                // it was told
  std::optional<std::uint64_t> version;  // it was told
  bool changes_signers = false;
};

class Ledger {
 public:
  // An operation begins; what comes back goes to told().
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  // Somebody was told of this version, and nothing before it when the newest was `floor`. What is
  // wrong with that.
  std::optional<std::string> told(std::uint64_t version, const std::string& hash,
                                  std::uint64_t floor);
  // From here on others may decide than did at the genesis.
  void signers_may_change() noexcept { signers_may_differ_ = true; }
  [[nodiscard]] bool signers_may_differ() const noexcept { return signers_may_differ_; }
  void remember(const std::shared_ptr<Flow>& flow) { flows_.push_back(flow); }

  [[nodiscard]] const std::vector<std::shared_ptr<Flow>>& flows() const noexcept { return flows_; }
  [[nodiscard]] const std::map<std::uint64_t, std::string>& hashes() const noexcept {
    return hashes_;
  }

 private:
  std::uint64_t newest_ = 0;
  bool signers_may_differ_ = false;
  std::map<std::uint64_t, std::string> hashes_;
  std::vector<std::shared_ptr<Flow>> flows_;  // acknowledged
};

}  // namespace ron::sim
