// Talk: a conversation over one connection. Sends requests the way a conduct says, reads the
// answers, and lets the judge and the history know.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/harness/scene.h"

namespace ron::sim {

// How a client goes about a few requests in a row. The default is how it should.
struct Conduct {
  Pace writing{};
  Pace reading{};
  Duration thinking{};                  // before it reads
  std::optional<std::size_t> stops_at;  // of the last request: only so many bytes are ever sent
  bool waits_after_stop = false;        // and then waits for what the server makes of it
  bool walks_away = false;              // without reading the answers
  bool half_closes = false;             // says that it will not write any more

  // Does nothing that could keep the server from answering at once.
  [[nodiscard]] bool prompt() const {
    return writing.pause == Duration::zero() && reading.pause == Duration::zero() &&
           thinking == Duration::zero() && !stops_at && !walks_away;
  }
  [[nodiscard]] Duration total(std::size_t sent, std::size_t received) const {
    return writing.total(sent) + reading.total(received) + thinking;
  }
};

// Lives in the task of its client.
class Talk {
 public:
  Talk(Scene& scene, std::string who, platform::Host host, ClientPlan client)
      : scene_(scene),
        who_(std::move(who)),
        host_(host),
        client_(client),
        http_(std::make_unique<HttpClient>(host)) {}
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  // True when the connection stands. The admin listener or the clients' one.
  Task<bool> open(bool admin, Duration patience);
  // Sends the requests one behind the other, then reads their answers. False when the connection
  // is at its end.
  Task<bool> exchange(std::vector<RequestPtr> requests, Conduct conduct);
  // One request, as it should be done, over a new connection if need be; how it was answered, empty
  // if it was not.
  Task<std::string> ask(RequestPtr request);
  // Says nothing until the server ends it, which it must.
  Task<void> sit_idle();
  // Keeps the connection open, without ever looking at it again.
  void hold() { scene_.held.push_back(std::move(http_)); }

  // How the last request was answered; empty: not at all.
  [[nodiscard]] const std::string& last_outcome() const noexcept { return last_outcome_; }
  [[nodiscard]] const Answer& last_answer() const noexcept { return answer_; }
  [[nodiscard]] Scene& scene() noexcept { return scene_; }

 private:
  struct Asked {
    RequestPtr request;
    std::optional<std::size_t> operation{};  // as the subject counts them
    TimePoint begun{};
    bool sent_whole = false;
    bool begun_to_send = false;
  };

  Task<bool> send_all(std::vector<Asked>* asked, Conduct conduct, TimePoint deadline);
  Task<WriteEnd> send_one(Asked* asked, Conduct conduct, TimePoint deadline);
  Task<bool> read_all(std::vector<Asked>* asked, Conduct conduct, TimePoint deadline);
  void begin(Asked& asked);
  [[nodiscard]] Exchange exchange_of(const Asked& asked) const;
  bool take_answer(Asked& asked);
  void no_answer(Asked& asked, std::string_view why, bool server_will_not);
  void check_dropped(const Asked& asked);
  void check_refused_connect(int error, TimePoint called);
  void check_open_connect(TimePoint called);
  [[nodiscard]] TimePoint deadline_for(const std::vector<Asked>& asked,
                                       const Conduct& conduct) const;
  [[nodiscard]] TimePoint now() const { return scene_.world.now(); }
  [[nodiscard]] const Life& life() const { return scene_.timeline.life(life_); }
  // From a machine that lost its power nothing is to be expected, not even the end that was on its
  // way when it did.
  void late(std::string_view what) {
    scene_.timeline.was_cut_since(life_) ? note(what) : wrong(what);
  }
  void note(std::string_view what) { scene_.journal.note(who_, what); }
  void wrong(std::string_view what) { scene_.journal.violation(who_, what); }

  Scene& scene_;
  std::string who_;
  platform::Host host_;
  ClientPlan client_;
  std::unique_ptr<HttpClient> http_;
  unsigned life_ = 0;
  TimePoint called_{};             // when the connection was asked for
  std::size_t answers_ = 0;        // on this connection
  TimePoint last_activity_{};      // of ours on it
  bool prompt_and_alone_ = false;  // the request under way, on a connection that was not idle
  bool interim_answer_ = false;
  Answer answer_;
  std::string last_outcome_;
};

}  // namespace ron::sim
