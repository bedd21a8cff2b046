// WebFiles: the pages and scripts of the map preview, which the build puts into the program
// (tools/bundle-web).
//
// A bundle begins with lines: `ron-web 1`, then one for each file, then an empty one.
//
//   NAME MEDIA-TYPE TAG LENGTH GZIP-LENGTH BROTLI-LENGTH
//
// The bytes follow in the same order: each file as it is, in gzip and in br, of which the last two
// may have none.
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace ron::edge {

struct WebFile {
  std::string_view name;
  std::string_view media_type;
  std::string_view tag;  // changes with its bytes
  base::ByteView plain;
  base::ByteView gzip;    // empty: there is none
  base::ByteView brotli;  // empty: there is none
};

// Views into the bundle, which outlives them. Immutable.
class WebFiles {
 public:
  // Of a build without the preview.
  WebFiles() = default;

  // Malformed when it is no bundle.
  static base::Result<WebFiles> parse(base::ByteView bundle);
  // What the build put into this program; nothing if it was told not to.
  static const WebFiles& built_in();

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  // nullptr: there is no such file.
  [[nodiscard]] const WebFile* find(std::string_view name) const noexcept;

 private:
  std::vector<WebFile> files_;
};

}  // namespace ron::edge
