// Arbitrary bytes as the heads of a segment and of a frame, as the file LOG and a segment's name:
// whatever is accepted encodes to the same bytes again. The same bytes as the only segment of a
// log: inspecting it ends, and says of every number whether its frame is there.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "chain/frame_log.h"
#include "volume/files.h"
#include "volume/test_support.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_frame(base::ByteView bytes) {
  const chain::FrameSpot spot{{}, 0, chain::kSegmentHeadBytes};
  const auto head = chain::parse_frame_head(bytes, spot);
  if (!head) return;
  require(head->bytes <= chain::kMaxFrameBytes && head->durable_before <= spot.offset);
  if (bytes.size() < head->stored_bytes()) return;
  const base::ByteView stored = bytes.first(static_cast<std::size_t>(head->stored_bytes()));
  if (!chain::frame_checks(*head, stored)) return;
  const std::vector<std::string> frames = {
      std::string(base::as_text(chain::frame_bytes(*head, stored)))};
  std::vector<std::uint32_t> offsets(1);
  const base::Buffer again = chain::encode_frames(frames, head->number, spot, offsets);
  const auto head_again = chain::parse_frame_head(again.view(), spot);
  require(head_again && head_again->hash == head->hash && head_again->number == head->number);
}

platform::Task<void> make_folders(platform::Disk* disk) {
  auto made = co_await volume::make_directories(disk, "/log", std::string(chain::kSegmentsName));
  require(made.has_value());
}

platform::Task<void> put_file(platform::Disk* disk, std::string path, base::Buffer bytes) {
  auto file = co_await disk->open(path, {platform::OpenMode::CreateNew, false});
  auto written = co_await (*file)->write_at(0, std::move(bytes));
  require(written.has_value());
}

platform::Task<void> inspect(platform::Disk* disk) {
  std::uint64_t visited = 0;
  std::uint64_t lost = 0;
  auto result = co_await chain::FrameLog::inspect(
      disk, "/log",
      [&](const chain::FrameView& frame) -> base::Result<void> {
        require(frame.number >= visited);
        ++visited;
        return {};
      },
      [&](const chain::FrameDamage& damage) { lost += damage.frames; });
  require(result.has_value());
  require(result->frames == visited && result->next <= visited + lost);
}

void check_log(base::ByteView bytes) {
  volume::Machine machine(1);
  platform::Disk& disk = machine.node.disk();
  machine.run(make_folders(&disk));
  const std::string identity = chain::encode(chain::LogIdentity{});
  machine.run(put_file(&disk, "/log/LOG", volume::buffer_of(base::as_bytes(identity))));
  machine.run(put_file(&disk, "/log/segments/" + chain::segment_name(0), volume::buffer_of(bytes)));
  machine.run(inspect(&disk));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes = std::as_bytes(std::span(data, size));
  check_frame(bytes);
  if (const auto head = chain::parse_segment_head(bytes)) {
    require(chain::encode(*head) == base::as_text(bytes.first(chain::kSegmentHeadBytes)));
  }
  if (const auto identity = chain::parse_log_identity(base::as_text(bytes))) {
    require(chain::encode(*identity) == base::as_text(bytes));
  }
  if (const auto number = chain::parse_segment_name(base::as_text(bytes))) {
    require(chain::segment_name(*number) == base::as_text(bytes));
  }
  check_log(bytes);
  return 0;
}
