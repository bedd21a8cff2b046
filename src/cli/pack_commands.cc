#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/pack_files.h"

namespace ron::cli {
namespace {

void add_info(CLI::App& group, Action& chosen) {
  struct Flags {
    std::string file;
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      group.add_subcommand("info", "What a pack is and holds, once it was verified");
  command->add_option("file", flags->file, "A .pmtiles or .mbtiles file")
      ->type_name("FILE")
      ->required();
  command->add_flag("--json", flags->json, "As JSON, the pack's own metadata included");
  command->footer(
      "Reads all of the file: the hash it prints is the BLAKE3 of the whole. Of long metadata it\n"
      "prints the first KiB; --json has all.\n\n"
      "Examples:\n"
      "  ron pack info world.pmtiles\n"
      "  ron pack info world.mbtiles --json | jq .metadata.vector_layers");
  command->callback(
      [flags, &chosen] { chosen = [flags] { return pack_info(flags->file, flags->json); }; });
}

void add_verify(CLI::App& group, Action& chosen) {
  struct Flags {
    std::vector<std::string> files;
    bool quiet = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      group.add_subcommand("verify", "Whether packs keep the rules of their format");
  command->add_option("file", flags->files, "Files")->type_name("FILE")->required();
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  command->footer(
      "Checks what a server checks before it serves a pack: of PMTiles the header, every "
      "directory\n"
      "and every offset; of MBTiles the tables, the places of all tiles and the pages of the\n"
      "database. Prints the hash and the number of tiles, or the reason. Exit 0 if all are sound,\n"
      "1 if not.\n\n"
      "Example:\n"
      "  ron pack verify maps/*.pmtiles");
  command->callback(
      [flags, &chosen] { chosen = [flags] { return pack_verify(flags->files, flags->quiet); }; });
}

void add_tile(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<PackTiles>();
  CLI::App* command = group.add_subcommand("tile", "A tile of a pack, as it is stored");
  command->add_option("file", flags->file, "A .pmtiles or .mbtiles file")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("place", flags->places, "Zoom, column and row from the north; more with --hash")
      ->type_name("Z/X/Y")
      ->required();
  command
      ->add_option("-o,--out", flags->out, "Write it here; without it, or with -, standard output")
      ->type_name("FILE");
  command->add_flag("--decoded", flags->decoded, "Without the compression it is stored with");
  command->add_flag("--hash", flags->hash,
                    "Print address and length of each instead; - reads the places from lines");
  command->footer(
      "Without -o it goes to standard output, unless that is a terminal and the tile is binary;\n"
      "-o - writes it there all the same. At zoom Z columns and rows go from 0 to 2^Z - 1.\n\n"
      "Examples:\n"
      "  ron pack tile world.pmtiles 3/4/2 -o tile.mvt.gz\n"
      "  ron pack tile world.pmtiles 3/4/2 --decoded -o - | protoc --decode_raw\n"
      "  ron pack tile world.mbtiles --hash 0/0/0 1/0/0");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      if (flags->hash && !flags->out.empty()) {
        return bad_usage("pack tile: --hash prints lines; -o is for the bytes of one tile");
      }
      if (!flags->hash && (flags->places.size() > 1 || flags->places.front() == "-")) {
        return bad_usage("pack tile: name one tile, or ask for --hash of several");
      }
      for (const std::string& place : flags->places) {
        if (place == "-") continue;
        const auto is_place = check_tile_place(place);
        if (!is_place) return bad_usage("pack tile: " + is_place.error().message);
      }
      return pack_tiles(*flags);
    };
  });
}

void add_convert(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<PackConversion>();
  CLI::App* command = group.add_subcommand("convert", "Make PMTiles of MBTiles");
  command->add_option("in", flags->from, "The MBTiles file")->type_name("IN.mbtiles")->required();
  command->add_option("out", flags->to, "The PMTiles file to write")
      ->type_name("OUT.pmtiles")
      ->required();
  command->add_flag("--force", flags->force, "Replace OUT if it is there");
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  command->footer(
      "The tiles stay as they are; they are put into the order of the map and each different one\n"
      "is stored once. OUT appears when it is whole and on the disk.\n\n"
      "Example:\n"
      "  ogr2ogr -f MBTILES world.mbtiles world.geojson\n"
      "  ron pack convert world.mbtiles world.pmtiles");
  command->callback([flags, &chosen] { chosen = [flags] { return pack_convert(*flags); }; });
}

}  // namespace

void add_pack_commands(CLI::App& root, Action& chosen) {
  CLI::App* group = root.add_subcommand("pack", "Packs of map tiles: as files, and on a server");
  group->require_subcommand(1);
  group->footer(
      "A pack is a file with the tiles of a map: PMTiles (version 3) or MBTiles.\n"
      "Start with: ron pack info FILE\n"
      "Show it in the browser: ron pack add FILE");
  add_pack_mount_commands(*group, chosen);
  add_convert(*group, chosen);
  add_info(*group, chosen);
  add_tile(*group, chosen);
  add_verify(*group, chosen);
}

}  // namespace ron::cli
