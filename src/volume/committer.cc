#include "volume/committer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/about.h"
#include "volume/planner.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

constexpr base::Duration kSpaceCheckEvery = 100ms;
constexpr base::Duration kProbeEvery = 1s;
constexpr platform::BlockingKind kPackPages{"pack_pages", 10s};

base::Error recovering_error() { return {Code::Degraded, "the volume's index is being rebuilt"}; }

// Frees space or needs next to none: allowed when the disk is full.
bool frees_space(const Command& command) noexcept {
  return !std::holds_alternative<PutCommand>(command) &&
         !std::holds_alternative<PartCommand>(command) &&
         !std::holds_alternative<BeginCommand>(command) &&
         !std::holds_alternative<CommitCommand>(command);
}

bool runs_between(const Command& command) noexcept {
  return std::holds_alternative<SealCommand>(command) ||
         std::holds_alternative<PauseCommand>(command) ||
         std::holds_alternative<LinkCommand>(command) ||
         std::holds_alternative<DropCommand>(command);
}

base::Buffer buffer_of(std::string_view text) {
  base::Buffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

}  // namespace

void Committer::start_at(LogPosition end, std::uint64_t next_segment, bool after_failure) {
  end_ = end;
  must_close_ = after_failure;
  next_segment_ = std::max(next_segment, end.segment + 1);
  forget_segment();
  writing_ = indexing_ = false;
  unflushed_bytes_ = unflushed_records_ = 0;
}

Task<void> Committer::run(runtime::Shutdown shutdown) {
  // An earlier run ended in the middle of a batch, of which nobody was told. If it had come to the
  // index, that may know of it, though the log will not and the ledger does not.
  if (indexing_) state_->report_damaged_index();
  indexing_ = false;
  if (writing_) co_await abandon_segment();
  while (!deferred_.empty()) co_await commit(std::exchange(deferred_, {}));
  for (;;) {
    std::optional<Command> command = co_await first_job(shutdown);
    if (!command) break;
    if (!runs_between(*command)) {
      Commands commands;
      has_arrived(*command);
      commands.push_back(std::move(*command));
      command = co_await gather(&commands);
      co_await commit(std::move(commands));
      while (!deferred_.empty()) co_await commit(std::exchange(deferred_, {}));
    }
    if (command) co_await between(std::move(*command));
  }
  co_await leave_segment();
  // What failed, and perhaps could not be cut off, shall not be back after the next start.
  if (must_close_) static_cast<void>(co_await close_log());
  static_cast<void>(co_await flush_index());
}

// The next command, or nothing when it is time to stop. While writes fail, what keeps them from
// working is tried every second, so that health recovers without traffic.
Task<std::optional<Command>> Committer::first_job(runtime::Shutdown shutdown) {
  for (;;) {
    const bool troubled = !state_->recovering() && !state_->health().writable;
    if (!troubled) {
      auto command = co_await commands_->recv_or_stop(shutdown);
      if (!command) co_return std::nullopt;
      co_return std::move(*command);
    }
    auto command = co_await commands_->recv(runtime::Deadline::in(kProbeEvery));
    if (command) co_return std::move(*command);
    if (command.error() == runtime::Waited::Closed || shutdown.requested()) co_return std::nullopt;
    co_await probe();
  }
}

Task<std::optional<Command>> Committer::gather(Commands* commands) {
  const runtime::Deadline window = runtime::Deadline::in(state_->tuning().commit_window);
  std::uint64_t bytes = 0;
  for (const Command& command : *commands) bytes += payload_bytes(command);
  while (commands->size() < kBatchCommands && bytes < kBatchBytes) {
    std::optional<Command> command = commands_->try_recv();
    if (!command) {
      const ComingWrites* const coming = state_->options().coming_writes;
      const bool more = coming != nullptr && coming->any();
      if (!more || window.passed()) break;
      auto received = co_await commands_->recv(window);
      if (!received) break;
      command = std::move(*received);
    }
    if (runs_between(*command)) co_return command;
    has_arrived(*command);
    bytes += payload_bytes(*command);
    commands->push_back(std::move(*command));
  }
  co_return std::nullopt;
}

