// bench_load: one client of a benchmark, with a number of kept connections to one server. Usage:
//
//   bench_load to=127.0.0.1:8080 target=/o/b3:… connections=64 seconds=5 [rate=20000]
//   [from=127.0.0.7]
//              [token=FILE] [warm_up=1] [start_ns=…] [pause_ms=20] [requests=FILE]
//
// Without a rate the loop is closed: each connection asks again as soon as it is answered, after a
// refusal `pause_ms` later. With a rate it is open: requests arrive at random times (a Poisson
// process of that rate) whether or not earlier ones were answered, take whichever connection is
// free, and their latency counts from when they arrived. wrk has no rate, and the tools of Debian
// that have one start many requests at once, every millisecond.
//
// `requests` has whole requests, each behind the number of its bytes (32 bits, the lowest first),
// in place of `target` and `token`: each is sent once, and it ends early when all are answered.
//
// The result is one line of JSON: for each status what was answered after the warm-up, in how many
// microseconds. `start_ns`, of the monotonic clock, makes several clients start together.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "options.h"

namespace ron::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr int kBroken = 0;  // in place of a status: no whole answer
constexpr std::size_t kMostHeadBytes = 64 * 1024;

// What came back, by status.
class Tally {
 public:
  explicit Tally(Time from) : from_(from) {}

  void note(int status, std::uint64_t bytes, Time asked, Time now) {
    if (now < from_) return;
    Answers& answers = by_status_[status];
    answers.bytes += bytes;
    answers.latency_us.push_back(
        static_cast<std::uint32_t>(duration_cast<microseconds>(now - asked).count()));
  }

  void print(nanoseconds measured, std::size_t waiting) {
    std::printf("{\"seconds\":%.6f,\"waiting\":%zu,\"answers\":{",
                std::chrono::duration<double>(measured).count(), waiting);
    const char* comma = "";
    for (auto& [status, answers] : by_status_) {
      auto& us = answers.latency_us;
      std::ranges::sort(us);
      const auto at = [&us](double part) {
        return us[std::min(us.size() - 1,
                           static_cast<std::size_t>(part * static_cast<double>(us.size())))];
      };
      std::printf(
          "%s\"%s\":{\"count\":%zu,\"bytes\":%llu,\"p50_us\":%u,\"p99_us\":%u,"
          "\"p999_us\":%u,\"max_us\":%u}",
          comma, status == kBroken ? "broken" : std::to_string(status).c_str(), us.size(),
          static_cast<unsigned long long>(answers.bytes), at(0.5), at(0.99), at(0.999), us.back());
      comma = ",";
    }
    std::printf("}}\n");
  }

 private:
  struct Answers {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> latency_us;
  };
  const Time from_;
  std::map<int, Answers> by_status_;
};

// One answer, as far as it has been received.
class Answer {
 public:
  int status = kBroken;
  std::uint64_t body_bytes = 0;
  bool must_close = false;

  // True when the answer is complete.
  bool take(std::string_view bytes) {
    if (status == kBroken) {
      head_ += bytes;
      const auto end = head_.find("\r\n\r\n");
      if (end == std::string::npos) {
        if (head_.size() > kMostHeadBytes) fail("an answer without end of its head");
        return false;
      }
      received_ = head_.size() - end - 4;
      head_.resize(end + 2);
      read_head();
    } else {
      received_ += bytes.size();
    }
    return received_ >= body_bytes;
  }

 private:
  void read_head() {
    std::ranges::transform(head_, head_.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!head_.starts_with("http/1.1 ")) fail("not an answer: " + head_);
    status = static_cast<int>(std::strtol(head_.c_str() + 9, nullptr, 10));
    const auto length = head_.find("\r\ncontent-length:");
    if (length == std::string::npos) fail("an answer without a length: " + head_);
    body_bytes = std::strtoull(head_.c_str() + length + 17, nullptr, 10);
    must_close = head_.contains("\r\nconnection: close\r\n");
  }

  std::string head_;
  std::uint64_t received_ = 0;
};

