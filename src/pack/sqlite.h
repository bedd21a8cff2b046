// Sqlite: a connection to a database that nobody vouches for, read-only.
//
// Every page comes from a Source, through a file system of SQLite's own kind (a VFS) that can do
// nothing else: no other file is opened, no journal is looked for, nothing is written. What the
// schema may do is narrowed to what a table of tiles needs: views may select from tables and use a
// few functions; there are no virtual tables, no generated columns, no recursion, no attached
// databases. Statements end when they have used up their steps or nobody wants them any more, and
// all connections of the process together have kHeapBytes.
//
// One thread at a time, and one that may block. The source outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/stop_token.h"
#include "pack/source.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ron::pack {

struct SqliteFiles;

class Sqlite {
 public:
  // What SQLite may allocate in the whole process.
  static constexpr std::int64_t kHeapBytes = 256LL << 20;
  // Of pages and of verified groups, for each connection.
  static constexpr int kCacheKib = 1024;
  static constexpr std::size_t kCachedGroups = 16;
  // What a connection takes at most while it is idle.
  static constexpr std::uint64_t kIdleBytes = 3ULL << 20;
  static constexpr std::size_t kMostTables = 256;

  // Malformed with the reason; no value may be longer than `value_bytes`.
  static base::Result<std::unique_ptr<Sqlite>> open(std::shared_ptr<Source> source,
                                                    std::uint64_t value_bytes);
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite();

  // Whether all connections together have taken half of what they may.
  static bool is_short_of_memory() noexcept;

  // What the statements that follow may take, counted in instructions of SQLite's machine.
  void allow(std::uint64_t steps, base::StopToken stop) noexcept;

  // Whether those steps are used up.
  [[nodiscard]] bool is_spent() const noexcept { return steps_left_ == 0; }

  [[nodiscard]] bool has(std::string_view table_or_view) const {
    return tables_.contains(table_or_view);
  }
  // The pages that the trees of tables and indexes begin at.
  [[nodiscard]] const std::vector<std::uint32_t>& roots() const noexcept { return roots_; }

  // One statement, which ends before the connection does.
  class Statement {
   public:
    Statement(Sqlite& connection, sqlite3_stmt* statement) noexcept
        : connection_(&connection), statement_(statement) {}
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    void bind(int parameter, std::int64_t value) noexcept;
    // Whether there is a row. IntegrityFail or StorageBusy of the source, Malformed when the
    // database is damaged or asks for too much, Canceled or Timeout when it was asked to stop, Busy
    // when memory is short.
    base::Result<bool> step();
    // From the beginning, with other values.
    void reset() noexcept;

    // Of the row; a view is valid until the next step.
    [[nodiscard]] std::int64_t number(int column) const noexcept;
    [[nodiscard]] base::ByteView bytes(int column) const noexcept;
    [[nodiscard]] std::string_view text(int column) const noexcept;
    [[nodiscard]] bool is_null(int column) const noexcept;

   private:
    Sqlite* connection_;
    sqlite3_stmt* statement_;
  };
  base::Result<Statement> prepare(std::string_view sql);

 private:
  static constexpr std::uint32_t kSchemaRoot = 1;

  Sqlite();
  base::Result<void> connect(std::shared_ptr<Source> source, std::uint64_t value_bytes);
  base::Result<void> read_schema();
  base::Result<void> check_columns();
  [[nodiscard]] base::Error why(int code) const;

  static int on_progress(void* self) noexcept;
  static int authorize(void* self, int action, const char* first, const char* second,
                       const char* database, const char* view) noexcept;

  std::unique_ptr<SqliteFiles> files_;  // outlives the connection
  sqlite3* db_ = nullptr;
  std::set<std::string, std::less<>> tables_;  // and views
  std::vector<std::uint32_t> roots_{kSchemaRoot};
  bool schema_is_read_ = false;
  std::uint64_t steps_left_ = 0;
  base::StopToken stop_;
};

}  // namespace ron::pack