Task<void> Committer::commit(Commands commands) {
  if (state_->recovering()) {
    for (Command& command : commands) refuse(std::move(command), recovering_error());
    co_return;
  }
  std::uint64_t needed = 0;
  for (const Command& command : commands) needed += payload_bytes(command);
  auto room = co_await check_space(needed);
  if (!room) {
    const base::Error why = note_failure(room.error());
    Commands allowed;
    for (Command& command : commands) {
      if (frees_space(command)) {
        allowed.push_back(std::move(command));
      } else {
        refuse(std::move(command), why);
      }
    }
    commands = std::move(allowed);
  }
  const std::uint64_t offset = file_ ? end_.offset : 0;
  if (offset != 0 && offset + needed > state_->options().segment_bytes) co_await leave_segment();
  const LogPosition after =
      file_ ? end_ : LogPosition{next_segment_, std::uint64_t{kSegmentHeadBytes}};
  // A large batch has its pages to itself, so that no page is ever written both ways, nor again
  // while it may be read.
  const bool large = needed >= state_->options().direct_bytes;
  const IndexPtr index = state_->index();
  Batch batch(Draft(index.get(), &state_->ledger()), state_->identity.seal, after,
              large || page_is_full_);
  auto done = co_await plan_all(&commands, &batch);
  if (done && must_close_ && !batch.has_records()) done = co_await close_log();
  if (done && !batch.draft().empty()) done = co_await write(&batch, large);
  if (!done) {
    if (done.error().code == Code::IntegrityFail) {
      state_->report_damaged_index();
      done = base::fail(recovering_error());
    } else {
      done = base::fail(note_failure(done.error()));
    }
    batch.answer_all(&done.error());
    for (Command& command : commands) refuse(std::move(command), done.error());
    co_return;
  }
  if (room && batch.has_records()) state_->set_write_trouble("");
  batch.answer_all(nullptr);
  const bool much = unflushed_bytes_ > kReplayBytes || unflushed_records_ > kReplayRecords;
  if (much) static_cast<void>(co_await flush_index());
}

// Plans every command; `commands` keeps those that were not. Deferred ones wait for the next batch.
Task<Result<void>> Committer::plan_all(Commands* commands, Batch* batch) {
  for (std::size_t i = 0; i < commands->size(); ++i) {
    auto planned = co_await plan(state_, batch, &(*commands)[i]);
    if (!planned) {
      commands->erase(commands->begin(), commands->begin() + static_cast<std::ptrdiff_t>(i));
      co_return base::fail(std::move(planned.error()));
    }
    if (*planned == Planned::Deferred) {
      // Whatever follows waits too: it may depend on this one.
      for (; i < commands->size(); ++i) deferred_.push_back(std::move((*commands)[i]));
    }
  }
  commands->clear();
  co_return Result<void>();
}

// Makes the batch durable, then visible. After a failure the log ends where it did.
Task<Result<void>> Committer::write(Batch* batch, bool large) {
  writing_ = true;
  if (batch->has_records()) {
    auto logged = co_await write_log(batch, large);
    if (!logged) {
      co_await abandon_segment();
      co_return logged;
    }
    batch->draft().set_position(batch->segment(), batch->end().offset);
  }
  auto indexed = co_await write_index(&batch->draft());
  if (!indexed) {
    co_await abandon_segment();
    co_return indexed;
  }
  if (batch->has_records()) {
    const std::uint64_t bytes = batch->end().offset - batch->start().offset;
    unflushed_bytes_ += bytes;
    unflushed_records_ += batch->records();
    free_bytes_ -= std::min(free_bytes_, bytes);
    state_->free_bytes.store(free_bytes_, std::memory_order_relaxed);
    end_ = batch->end();
    must_close_ = false;
  }
  writing_ = false;
  co_return Result<void>();
}