// What is asked: the same again and again, or each request of a file once.
class Requests {
 public:
  explicit Requests(const Options& options) {
    if (const std::string file = options.text("requests"); !file.empty()) {
      read(file);
      return;
    }
    std::string request = "GET " + options.text("target", "/") + " HTTP/1.1\r\nHost: ";
    request += options.text("to") + "\r\n";
    if (const std::string file = options.text("token"); !file.empty()) {
      std::string token;
      if (!(std::ifstream(file) >> token)) fail("cannot read " + file);
      request += "Authorization: Bearer " + token + "\r\n";
    }
    requests_.push_back(request + "\r\n");
  }

  [[nodiscard]] bool is_done() const noexcept { return next_ == requests_.size(); }
  // Unless it is done.
  const std::string& next() { return is_endless_ ? requests_.front() : requests_[next_++]; }

 private:
  void read(const std::string& path) {
    is_endless_ = false;
    std::ifstream file(path, std::ios::binary);
    std::array<unsigned char, 4> size{};
    while (file.read(reinterpret_cast<char*>(size.data()), size.size())) {
      std::string request(size[0] | size[1] << 8U | size[2] << 16U | std::size_t{size[3]} << 24U,
                          '\0');
      if (!file.read(request.data(), static_cast<std::streamsize>(request.size()))) break;
      requests_.push_back(std::move(request));
    }
    if (!file.eof() || file.gcount() != 0) fail("cannot read all of " + path);
  }

  bool is_endless_ = true;
  std::vector<std::string> requests_;
  std::size_t next_ = 0;
};

struct Connection {
  int descriptor = -1;
  bool is_up = false;
  bool is_busy = false;
  Time asked;
  Answer answer;
};

