#include "sim/harness/talk.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/deadline.h"

namespace ron::sim {

Task<bool> Talk::open(bool admin, Duration patience) {
  const Life& at_first = scene_.timeline.now_living();
  if (at_first.opened == kNever) co_return false;
  const TimePoint called = called_ = now();
  const platform::Endpoint to = admin ? at_first.admin : at_first.bind;
  const int error = co_await http_->connect(to, now() + patience);
  life_ = scene_.timeline.current();
  answers_ = 0;
  last_activity_ = now();
  if (error != 0) {
    note("not connected: " + std::string(std::strerror(error)));
    if (!admin) check_refused_connect(error, called);
    ++scene_.journal.tally.events["connections failed"];
    co_return false;
  }
  note("connected");
  ++scene_.journal.tally.events["connections"];
  if (!admin) check_open_connect(called);
  co_return true;
}

// Nobody is turned away by the system while the service listens.
void Talk::check_refused_connect(int error, TimePoint called) {
  const bool network_refuses = scene_.plan.world.faults.refuse_connect != 0;
  const bool served = called >= life().opened && now() < life().stop_asked && called > life().moved;
  if (error == ECONNREFUSED && served && !network_refuses) {
    wrong("refused a connection while serving");
  }
}

// Intake ends with the stop, on every core.
void Talk::check_open_connect(TimePoint called) {
  Duration slack = scene_.plan.moment();
  if (scene_.plan.world.faults.fail_accept != 0) slack += std::chrono::milliseconds(500);
  const TimePoint stop = life().stop_asked;
  if (stop != kNever && called > stop + slack && called >= life().opened) {
    wrong("took a new connection long after the stop was asked for");
  }
}

TimePoint Talk::deadline_for(const std::vector<Asked>& asked, const Conduct& conduct) const {
  std::size_t sent = 0;
  std::size_t received = 0;
  Duration server{};
  for (const Asked& each : asked) {
    sent += each.request->bytes();
    received += 2048 + each.request->answer_bytes;
    server += scene_.longest_deadline + each.request->answer_takes;
  }
  // While we still write, an answer may fill the window: the server then gives us up.
  if (asked.size() > 1) server += 2 * scene_.longest_write_timeout;
  // A head that stays incomplete is answered when its time is up.
  if (conduct.stops_at) server += scene_.longest_read_timeout;
  return now() + server + conduct.total(sent, received) +
         scene_.plan.network_slack(client_, sent + received);
}

void Talk::begin(Asked& asked) {
  asked.begun = now();
  asked.begun_to_send = true;
  if (asked.request->heavy) ++scene_.heavy[life_];
  asked.operation = scene_.subject.begin(*asked.request, life_);
}

Task<std::string> Talk::ask(RequestPtr request) {
  std::vector<RequestPtr> requests;
  requests.push_back(std::move(request));
  const bool stands = co_await exchange(std::move(requests), Conduct());
  std::string outcome = last_outcome_;
  if (!stands && !scene_.journal.failed()) {
    http_ = std::make_unique<HttpClient>(host_);
    co_await open(false, std::chrono::seconds(1));
  }
  co_return outcome;
}

Task<bool> Talk::exchange(std::vector<RequestPtr> requests, Conduct conduct) {
  std::vector<Asked> asked;
  for (RequestPtr& request : requests) asked.push_back({.request = std::move(request)});
  const TimePoint deadline = deadline_for(asked, conduct);
  interim_answer_ = false;
  last_outcome_.clear();
  const TimePoint before = now();
  const bool sent = co_await send_all(&asked, conduct, deadline);
  const bool fresh = before - last_activity_ < std::chrono::milliseconds(50);
  prompt_and_alone_ = fresh && asked.size() == 1 && conduct.prompt();
  last_activity_ = now();
  const bool stays = !conduct.walks_away && (sent || !conduct.stops_at || conduct.waits_after_stop);
  if (!stays) {
    for (Asked& each : asked) no_answer(each, "not waited for", false);
    co_return false;
  }
  if (conduct.thinking > Duration::zero()) co_await runtime::sleep_for(conduct.thinking);
  co_return co_await read_all(&asked, conduct, deadline);
}

// False when not everything went out.
Task<bool> Talk::send_all(std::vector<Asked>* asked, Conduct conduct, TimePoint deadline) {
  for (std::size_t i = 0; i < asked->size(); ++i) {
    Conduct mine = conduct;
    if (i + 1 < asked->size()) mine.stops_at.reset();
    begin((*asked)[i]);
    const WriteEnd end = co_await send_one(&(*asked)[i], mine, deadline);
    if (end == WriteEnd::Ignored) {
      late("the server goes on reading after the deadline of " + (*asked)[i].request->what);
    }
    if (end == WriteEnd::TimedOut) late("the server stopped reading " + (*asked)[i].request->what);
    if (end != WriteEnd::Done) co_return false;
  }
  if (conduct.half_closes) http_->finish();
  co_return asked->back().sent_whole;
}

Task<WriteEnd> Talk::send_one(Asked* asked, Conduct conduct, TimePoint deadline) {
  const Request& request = *asked->request;
  std::string bytes = request.head + request.body;
  if (conduct.stops_at && *conduct.stops_at < bytes.size()) {
    bytes.resize(*conduct.stops_at);
    co_return co_await http_->write(std::move(bytes), conduct.writing, deadline);
  }
  if (request.expects_continue) {
    const WriteEnd head = co_await http_->write(request.head, conduct.writing, deadline);
    if (head != WriteEnd::Done) co_return head;
    asked->sent_whole = request.body.empty();
    const ReadEnd told = co_await http_->read(&answer_, false, Pace(), deadline, true);
    if (told == ReadEnd::TimedOut) late("neither 100 nor an answer to " + request.what);
    if (told == ReadEnd::Malformed) wrong(http_->complaint());
    if (told != ReadEnd::Answer) co_return WriteEnd::Failed;
    interim_answer_ = answer_.status >= 200;
    if (interim_answer_) co_return WriteEnd::Failed;
    bytes = request.body;
  }
  // The head has a time of its own; then the request's deadline runs, however its body comes.
  const TimePoint word_by = asked->begun + scene_.longest_read_timeout + scene_.longest_deadline +
                            scene_.plan.network_slack(client_, bytes.size());
  const std::size_t size = bytes.size();
  const WriteEnd end = co_await http_->write(std::move(bytes), conduct.writing, deadline, word_by);
  asked->sent_whole = http_->written() == size;
  co_return end;
}

Task<bool> Talk::read_all(std::vector<Asked>* asked, Conduct conduct, TimePoint deadline) {
  ReadEnd end = ReadEnd::Answer;
  bool closing = false;
  bool unread_head = false;
  for (Asked& each : *asked) {
    if (closing || end != ReadEnd::Answer || !each.begun_to_send) {
      no_answer(each, "not reached", closing);
      continue;
    }
    if (std::exchange(interim_answer_, false)) {
      closing = take_answer(each);
      continue;
    }
    const bool to_head = each.request->to_head;
    end = co_await http_->read(&answer_, to_head, conduct.reading, deadline);
    if (end == ReadEnd::Answer) {
      closing = take_answer(each);
      // Who refuses a head unread cannot know that it was HEAD, and sends a body.
      unread_head = closing && to_head && answer_.status >= 400;
      continue;
    }
    if (end == ReadEnd::Malformed) wrong(http_->complaint());
    if (end == ReadEnd::TimedOut) late("no answer in time to " + each.request->what);
    no_answer(each, end == ReadEnd::Closed ? "closed" : "cut", false);
    check_dropped(each);
  }
  if (end == ReadEnd::Answer && http_->has_more() && !unread_head) wrong("bytes nobody asked for");
  const bool stands = !closing && end == ReadEnd::Answer && asked->back().sent_whole;
  co_return stands && !conduct.half_closes;
}

Exchange Talk::exchange_of(const Asked& asked) const {
  Exchange exchange;
  exchange.request = asked.request.get();
  exchange.life = &life();
  exchange.life_number = life_;
  exchange.operation = asked.operation;
  exchange.called = called_;
  exchange.begun = asked.begun;
  exchange.ended = now();
  exchange.first_on_connection = answers_ == 0;
  exchange.sent_whole = asked.sent_whole;
  exchange.refusals = &scene_.refusals;
  return exchange;
}

// True when the server says that it was the last one on this connection.
bool Talk::take_answer(Asked& asked) {
  Exchange exchange = exchange_of(asked);
  exchange.answer = &answer_;
  exchange.heavy_requests = scene_.heavy[life_];
  ++answers_;
  const Judgement judgement = scene_.subject.answered(exchange);
  last_outcome_ = judgement.outcome;
  const std::string& what = asked.request->what;
  ++scene_.journal.tally.outcomes[(asked.request->asks_ready ? "readyz " : "") + last_outcome_];
  note(what + " -> " + last_outcome_ + (answer_.closes() ? ", closing" : ""));
  if (judgement.wrong) wrong(*judgement.wrong + ": " + what + " -> " + last_outcome_);
  return answer_.closes();
}

// In a world where nothing else goes wrong, a request that the server had before the stop is
// answered, if the drain deadline leaves the time.
void Talk::check_dropped(const Asked& asked) {
  const platform::sim::FaultPlan& faults = scene_.plan.world.faults;
  const bool calm = faults.reset_segment == 0 && faults.lose_segment == 0 &&
                    faults.fail_accept == 0 && scene_.plan.mishaps.empty();
  if (!calm || !prompt_and_alone_ || !asked.sent_whole) return;
  if (life().stop_asked == kNever || scene_.plan.lives[life_ - 1].abort_after) return;
  if (scene_.plan.lives[life_ - 1].cut_after) return;
  const Duration slack = scene_.plan.network_slack(client_, asked.request->bytes());
  const bool arrived = asked.begun + slack < life().stop_asked;
  const bool enough_time =
      life().eras.back().settings->drain_deadline > scene_.longest_deadline + 2 * slack;
  if (!arrived || !enough_time || scene_.subject.may_cut(exchange_of(asked))) return;
  wrong("dropped a request in flight: " + asked.request->what);
}

// Half a request does nothing, and neither does one behind an announced end; otherwise the server
// may have it, and may still be about to act on it.
void Talk::no_answer(Asked& asked, std::string_view why, bool server_will_not) {
  if (!asked.begun_to_send) return;
  ++scene_.journal.tally.outcomes["no answer: " + std::string(why)];
  note(asked.request->what + " -> no answer: " + std::string(why));
  scene_.subject.unanswered(exchange_of(asked), asked.sent_whole && !server_will_not);
}

Task<void> Talk::sit_idle() {
  const TimePoint deadline =
      now() + scene_.longest_idle_timeout + scene_.plan.network_slack(client_, 0);
  const ReadEnd end = co_await http_->read(&answer_, false, Pace(), deadline);
  if (end == ReadEnd::TimedOut) late("an idle connection was not closed");
  const bool turned_away = end == ReadEnd::Answer && answers_ == 0 && answer_.status == 429;
  if (end == ReadEnd::Answer && !turned_away) wrong("an answer nobody asked for");
  if (end == ReadEnd::Malformed) wrong(http_->complaint());
  note("sat idle until closed");
}

}  // namespace ron::sim