Task<Result<void>> Committer::write_index(Draft* draft) {
  const IndexPtr index = state_->index();
  indexing_ = true;
  auto indexed = co_await index->write(draft->take_batch());
  // Whether a failed batch is in the index cannot be known.
  if (!indexed) state_->report_damaged_index();
  if (indexed) state_->commit(*draft);
  indexing_ = false;
  co_return indexed;
}

Task<Result<void>> Committer::write_log(Batch* batch, bool large) {
  if (!file_) {
    auto opened = co_await open_segment();
    if (!opened) co_return opened;
  }
  std::vector<base::Buffer> pieces = batch->take_pieces();
  if (large) pieces = co_await packed(std::move(pieces));
  const std::shared_ptr<platform::File> file = large ? direct_ : file_;
  page_is_full_ = large;
  auto written = co_await file->write_gather(batch->start().offset, std::move(pieces));
  if (!written) co_return base::fail(std::move(written.error()));
  if (state_->options().skip_sync) co_return Result<void>();
  auto synced = co_await file_->sync();
  if (!synced) co_return synced;
  if (name_is_durable_) co_return Result<void>();
  auto named = co_await state_->host().disk.sync_directory(state_->segments_path());
  name_is_durable_ = named.has_value();
  co_return named;
}

// Megabytes are copied, which no core should stand still for; if the pool is busy, it must.
Task<std::vector<base::Buffer>> Committer::packed(std::vector<base::Buffer> pieces) {
  const auto held = std::make_shared<std::vector<base::Buffer>>(std::move(pieces));
  auto pages = co_await state_->host().blocking.run(kPackPages,
                                                    [held] { return in_pages(std::move(*held)); });
  co_return pages ? std::move(*pages) : in_pages(std::move(*held));
}

// Creates the next segment with its head, which becomes durable with what follows.
Task<Result<void>> Committer::open_segment() {
  writing_ = true;
  segment_ = next_segment_++;
  name_is_durable_ = false;
  platform::Disk& disk = state_->host().disk;
  const std::string path = state_->segment_path(segment_);
  auto file = co_await disk.open(path, {platform::OpenMode::CreateNew, false});
  if (!file) co_return base::fail(std::move(file.error()));
  file_ = std::move(*file);
  auto direct = co_await disk.open(path, {platform::OpenMode::WriteExisting, true});
  if (!direct) co_return base::fail(std::move(direct.error()));
  direct_ = std::move(*direct);
  const SegmentHead head{state_->identity, segment_, end_};
  auto written = co_await file_->write_at(0, buffer_of(encode(head)));
  if (!written) co_return base::fail(std::move(written.error()));
  state_->add_segment(std::make_shared<Segment>(Segment{segment_, end_, file_}));
  co_return Result<void>();
}

// Goes on in a new segment. What fills the last page is cut off; if that fails, the next start sees
// by the head of the new segment that it does not count.
Task<void> Committer::leave_segment() {
  const bool padded = page_is_full_;
  const std::shared_ptr<platform::File> file = forget_segment();
  if (file && padded) static_cast<void>(co_await file->truncate(end_.offset));
}

std::shared_ptr<platform::File> Committer::forget_segment() noexcept {
  direct_.reset();
  page_is_full_ = false;
  return std::exchange(file_, nullptr);
}

// Nobody appends behind bytes of unknown state. What was not acknowledged is cut off if that is
// possible; the head of the next segment says so in any case.
Task<void> Committer::abandon_segment() {
  writing_ = false;
  must_close_ = true;
  const std::shared_ptr<platform::File> file = forget_segment();
  if (end_.segment == segment_) {
    if (file) static_cast<void>(co_await file->truncate(end_.offset));
    co_return;
  }
  state_->remove_segment(segment_);
  if (segment_ != 0) {
    static_cast<void>(co_await state_->host().disk.remove(state_->segment_path(segment_)));
  }
}

