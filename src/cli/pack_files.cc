#include "cli/pack_files.h"

#include <charconv>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "b3/hash.h"
#include "base/json.h"
#include "cli/input_stream.h"
#include "cli/line_reader.h"
#include "cli/local_sinks.h"
#include "cli/pack_session.h"
#include "cli/terminal_text.h"
#include "config/value.h"
#include "pack/compression.h"
#include "pack/pack.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using pack::PackPtr;
using platform::Task;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

constexpr std::size_t kShownMetadataBytes = 1024;

std::string info_text(const pack::Info& info) {
  const auto line = [](std::string_view name, const std::string& value) {
    std::string out(name);
    out.resize(14, ' ');
    return out + value + "\n";
  };
  return line("format", std::string(pack::name(info.format))) + line("hash", info.hash.text()) +
         line("size", human_bytes(info.bytes)) + line("tiles", std::to_string(info.tiles)) +
         line("different", std::to_string(info.contents)) +
         line("type", std::string(pack::name(info.type))) +
         line("compression", std::string(pack::name(info.compression))) +
         line("zooms", std::to_string(info.min_zoom) + " to " + std::to_string(info.max_zoom)) +
         line("bounds", number(info.bounds.west) + "," + number(info.bounds.south) + "," +
                            number(info.bounds.east) + "," + number(info.bounds.north)) +
         line("center", number(info.center_lon) + "," + number(info.center_lat) + "," +
                            std::to_string(info.center_zoom)) +
         line("memory", human_bytes(info.memory_bytes) + " while it is served") +
         // Megabytes, perhaps, of whatever the file's author liked.
         line("metadata", for_terminal(info.metadata, kShownMetadataBytes));
}

std::string info_json(const pack::Info& info) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.key("format").value(pack::name(info.format));
  json.key("hash").value(info.hash.text());
  json.key("bytes").value(info.bytes);
  json.key("tiles").value(info.tiles);
  json.key("contents").value(info.contents);
  json.key("type").value(pack::name(info.type));
  json.key("compression").value(pack::name(info.compression));
  json.key("minzoom").value(std::uint64_t{info.min_zoom});
  json.key("maxzoom").value(std::uint64_t{info.max_zoom});
  json.key("bounds").begin_array();
  for (const double value :
       {info.bounds.west, info.bounds.south, info.bounds.east, info.bounds.north}) {
    json.value(value);
  }
  json.end_array();
  json.key("center").begin_array();
  json.value(info.center_lon).value(info.center_lat).value(std::uint64_t{info.center_zoom});
  json.end_array();
  json.key("memory_bytes").value(info.memory_bytes);
  json.end_object();
  // The metadata is JSON already, and was checked to be.
  out.pop_back();
  return out + ",\"metadata\":" + info.metadata + "}\n";
}

Task<int> show_info(Session* session, const std::string* file, bool json) {
  auto pack = co_await open_pack(session, *file);
  if (!pack) {
    session->complain("", pack.error());
    co_return session->exit_code();
  }
  session->print(json ? info_json((*pack)->info()) : info_text((*pack)->info()));
  co_return session->exit_code();
}

Task<int> verify_all(Session* session, const std::vector<std::string>* files) {
  for (const std::string& file : *files) {
    if (&file == &files->back()) session->progress().expect_all();
    auto pack = co_await open_pack(session, file);
    if (!pack) {
      session->complain("", pack.error());
      continue;
    }
    const pack::Info& info = (*pack)->info();
    session->print(file + ": sound, " + info.hash.text() + ", " + std::to_string(info.tiles) +
                   " tiles, " + std::to_string(info.contents) + " different\n");
  }
  co_return session->exit_code();
}

std::optional<pack::Zxy> parse_numbers(std::string_view text) noexcept {
  pack::Zxy at;
  const char* from = text.data();
  const char* const end = text.data() + text.size();
  unsigned zoom = 0;
  std::uint32_t* const numbers[] = {&zoom, &at.x, &at.y};
  for (std::uint32_t* into : numbers) {
    const auto [rest, error] = std::from_chars(from, end, *into);
    const bool last = into == numbers[2];
    if (error != std::errc() || (last ? rest != end : rest == end || *rest != '/')) {
      return std::nullopt;
    }
    from = rest + 1;
  }
  if (zoom > 31) return std::nullopt;
  at.z = static_cast<std::uint8_t>(zoom);
  return at;
}

// Z/X/Y.
Result<pack::Zxy> parse_place(std::string_view text) {
  const std::string shown = "'" + config::printable(text) + "'";
  const auto at = parse_numbers(text);
  if (!at) return base::fail(Code::Malformed, shown + " is not Z/X/Y");
  const std::uint32_t last = (std::uint32_t{1} << at->z) - 1;
  if (at->x <= last && at->y <= last) return *at;
  return base::fail(Code::Malformed, shown + " is no place: at zoom " + std::to_string(at->z) +
                                         " columns and rows go from 0 to " + std::to_string(last));
}