class Client {
 public:
  explicit Client(const Options& options)
      : tally_(start_of(options) + options.seconds("warm_up", 1)),
        start_(start_of(options)),
        measure_from_(start_ + options.seconds("warm_up", 1)),
        end_(measure_from_ + options.seconds("seconds", 5)),
        pause_(options.seconds("pause_ms", 20) / 1000),
        rate_(options.number("rate", 0)),
        requests_(options),
        connections_(static_cast<std::size_t>(options.number("connections", 64))) {
    to_ = address_in(options.text("to"));
    from_ = address_of(options.text("from", "0.0.0.0"), 0);
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1);
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    for (auto& connection : connections_) open(connection);
    std::this_thread::sleep_until(start_);
    next_arrival_ = rate_ > 0 ? start_ : Time::max();
    Time now = Clock::now();
    for (; now < end_ && !(requests_.is_done() && busy_ == 0); now = Clock::now()) {
      wait(now);
      now = Clock::now();
      for (; !pauses_.empty() && pauses_.top().first <= now; pauses_.pop()) {
        resume(connections_[pauses_.top().second], now);
      }
      for (; next_arrival_ <= now; next_arrival_ += gap()) arrivals_.push_back(next_arrival_);
      while (!arrivals_.empty() && !idle_.empty() && !requests_.is_done()) {
        Connection& connection = connections_[idle_.front()];
        idle_.pop_front();
        ask(connection, arrivals_.front());
        arrivals_.pop_front();
      }
    }
    tally_.print(std::min(now, end_) - measure_from_, arrivals_.size());
  }

 private:
  static Time start_of(const Options& options) {
    const auto at = static_cast<std::int64_t>(options.number("start_ns", 0));
    static const Time otherwise = Clock::now() + std::chrono::milliseconds(100);
    return at == 0 ? otherwise : Time(nanoseconds(at));
  }

  nanoseconds gap() {
    return duration_cast<nanoseconds>(std::chrono::duration<double>(between_(random_) / rate_));
  }

  // Handles what has happened on the connections, until the next thing to do is due.
  void wait(Time now) {
    Time due = std::min(end_, next_arrival_);
    if (!pauses_.empty()) due = std::min(due, pauses_.top().first);
    const auto left = std::max(nanoseconds(0), duration_cast<nanoseconds>(due - now));
    const timespec timeout{.tv_sec = left.count() / 1'000'000'000,
                           .tv_nsec = left.count() % 1'000'000'000};
    std::array<epoll_event, 256> events;
    const int count = epoll_pwait2(poll_, events.data(), events.size(), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      Connection& connection = connections_[events[static_cast<std::size_t>(i)].data.u64];
      if (connection.is_up) {
        receive(connection);
      } else {
        connected(connection);
      }
    }
  }

  std::size_t index_of(const Connection& connection) const {
    return static_cast<std::size_t>(&connection - connections_.data());
  }

  void open(Connection& connection) {
    const int descriptor =
        ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) fail("no more descriptors");
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&from_), sizeof from_) != 0) {
      fail("cannot use the address given with from=");
    }
    connection = {};
    connection.descriptor = descriptor;
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&to_), sizeof to_) != 0 &&
        errno != EINPROGRESS) {
      broken(connection);
      return;
    }
    watch(connection, EPOLL_CTL_ADD, EPOLLOUT);
  }

  void watch(const Connection& connection, int change, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.u64 = index_of(connection)}};
    if (epoll_ctl(poll_, change, connection.descriptor, &event) != 0) fail("epoll_ctl");
  }

  void connected(Connection& connection) {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(connection.descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) {
      broken(connection);
      return;
    }
    connection.is_up = true;
    watch(connection, EPOLL_CTL_MOD, EPOLLIN);
    resume(connection, Clock::now());
  }

  // A closed loop goes on; in an open one the connection waits for an arrival.
  void resume(Connection& connection, Time now) {
    if (!connection.is_up) {
      open(connection);
    } else if (rate_ > 0) {
      idle_.push_back(index_of(connection));
    } else if (!requests_.is_done()) {
      ask(connection, now);
    }
  }

  void pause(const Connection& connection) {
    pauses_.emplace(Clock::now() + pause_, index_of(connection));
  }

  void ask(Connection& connection, Time asked) {
    connection.asked = asked;
    connection.is_busy = true;
    connection.answer = {};
    ++busy_;
    const std::string& request = requests_.next();
    const auto sent = ::send(connection.descriptor, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request.size())) broken(connection);
  }

  void receive(Connection& connection) {
    const auto count = ::recv(connection.descriptor, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0 || !connection.is_busy) {
      broken(connection);
      return;
    }
    if (!connection.answer.take({buffer_.data(), static_cast<std::size_t>(count)})) return;
    const Answer& answer = connection.answer;
    const Time now = Clock::now();
    tally_.note(answer.status, answer.body_bytes, connection.asked, now);
    connection.is_busy = false;
    --busy_;
    const bool was_refused = answer.status >= 400;
    if (answer.must_close) close(connection);
    if (was_refused && rate_ == 0) {
      pause(connection);
    } else {
      resume(connection, now);
    }
  }

  // Its peer closed it, or answered without being asked. Counts if an answer was owed.
  void broken(Connection& connection) {
    if (connection.is_busy) tally_.note(kBroken, 0, connection.asked, Clock::now());
    std::erase(idle_, index_of(connection));
    close(connection);
    pause(connection);
  }

  void close(Connection& connection) {
    ::close(connection.descriptor);
    connection.is_up = false;
    if (connection.is_busy) --busy_;
    connection.is_busy = false;
  }

  Tally tally_;
  const Time start_;
  const Time measure_from_;
  const Time end_;
  const nanoseconds pause_;
  const double rate_;
  sockaddr_in to_{};
  sockaddr_in from_{};
  Requests requests_;
  int poll_ = -1;
  std::size_t busy_ = 0;  // connections that are owed an answer
  std::vector<Connection> connections_;
  std::deque<std::size_t> idle_;
  std::deque<Time> arrivals_;  // that wait for a connection
  Time next_arrival_;
  using Pause = std::pair<Time, std::size_t>;
  std::priority_queue<Pause, std::vector<Pause>, std::greater<>> pauses_;
  std::mt19937_64 random_{1};
  std::exponential_distribution<double> between_{1.0};
  std::vector<char> buffer_ = std::vector<char>(256 * 1024);
};

}  // namespace
}  // namespace ron::bench

int main(int count, char** arguments) {
  const ron::bench::Options options(count, arguments);
  ron::bench::Client(options).run();
}
