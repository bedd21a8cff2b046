// Reader: finds objects and hands out verified bytes of them. Trusts neither the medium nor the
// index: group values are composed to the address first, then each group is hashed, or compared
// with one that was.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "volume/commands.h"
#include "volume/part_tables.h"
#include "volume/proven_cells.h"
#include "volume/state.h"
#include "volume/volume.h"

namespace ron::volume {

// Any executor. The state and the channel outlive it.
class Reader {
 public:
  Reader(VolumeState* state, runtime::Mpsc<Command>* commands, const runtime::LockDecl& lock_decl)
      : state_(state),
        commands_(commands),
        tables_(state->options().part_table_bytes, lock_decl),
        proven_(state->host().random,
                ProvenCells::worthwhile() ? state->options().fingerprint_bytes : 0) {}

  // As in Volume. Cancel-safe.
  platform::Task<base::Result<ObjectHandle>> locate(base::ObjectId id);
  platform::Task<base::Result<Piece>> read(ObjectHandle object, std::uint64_t offset,
                                           std::uint64_t length);
  platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant);
  platform::Task<base::Result<Holders>> holders(base::ObjectId id, std::size_t most);
  platform::Task<base::Result<UploadState>> find_upload(UploadId id);
  platform::Task<base::Result<std::vector<Volume::Listed>>> list(
      std::optional<base::ObjectId> after, std::size_t limit);

  // Tells the owner, and the writer, that the object is damaged. Any executor.
  void report_corrupt(const base::ObjectId& id, std::uint64_t group, const Place& place);
  // The same, for a record that was found damaged: for the object it is or is a part of, if any.
  // How many objects were reported. Cancel-safe.
  platform::Task<base::Result<std::uint64_t>> report_record(const Record* record, Place place,
                                                            std::uint64_t group);
  void forget_segment(std::uint64_t segment) { tables_.forget_segment(segment); }

 private:
  struct HandleState;
  // Bytes of a record's payload, and what they must hash to.
  struct Extent {
    SegmentPtr segment;
    std::uint64_t offset = 0;
    std::uint32_t head_bytes = 0;
    std::uint32_t payload_bytes = 0;
    std::uint64_t first_group = 0;
    RecordKind kind = RecordKind::Object;
    b3::ChainingValue value;  // parts
  };

  platform::Task<base::Result<std::optional<std::string>>> lookup(std::string key);
  platform::Task<base::Result<std::optional<ObjectEntry>>> entry(base::ObjectId id);
  platform::Task<base::Result<std::optional<ObjectHandle>>> place(base::ObjectId id,
                                                                  ObjectEntry entry);
  // Nothing: a part is not where the index says, perhaps because it has just moved.
  platform::Task<base::Result<PartTablePtr>> part_table(base::ObjectId id, ObjectEntry entry);
  static CellName cell_name(const HandleState& object, const Extent& extent, std::uint64_t cell);
  // Whether all of it is remembered. Says nothing of what is on the medium now.
  [[nodiscard]] bool was_hashed(const HandleState& object, const Extent& extent,
                                std::uint64_t offset, std::uint64_t length) const;
  // Bytes of the extent that were hashed before and are still the same; nothing if they are not.
  platform::Task<base::Result<std::optional<Piece>>> read_again(const HandleState* object,
                                                                const Extent* extent,
                                                                std::uint64_t offset,
                                                                std::uint64_t length);
  // Hashes all of the groups concerned.
  platform::Task<base::Result<Piece>> read_hashed(const HandleState* object, const Extent* extent,
                                                  std::uint64_t offset, std::uint64_t length);
  // Remembers what was hashed: whole groups of the extent, from byte `offset` on.
  void add_proven(const HandleState& object, const Extent& extent, std::uint64_t offset,
                  base::ByteView groups);

  VolumeState* state_;
  runtime::Mpsc<Command>* commands_;
  PartTables tables_;
  ProvenCells proven_;
};

}  // namespace ron::volume
