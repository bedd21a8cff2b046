#include "pack/metadata.h"

#include <nlohmann/json.hpp>

namespace ron::pack {
namespace {

using Json = nlohmann::json;

// Reads without keeping anything; false ends it.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return !at_top(); }
  bool boolean(bool) override { return !at_top(); }
  bool number_integer(number_integer_t) override { return !at_top(); }
  bool number_unsigned(number_unsigned_t) override { return !at_top(); }
  bool number_float(number_float_t, const string_t&) override { return !at_top(); }
  bool string(string_t&) override { return !at_top(); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMetadataDepth; }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return !at_top() && ++depth_ <= kMetadataDepth; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  [[nodiscard]] bool at_top() const noexcept { return depth_ == 0; }

  std::size_t depth_ = 0;
};

}  // namespace

bool is_json_object(std::string_view text) {
  Checker checker;
  return Json::sax_parse(text.begin(), text.end(), &checker);
}

}  // namespace ron::pack
