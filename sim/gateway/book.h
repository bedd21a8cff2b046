// Book: every request that clients sent through the gateway, and what its upstreams saw of it and
// answered. Both sides write here, the gateway does not: so it can be told whether an answer is the
// one that belongs to a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/gateway/plan.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

// What a member saw of a request, and what it answered.
struct Sighting {
  std::size_t member = 0;
  TimePoint at{};
  Deed deed = Deed::Answer;
  int status = 0;          // 0: it never began an answer
  std::string body;        // that it meant to answer with
  bool body_came = false;  // all of the request's
};

// A request as its client sent it.
struct Errand {
  std::string what;
  std::string id;  // its X-Corr-ID
  std::string method;
  std::string target;
  std::string body;
  std::size_t group = 0;
  unsigned life = 0;
  TimePoint begun{};
  std::deque<Sighting> seen;  // grows while those who answer hold on to theirs

  [[nodiscard]] bool idempotent() const { return method != "POST"; }
  [[nodiscard]] bool met_misdeed() const;
};

class Book {
 public:
  explicit Book(std::size_t members) : troubles_(members), answers_(members) {}
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  Errand& add(Errand errand);
  // Null: nobody asked that.
  [[nodiscard]] Errand* find(std::string_view id);
  [[nodiscard]] const Errand* find(std::string_view id) const;
  // The text of the field that an answer is known by, and back.
  static std::string marker(const Errand& errand, std::size_t sighting);
  [[nodiscard]] const Sighting* marked(const Errand& errand, std::string_view marker) const;

  // A member did not do as it should from then until then.
  void trouble(std::size_t member, TimePoint from, TimePoint until);
  [[nodiscard]] bool troubled(const GroupPlan& group, TimePoint from, TimePoint until) const;
  [[nodiscard]] bool any_trouble(TimePoint from, TimePoint until) const;

  // A member has begun an answer that says nothing bad about itself.
  void answered(std::size_t member) { ++answers_[member]; }
  [[nodiscard]] std::uint64_t answers(std::size_t member) const { return answers_[member]; }

  // Of one life: requests to upstreams, how often upstreams saw them, and how often more than once.
  struct Sums {
    std::uint64_t errands = 0;
    std::uint64_t sightings = 0;
    std::uint64_t repetitions = 0;
  };
  [[nodiscard]] Sums sums(unsigned life) const;

 private:
  struct Trouble {
    TimePoint from;
    TimePoint until;
  };
  std::map<std::string, Errand, std::less<>> errands_;
  std::vector<std::vector<Trouble>> troubles_;  // by member
  std::vector<std::uint64_t> answers_;          // by member
};

}  // namespace ron::sim
