// bench_registry: a client of the registry's benchmarks, with a number of kept connections to one
// server, each with one request under way. Usage:
//
//   bench_registry do=ready to=HOST:PORT token=FILE signers=ID:PEM,ID:PEM count=N out=FILE
//   bench_registry do=way   to=HOST:PORT token=FILE signers=ID:PEM,ID:PEM seconds=5
//   bench_registry do=commit to=HOST:PORT token=FILE in=FILE count=N [skip=N]
//   bench_registry do=put   to=HOST:PORT count=N
//   all: [connections=64] [warm_up=1]
//
// `ready` proposes and approves, and writes down the ids of the proposals that could be committed;
// `commit` commits them; `way` goes from the proposal to the commit; `put` is the same number of
// bytes for etcd through its JSON gateway. What is signed is not known before the proposal is
// answered, so that this program signs while it runs; it says how much of its CPU that and
// everything else took.
//
// The result is one line of JSON: how many of the last step were answered as wanted after the
// warm-up, in how many microseconds, and of a `way` as a whole.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "options.h"

namespace ron::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr std::size_t kNames = 1000;  // descriptors, or keys, that the requests are about
// What a version of one of these descriptors takes in the log, and so what is put in its place.
constexpr std::size_t kValueBytes = 480;

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

class Signer {
 public:
  // ID:FILE
  explicit Signer(std::string_view given) : id_(given.substr(0, given.find(':'))) {
    const std::string path(given.substr(given.find(':') + 1));
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (file == nullptr) fail("cannot read " + path);
    key_.reset(PEM_read_PrivateKey(file, nullptr, nullptr, nullptr));
    std::fclose(file);
    if (!key_) fail("no key in " + path);
  }

  std::string approval_of(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    std::array<unsigned char, 64> signature{};
    std::size_t length = signature.size();
    if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), signature.data(), &length,
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1) {
      fail("cannot sign");
    }
    return R"({"signer":")" + id_ + R"(","signature":")" +
           base64({reinterpret_cast<const char*>(signature.data()), length}) + "\"}";
  }

 private:
  std::string id_;
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_{nullptr, EVP_PKEY_free};
};

// The text of a member of a JSON object; of its escapes only \n occurs in what is read here.
std::string member(std::string_view json, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":\"";
  const auto begin = json.find(key);
  if (begin == std::string_view::npos) fail("no " + std::string(name) + " in " + std::string(json));
  std::string out;
  for (auto at = begin + key.size(); at < json.size() && json[at] != '"'; ++at) {
    if (json[at] != '\\') {
      out += json[at];
    } else if (json[++at] == 'n') {
      out += '\n';
    } else {
      fail("an escape in " + std::string(json));
    }
  }
  return out;
}

// One answer, as far as it has been received.
struct Answer {
  std::string bytes;
  std::size_t head_bytes = 0;
  std::size_t total = 0;

  bool take(std::string_view received) {
    bytes += received;
    if (head_bytes == 0) {
      const auto end = bytes.find("\r\n\r\n");
      if (end == std::string::npos) return false;
      head_bytes = end + 4;
      constexpr std::string_view kLength = "content-length:";
      const auto same = [](char a, char b) { return std::tolower(a) == b; };
      const auto field = std::search(bytes.begin(), bytes.begin() + static_cast<long>(end),
                                     kLength.begin(), kLength.end(), same);
      if (field == bytes.begin() + static_cast<long>(end)) fail("no length: " + bytes);
      total = head_bytes + std::strtoull(&*field + kLength.size(), nullptr, 10);
    }
    return bytes.size() >= total;
  }
  int status() const { return static_cast<int>(std::strtol(bytes.c_str() + 9, nullptr, 10)); }
  std::string_view body() const { return std::string_view(bytes).substr(head_bytes); }
  void clear() {
    bytes.clear();
    head_bytes = total = 0;
  }
};

enum class Step : std::uint8_t { Propose, Approve, Commit, Put };
constexpr std::array<int, 4> kWanted = {202, 200, 201, 200};

struct Connection {
  int descriptor = -1;
  Step step = Step::Propose;
  std::size_t approvals = 0;
  std::string id;
  std::string text;
  Time began;
  Time asked;
  Answer answer;
};

class Client {
 public:
  explicit Client(const Options& options)
      : what_(options.text("do")),
        count_(static_cast<std::size_t>(options.number("count", 1e9))),
        warm_up_(options.seconds("warm_up", 1)),
        seconds_(options.seconds("seconds", 1e6)),
        connections_(static_cast<std::size_t>(options.number("connections", 64))) {
    const std::string to = options.text("to");
    to_ = address_in(to);
    common_ = " HTTP/1.1\r\nHost: " + to + "\r\nContent-Type: application/json\r\n";
    if (const std::string file = options.text("token"); !file.empty()) {
      std::string token;
      if (!(std::ifstream(file) >> token)) fail("cannot read " + file);
      common_ += "Authorization: Bearer " + token + "\r\n";
    }
    const std::string signers = options.text("signers");
    for (std::size_t at = 0; at < signers.size();) {
      const auto comma = std::min(signers.find(',', at), signers.size());
      signers_.emplace_back(signers.substr(at, comma - at));
      at = comma + 1;
    }
    if (what_ == "commit") {
      std::ifstream in(options.text("in"));
      for (std::string id; in >> id;) ids_.push_back(id);
      next_ = static_cast<std::size_t>(options.number("skip", 0));
      count_ = std::min(count_, ids_.size() - std::min(next_, ids_.size()));
    }
    if (what_ == "ready") out_.open(options.text("out"));
  }