// What somebody wants to see of a tile that is stored compressed.
Result<base::Buffer> decoded(pack::Tile tile) {
  if (tile.compression == pack::Compression::None) return std::move(tile.bytes);
  const auto plain = pack::decompress(tile.bytes.view(), tile.compression,
                                      pack::Limits().directory_bytes, "the tile");
  if (!plain) return base::fail(plain.error());
  base::Buffer out(plain->size());
  std::ranges::copy(base::as_bytes(*plain), out.span().begin());
  return out;
}

// The tile's bytes as they are asked for; NotFound when there is no such tile.
Task<Result<base::Buffer>> tile_bytes(PackPtr pack, std::string place, bool plain) {
  const auto at = parse_place(place);
  if (!at) co_return base::fail(at.error());
  auto tile = co_await pack->tile(*at, {});
  if (!tile) co_return base::fail(std::move(tile.error()));
  if (!*tile) co_return base::fail(Code::NotFound, "there is no tile " + place);
  if (!plain) co_return std::move((*tile)->bytes);
  co_return decoded(std::move(**tile));
}

// `4/3/7 b3:… 1234`, or `4/3/7 none`.
Task<Result<std::string>> hash_line(PackPtr pack, std::string place, bool plain) {
  auto bytes = co_await tile_bytes(std::move(pack), place, plain);
  if (!bytes && bytes.error().code == Code::NotFound) co_return place + " none\n";
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  co_return place + " " + b3::hash(bytes->view()).text() + " " + std::to_string(bytes->size()) +
      "\n";
}

Task<Result<void>> print_hashes(Session* session, PackPtr pack, const PackTiles* what) {
  for (const std::string& word : what->places) {
    if (word != "-") {
      const auto line = co_await hash_line(pack, word, what->decoded);
      if (!line) co_return base::fail(line.error());
      if (!session->print(*line)) co_return Result<void>();
      continue;
    }
    InputStream input(*session, "-");
    const auto opened = co_await input.open();
    if (!opened) co_return opened;
    LineReader lines([&input](base::Buffer into) { return input.read(std::move(into)); });
    for (;;) {
      const auto place = co_await lines.next();
      if (!place) co_return base::fail(place.error());
      if (!*place) break;
      const auto line = co_await hash_line(pack, **place, what->decoded);
      if (!line) co_return base::fail(line.error());
      if (!session->print(*line)) co_return Result<void>();
    }
  }
  co_return Result<void>();
}

Task<Result<void>> fill_file(FileSink* sink, base::Buffer bytes, unsigned mode) {
  const std::uint64_t length = bytes.size();
  auto done = co_await sink->clear();
  if (!done) co_return done;
  const auto taken = co_await sink->take(0, std::move(bytes));
  if (!taken) co_return base::fail(taken.error());
  done = co_await sink->finish(length, false);
  if (!done) co_return done;
  done = co_await sink->publish(mode, false);
  co_return done;
}

Task<Result<void>> write_tile(Session* session, PackPtr pack, const PackTiles* what,
                              unsigned mode) {
  auto bytes = co_await tile_bytes(std::move(pack), what->places.front(), what->decoded);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  if (what->out.empty() || what->out == "-") {
    StreamSink sink(*session, what->out.empty() && platform::posix::output_is_terminal());
    const auto taken = co_await sink.take(0, std::move(*bytes));
    if (!taken) co_return base::fail(taken.error());
    co_return Result<void>();
  }
  FileSink sink(*session, what->out, b3::hash(bytes->view()));
  auto done = co_await sink.open(std::nullopt, false);
  if (!done) co_return done;
  done = co_await fill_file(&sink, std::move(*bytes), mode);
  if (!done) co_await sink.abandon(base::Error());
  co_return done;
}

Task<int> show_tiles(Session* session, const PackTiles* what, unsigned mode) {
  auto pack = co_await open_pack(session, what->file);
  if (!pack) {
    session->complain("", pack.error());
    co_return session->exit_code();
  }
  Result<void> done;
  if (what->hash) {
    done = co_await print_hashes(session, *pack, what);
  } else {
    done = co_await write_tile(session, *pack, what, mode);
  }
  if (!done) session->complain(what->file, done.error());
  co_return session->exit_code();
}

}  // namespace

Result<void> check_tile_place(std::string_view text) {
  const auto place = parse_place(text);
  if (!place) return base::fail(place.error());
  return {};
}

int pack_info(const std::string& file, bool json) {
  return run_without_server("pack info", true,
                            [&](Session& session) { return show_info(&session, &file, json); });
}

int pack_verify(const std::vector<std::string>& files, bool quiet) {
  return run_without_server("pack verify", quiet,
                            [&](Session& session) { return verify_all(&session, &files); });
}

int pack_tiles(const PackTiles& what) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_without_server("pack tile", true,
                            [&](Session& session) { return show_tiles(&session, &what, mode); });
}

}  // namespace ron::cli