// What clients are told.
base::Error Committer::note_failure(const base::Error& error) {
  state_->failed_writes.fetch_add(1, std::memory_order_relaxed);
  state_->set_write_trouble(error.code == Code::StorageFull ? "disk full" : "disk errors");
  return state_->for_client(error);
}

Task<Result<void>> Committer::check_space(std::uint64_t needed) {
  const std::uint64_t least = state_->tuning().min_free_bytes;
  const platform::TimePoint now = platform::Executor::current()->now();
  const bool close = free_bytes_ < least + needed + kBatchBytes;
  if (close || now - free_checked_ >= kSpaceCheckEvery) {
    auto free = co_await state_->host().disk.free_bytes(state_->options().directory);
    if (!free) co_return base::fail(std::move(free.error()));
    free_bytes_ = *free;
    free_checked_ = now;
    state_->free_bytes.store(*free, std::memory_order_relaxed);
  }
  if (free_bytes_ >= least + needed) co_return Result<void>();
  co_return base::fail(
      base::Error(Code::StorageFull, "the disk is full: " + base::about(free_bytes_) +
                                         " are free, of which storage.min_free_bytes keeps " +
                                         base::about(least))
          .with("free_bytes", std::to_string(free_bytes_))
          .with("min_free_bytes", std::to_string(least))
          .with("needed_bytes", std::to_string(needed)));
}

// Tries whether writing works again: by a new segment, since that is what the next write needs.
Task<void> Committer::probe() {
  auto room = co_await check_space(0);
  if (!room) co_return;
  auto closed = co_await close_log();
  if (!closed) {
    state_->report_trouble(closed.error());
    co_return;
  }
  state_->set_write_trouble("");
}

// Begins a segment that has nothing in it yet, durably: its head says where the log ends. Without
// it a write that failed might be back after a power cut, although its absence was acknowledged.
Task<Result<void>> Committer::close_log() {
  if (file_) co_return Result<void>();
  auto opened = co_await open_segment();
  if (opened) opened = co_await file_->sync();
  if (opened) opened = co_await state_->host().disk.sync_directory(state_->segments_path());
  if (!opened) {
    co_await abandon_segment();
    co_return opened;
  }
  name_is_durable_ = true;
  end_ = {segment_, kSegmentHeadBytes};
  must_close_ = writing_ = false;
  co_return Result<void>();
}

Task<Result<void>> Committer::flush_index() {
  const IndexPtr index = state_->index();
  if (!index) co_return Result<void>();
  auto flushed = co_await index->flush();
  if (flushed) unflushed_bytes_ = unflushed_records_ = 0;
  if (!flushed && flushed.error().code == Code::IntegrityFail) state_->report_damaged_index();
  co_return flushed;
}

Task<void> Committer::between(Command command) {
  if (auto* seal = std::get_if<SealCommand>(&command)) {
    co_await leave_segment();
    std::move(seal->reply).send(true);
  } else if (auto* pause = std::get_if<PauseCommand>(&command)) {
    co_await leave_segment();
    std::move(pause->reply).send(true);
  } else if (auto* linked = std::get_if<LinkCommand>(&command)) {
    Result<bool> done = co_await link(linked);
    std::move(linked->reply).send(std::move(done));
  } else if (auto* dropped = std::get_if<DropCommand>(&command)) {
    Result<bool> done = co_await drop(dropped);
    std::move(dropped->reply).send(std::move(done));
  }
}