  void run() {
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    for (auto& connection : connections_) open(connection);
    start_ = Clock::now();
    measure_from_ = start_ + warm_up_;
    end_ = measure_from_ + seconds_;
    for (auto& connection : connections_) begin(connection);
    std::array<epoll_event, 256> events;
    while (busy_ > 0) {
      const int count = epoll_wait(poll_, events.data(), events.size(), 10000);
      if (count == 0) fail("no answer in ten seconds");
      for (int i = 0; i < count; ++i) {
        receive(connections_[events[static_cast<std::size_t>(i)].data.u64]);
      }
    }
    print();
  }

 private:
  void open(Connection& connection) {
    connection.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    const int on = 1;
    setsockopt(connection.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(connection.descriptor, reinterpret_cast<const sockaddr*>(&to_), sizeof to_) !=
        0) {
      fail("cannot connect");
    }
    const auto index = static_cast<std::size_t>(&connection - connections_.data());
    epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, connection.descriptor, &event) != 0) fail("epoll_ctl");
  }

  void send(Connection& connection, Step step, std::string_view target, std::string_view body) {
    std::string request = "POST ";
    request.append(target).append(common_).append("Content-Length: ");
    request.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    connection.step = step;
    connection.answer.clear();
    connection.asked = Clock::now();
    const auto sent = ::send(connection.descriptor, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request.size())) fail("cannot send");
  }

  // The first request of another round, unless it is enough.
  void begin(Connection& connection) {
    if (begun_ == count_ || Clock::now() >= end_) {
      if (busy_ > 0 && connection.began != Time()) --busy_;
      return;
    }
    if (connection.began == Time()) ++busy_;
    const std::size_t number = begun_++;
    connection.began = Clock::now();
    const std::string name = "node-" + std::to_string(number % kNames);
    const std::string url = "http://198.18.0.1:" + std::to_string(10000 + number % 50000);
    if (what_ == "commit") {
      send(connection, Step::Commit, "/registry/commit/" + ids_[next_++], "");
    } else if (what_ == "put") {
      std::string value = R"({"type":"node","id":")" + name + R"(","url":")" + url + "\"}";
      value.resize(kValueBytes, ' ');
      send(connection, Step::Put, "/v3/kv/put",
           R"({"key":")" + base64("node/" + name) + R"(","value":")" + base64(value) + "\"}");
    } else {
      connection.approvals = 0;
      send(connection, Step::Propose, "/registry/proposals",
           R"({"change":{"kind":"update","set":[{"type":"node","id":")" + name + R"(","url":")" +
               url + R"("}],"remove":[]}})");
    }
  }

  void approve(Connection& connection) {
    send(connection, Step::Approve, "/registry/approvals/" + connection.id,
         signers_[connection.approvals++].approval_of(connection.text));
  }

  void receive(Connection& connection) {
    const auto count = ::recv(connection.descriptor, buffer_.data(), buffer_.size(), 0);
    if (count <= 0) fail("a connection was closed");
    if (!connection.answer.take({buffer_.data(), static_cast<std::size_t>(count)})) return;
    const auto step = static_cast<std::size_t>(connection.step);
    const Time now = Clock::now();
    if (connection.answer.status() != kWanted[step]) fail(connection.answer.bytes);
    note(steps_[step], connection.asked, now);
    if (connection.step == Step::Propose) {
      connection.id = member(connection.answer.body(), "proposal");
      connection.text = member(connection.answer.body(), "sign");
      approve(connection);
    } else if (connection.step == Step::Approve && connection.approvals < signers_.size()) {
      approve(connection);
    } else if (connection.step == Step::Approve && what_ == "way") {
      send(connection, Step::Commit, "/registry/commit/" + connection.id, "");
    } else {
      if (what_ == "ready") out_ << connection.id << "\n";
      note(whole_, connection.began, now);
      last_ = now;
      begin(connection);
    }
  }

  void note(std::vector<std::uint32_t>& tally, Time from, Time now) const {
    if (now < measure_from_) return;
    tally.push_back(static_cast<std::uint32_t>(duration_cast<microseconds>(now - from).count()));
  }

  static void print_tally(const char* name, std::vector<std::uint32_t>& us) {
    if (us.empty()) return;
    std::ranges::sort(us);
    const auto at = [&us](double part) {
      return us[std::min(us.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(us.size())))];
    };
    std::printf(",\"%s\":{\"count\":%zu,\"p50_us\":%u,\"p99_us\":%u,\"max_us\":%u}", name,
                us.size(), at(0.5), at(0.99), us.back());
  }

  void print() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    const double wall = std::chrono::duration<double>(Clock::now() - start_).count();
    std::printf("{\"seconds\":%.6f,\"client_busy\":%.3f",
                std::chrono::duration<double>(last_ - measure_from_).count(),
                (seconds(used.ru_utime) + seconds(used.ru_stime)) / wall);
    print_tally("whole", whole_);
    print_tally("propose", steps_[0]);
    print_tally("approve", steps_[1]);
    print_tally("commit", steps_[2]);
    print_tally("put", steps_[3]);
    std::printf("}\n");
  }

  const std::string what_;
  std::size_t count_;
  const std::chrono::nanoseconds warm_up_;
  const std::chrono::nanoseconds seconds_;
  std::vector<Connection> connections_;
  sockaddr_in to_{};
  std::string common_;
  std::vector<Signer> signers_;
  std::vector<std::string> ids_;
  std::size_t next_ = 0;
  std::size_t begun_ = 0;
  std::size_t busy_ = 0;
  std::ofstream out_;
  int poll_ = -1;
  Time start_;
  Time measure_from_;
  Time end_;
  Time last_;
  std::array<std::vector<std::uint32_t>, 4> steps_;
  std::vector<std::uint32_t> whole_;
  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

}  // namespace
}  // namespace ron::bench

int main(int count, char** arguments) {
  const ron::bench::Options options(count, arguments);
  ron::bench::Client(options).run();
}
