// The offline verification of a registry's directory: everything in it is read and held against
// everything else, without changing it and without a server.
//
//   <dir>/log            every frame, and every entry by the rules of the log (log_check.h)
//   <dir>/checkpoints    signatures; what they say of the chain, the tree and the state; snapshots
//   <dir>/tree           the leaves of the entries, the levels above them, the roots
//   <dir>/pending        every frame of the journal, and the signatures of its approvals
//
// What does not count, and is not looked at: what the files of the tree hold behind the newest
// checkpoint and what a segment holds behind its end, which every start cuts off or skips;
// snapshots without a note; quarantined bytes; files with other names. The times of versions that
// no checkpoint covers are not signed by anybody: only a kept checkpoint proves them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "auth/ed25519.h"
#include "base/result.h"
#include "chain/log_check.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

// A checkpoint that somebody kept elsewhere: the log must still be the one it was.
struct KeptNote {
  std::string where;
  std::string note;
};

struct VerifyOptions {
  platform::Disk* disk = nullptr;
  std::string directory;
  // What checkpoints are verified with. Nothing: their signatures are not, which is said once.
  std::optional<auth::PublicKey> key;
  std::vector<KeptNote> kept;
  OnProblem on_problem;
  std::function<void(std::uint64_t version)> on_entry;  // progress; must not wait
};

struct LogVerdict {
  std::uint64_t first = 0;  // the first version that is there
  std::uint64_t entries = 0;
  std::uint64_t replayed = 0;     // whose change was checked against the state before
  std::uint64_t with_quorum = 0;  // whose signatures were
  std::uint64_t checkpoints = 0;  // those kept elsewhere included
  std::uint64_t pending = 0;      // proposals
  std::uint64_t torn_bytes = 0;   // at the end, of what was never acknowledged
  std::uint64_t problems = 0;
  std::optional<Head> head;
  std::optional<base::ObjectId> log;
};

// PreconditionFailed while a process uses the log; NotFound if there is none; else the disk's
// errors. Everything that is wrong with the log goes to on_problem. `options` outlives the task.
// Cancel-safe.
platform::Task<base::Result<LogVerdict>> verify_log(const VerifyOptions* options);

}  // namespace ron::chain