// Whatever is written from now on is in a new segment. The head of a last one, which is nobody
// else's, closes the log of the directory where it ends now. Sharing a file with the directory
// costs nothing: what counts of it never changes, and what does not is told by the heads.
Task<Result<bool>> Committer::link(LinkCommand* command) {
  if (state_->recovering()) co_return base::fail(recovering_error());
  co_await leave_segment();
  platform::Disk& disk = state_->host().disk;
  for (const SegmentPtr& segment : state_->segments()) {
    auto linked = co_await disk.link(state_->segment_path(segment->number),
                                     command->directory + "/" + segment_name(segment->number));
    if (!linked) co_return base::fail(std::move(linked.error()));
  }
  const SegmentHead head{state_->identity, next_segment_, end_};
  auto file = co_await disk.open(command->directory + "/" + segment_name(next_segment_),
                                 {platform::OpenMode::CreateNew, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto written = co_await (*file)->write_at(0, buffer_of(encode(head)));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await (*file)->sync();
  if (!synced) co_return base::fail(std::move(synced.error()));
  co_return true;
}

// Removes a segment that nobody needs. As long as its file may be found again, after a refusal or a
// power cut, the segment exists for everyone: a tombstone elsewhere may still have to outweigh what
// it holds. Its own may be forgotten before, since they lie beside what they outweigh.
Task<Result<bool>> Committer::drop(DropCommand* command) {
  if (state_->recovering()) co_return base::fail(recovering_error());
  const SegmentPtr segment = state_->segment(command->segment);
  if (segment == nullptr || segment->set_aside || (file_ && segment_ == command->segment)) {
    co_return base::fail(Code::PreconditionFailed, "the segment is in use");
  }
  const IndexPtr index = state_->index();
  Draft forgotten(index.get(), &state_->ledger());
  for (const DropCommand::Tombstone& tombstone : command->tombstones) {
    auto done = co_await forgotten.forget(&tombstone.record, tombstone.place);
    if (!done) co_return base::fail(std::move(done.error()));
  }
  if (forgotten.live_bytes(command->segment) != 0) {
    co_return base::fail(Code::PreconditionFailed, "the segment still holds what counts");
  }
  auto done = co_await remove_void_bytes(segment);
  if (done) done = co_await write_index(&forgotten);
  if (done) done = co_await flush_index();
  if (done) done = co_await unlink(command->segment);
  if (!done) co_return base::fail(std::move(done.error()));
  Draft dropped(index.get(), &state_->ledger());
  dropped.drop_segment(command->segment);
  done = co_await write_index(&dropped);
  if (!done) co_return base::fail(std::move(done.error()));
  state_->remove_segment(command->segment);
  co_return true;
}

// The segment's name is gone for good. It may have been gone before: then a sync had failed.
Task<Result<void>> Committer::unlink(std::uint64_t segment) {
  platform::Disk& disk = state_->host().disk;
  auto removed = co_await disk.remove(state_->segment_path(segment));
  if (!removed && removed.error().code != Code::NotFound) co_return removed;
  auto synced = co_await disk.sync_directory(state_->segments_path());
  co_return synced;
}

// The segment's head says where the one before it ends. Before that knowledge goes, what lies
// beyond has to.
Task<Result<void>> Committer::remove_void_bytes(SegmentPtr segment) {
  if (!segment->closes) co_return Result<void>();
  const LogPosition closes = *segment->closes;
  platform::Disk& disk = state_->host().disk;
  for (std::uint64_t n = closes.segment + 1; n < segment->number; ++n) {
    if (state_->segment(n) != nullptr) continue;
    auto removed = co_await unlink(n);
    if (!removed) co_return removed;
  }
  if (state_->segment(closes.segment) == nullptr) co_return Result<void>();
  auto file = co_await disk.open(state_->segment_path(closes.segment),
                                 {platform::OpenMode::WriteExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto size = co_await (*file)->size();
  if (!size) co_return base::fail(std::move(size.error()));
  // Also if it has been cut before: perhaps the sync of that failed, and another one of the same
  // would not bring it back.
  if (*size >= closes.offset) {
    auto cut = co_await (*file)->truncate(closes.offset);
    if (!cut) co_return cut;
  }
  auto synced = co_await (*file)->sync();
  co_return synced;
}

}  // namespace ron::volume
