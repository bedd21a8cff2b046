#include "platform/posix/net.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/contract_world.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/host.h"

namespace ron::platform::posix {
namespace {

// Empty where `fd` is not a TCP socket.
std::string congestion_control(int fd) {
  std::array<char, 16> name{};
  socklen_t length = name.size();
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return {};
  return name.data();
}

// Of every TCP socket this process has.
std::vector<std::string> congestion_controls() {
  std::vector<std::string> found;
  for (int fd = 0; fd < 256; ++fd) {
    if (std::string name = congestion_control(fd); !name.empty()) found.push_back(std::move(name));
  }
  return found;
}

Task<void> meet(Net* net, Endpoint where, std::vector<std::string>* controls) {
  auto listener = net->listen(where);
  if (!listener) ADD_FAILURE() << listener.error().message;
  if (!listener) co_return;
  auto client = net->connect(Endpoint::loopback((*listener)->local().port));
  const std::unique_ptr<Stream> server = co_await test::accept(listener->get());
  EXPECT_NE(server, nullptr);
  *controls = congestion_controls();
}

std::vector<std::string> controls_of_meeting_at(const char* where) {
  PosixHost machine;
  std::vector<std::string> controls;
  std::vector<Task<void>> tasks;
  tasks.push_back(meet(&machine.host().net, *Endpoint::parse(where), &controls));
  EXPECT_TRUE(test::run_tasks(machine, std::move(tasks)));
  return controls;
}

std::string system_control() {
  const Descriptor untouched(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return congestion_control(untouched.get());
}

// The system's, unless that one paces.
std::string loopback_control() {
  return system_control().starts_with("bbr") ? "reno" : system_control();
}

TEST(SocketNet, StreamsInsideTheMachineAreNotPaced) {
  EXPECT_EQ(controls_of_meeting_at("127.0.0.1:0"), std::vector<std::string>(3, loopback_control()));
}

TEST(SocketNet, AListenerForEveryAddressKeepsTheSystemsCongestionControl) {
  std::vector<std::string> expected(2, system_control());  // the listener's and the accepted one
  expected.push_back(loopback_control());                  // the client's, which went to loopback
  EXPECT_THAT(controls_of_meeting_at("0.0.0.0:0"), testing::UnorderedElementsAreArray(expected));
}

// The value of a socket option for every TCP socket of a meeting: listener, client and accepted.
struct Option {
  int level;
  int name;
};

std::vector<int> values(Option option) {
  std::vector<int> found;
  for (int fd = 0; fd < 256; ++fd) {
    int value = -1;
    socklen_t length = sizeof value;
    if (congestion_control(fd).empty()) continue;
    if (getsockopt(fd, option.level, option.name, &value, &length) == 0) found.push_back(value);
  }
  return found;
}

Task<void> meet_and_look(Net* net, std::vector<Option> options,
                         std::vector<std::vector<int>>* found) {
  auto listener = net->listen(Endpoint::loopback(0));
  if (!listener) ADD_FAILURE() << listener.error().message;
  if (!listener) co_return;
  auto client = net->connect(Endpoint::loopback((*listener)->local().port));
  const std::unique_ptr<Stream> server = co_await test::accept(listener->get());
  EXPECT_NE(server, nullptr);
  for (const Option option : options) found->push_back(values(option));
}

TEST(SocketNet, StreamsSendAtOnceAndNoticeAPeerThatVanished) {
  PosixHost machine;
  std::vector<std::vector<int>> found;
  std::vector<Task<void>> tasks;
  tasks.push_back(meet_and_look(
      &machine.host().net,
      {{IPPROTO_TCP, TCP_NODELAY}, {SOL_SOCKET, SO_KEEPALIVE}, {IPPROTO_TCP, TCP_KEEPIDLE}},
      &found));
  EXPECT_TRUE(test::run_tasks(machine, std::move(tasks)));
  EXPECT_EQ(found, (std::vector<std::vector<int>>{{1, 1, 1}, {1, 1, 1}, {60, 60, 60}}));
}

// How much of a stream's bytes are taken while nobody reads them.
Task<void> write_to_nobody(Net* net, bool keep_little, std::size_t* taken) {
  auto listener = net->listen(Endpoint::loopback(0));
  if (!listener) ADD_FAILURE() << listener.error().message;
  if (!listener) co_return;
  auto client = net->connect(Endpoint::loopback((*listener)->local().port));
  const std::unique_ptr<Stream> server = co_await test::accept(listener->get());
  EXPECT_NE(server, nullptr);
  if (keep_little) server->keep_little_unsent();
  const std::string piece(512, 'x');
  const base::ByteView bytes = base::as_bytes(piece);
  for (;;) {
    const IoResult written = server->try_write({&bytes, 1});
    if (!written.ok()) break;
    *taken += written.bytes;
  }
}

std::size_t taken_from_nobody(bool keep_little) {
  PosixHost machine;
  std::size_t taken = 0;
  std::vector<Task<void>> tasks;
  tasks.push_back(write_to_nobody(&machine.host().net, keep_little, &taken));
  EXPECT_TRUE(test::run_tasks(machine, std::move(tasks)));
  return taken;
}

TEST(SocketNet, AStreamThatKeepsLittleUnsentBlocksSoonForWhoeverDoesNotRead) {
  const std::size_t usual = taken_from_nobody(false);
  const std::size_t little = taken_from_nobody(true);
  EXPECT_GT(little, 0);
  EXPECT_LT(2 * little, usual);
}

}  // namespace
}  // namespace ron::platform::posix
