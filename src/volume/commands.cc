#include "volume/commands.h"

namespace ron::volume {
namespace {

struct PayloadBytes {
  std::uint64_t operator()(const PutCommand& command) const { return command.object.bytes.size(); }
  std::uint64_t operator()(const PartCommand& command) const { return command.part.bytes.size(); }
  std::uint64_t operator()(const CommitCommand&) const { return kPartBytes; }  // may copy its part
  std::uint64_t operator()(const CopyCommand& command) const {
    std::uint64_t sum = 0;
    for (const Copy& copy : command.copies) sum += copy.payload.size();
    return sum;
  }
  template <class Other>
  std::uint64_t operator()(const Other&) const {
    return 0;
  }
};

struct Refuse {
  const base::Error& error;
  template <class Owing>
  void operator()(Owing& command) const {
    if constexpr (requires { command.reply; }) std::move(command.reply).send(base::fail(error));
  }
};

}  // namespace

std::uint64_t payload_bytes(const Command& command) noexcept {
  return std::visit(PayloadBytes{}, command);
}

void has_arrived(Command& command) noexcept {
  if (auto* const put = std::get_if<PutCommand>(&command)) put->object.announced.withdraw();
  if (auto* const part = std::get_if<PartCommand>(&command)) part->part.announced.withdraw();
}

void refuse(Command command, const base::Error& error) { std::visit(Refuse{error}, command); }

}  // namespace ron::volume
