// Frames of the journal: replayed, or refused as damaged; what is replayed is written the same.
#include <cstdint>
#include <cstdlib>

#include "services/registry/proposal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron;
  const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  registry::JournalReplay said;
  if (!registry::replay(bytes, said)) return 0;
  for (const auto& [id, proposal] : said.pending) {
    registry::JournalReplay again;
    const std::string frame = registry::journal_proposal(proposal);
    if (!registry::replay(base::as_bytes(frame), again) || !again.pending.contains(id)) {
      std::abort();
    }
  }
  for (const registry::Withdrawn& one : said.withdrawn) {
    registry::JournalReplay again;
    const std::string frame = registry::journal_withdrawn(one);
    if (!registry::replay(base::as_bytes(frame), again) || again.withdrawn.size() != 1) {
      std::abort();
    }
  }
  return 0;
}
