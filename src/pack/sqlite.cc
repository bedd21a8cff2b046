#include "pack/sqlite.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "pack/sqlite_files.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

// Instructions between two looks at the budget: some microseconds.
constexpr int kLookEvery = 500;
// For reading the schema, whatever it is.
constexpr std::uint64_t kSchemaSteps = 10'000'000;

// What views of tiles use, and our own statements. Each is done in time proportional to its
// arguments, which cannot be said of instr() or like().
constexpr std::array<std::string_view, 11> kFunctions = {
    "abs", "coalesce", "count", "ifnull", "iif", "length", "max", "min", "nullif", "sum", "typeof"};

struct Limit {
  int id;
  int value;
};
constexpr std::array<Limit, 9> kLimits = {{{SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                           {SQLITE_LIMIT_EXPR_DEPTH, 64},
                                           {SQLITE_LIMIT_COMPOUND_SELECT, 8},
                                           {SQLITE_LIMIT_VDBE_OP, 25'000},
                                           {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                           {SQLITE_LIMIT_ATTACHED, 0},
                                           {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
                                           {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                           {SQLITE_LIMIT_WORKER_THREADS, 0}}};

struct Switch {
  int id;
  int on;
};
constexpr std::array<Switch, 7> kSwitches = {{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                              {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                              {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                              {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                              {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                                              {SQLITE_DBCONFIG_DQS_DDL, 0},
                                              {SQLITE_DBCONFIG_DQS_DML, 0}}};

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

}  // namespace

Sqlite::Sqlite() = default;

Sqlite::~Sqlite() { sqlite3_close(db_); }

Result<std::unique_ptr<Sqlite>> Sqlite::open(std::shared_ptr<Source> source,
                                             std::uint64_t value_bytes) {
  std::unique_ptr<Sqlite> made(new Sqlite());
  auto connected = made->connect(std::move(source), value_bytes);
  if (!connected) return base::fail(std::move(connected.error()));
  made->allow(kSchemaSteps, {});
  auto read = made->read_schema();
  if (read) read = made->check_columns();
  if (!read) return base::fail(std::move(read.error()));
  made->schema_is_read_ = true;
  return made;
}

Result<void> Sqlite::connect(std::shared_ptr<Source> source, std::uint64_t value_bytes) {
  sqlite3_hard_heap_limit64(kHeapBytes);
  files_ = std::make_unique<SqliteFiles>(std::move(source));
  if (sqlite3_vfs_register(&files_->vfs, 0) != SQLITE_OK) {
    return base::fail(Code::Busy, "no memory to open a database");
  }
  const int opened = sqlite3_open_v2(
      "pack", &db_, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
      files_->name.c_str());
  // The connection keeps what it needs; nobody else is to find it.
  sqlite3_vfs_unregister(&files_->vfs);
  if (opened != SQLITE_OK) return base::fail(why(opened));
  sqlite3_extended_result_codes(db_, 1);
  for (const auto& [id, value] : kLimits) sqlite3_limit(db_, id, value);
  constexpr std::uint64_t kLongest = std::numeric_limits<int>::max();
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, static_cast<int>(std::min(value_bytes, kLongest)));
  for (const auto& [id, on] : kSwitches) sqlite3_db_config(db_, id, on, nullptr);
  sqlite3_progress_handler(db_, kLookEvery, &Sqlite::on_progress, this);
  allow(kSchemaSteps, {});
  const std::string settings =
      "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; "
      "PRAGMA ignore_check_constraints=ON; PRAGMA query_only=ON; PRAGMA cache_size=-" +
      std::to_string(kCacheKib);
  const int set = sqlite3_exec(db_, settings.c_str(), nullptr, nullptr, nullptr);
  if (set != SQLITE_OK) return base::fail(why(set));
  sqlite3_set_authorizer(db_, &Sqlite::authorize, this);
  return {};
}

// Which tables and views there are; none may be virtual, since those run code of their own.
Result<void> Sqlite::read_schema() {
  auto rows = prepare("SELECT type, name, rootpage FROM sqlite_schema");
  if (!rows) return base::fail(std::move(rows.error()));
  for (;;) {
    const auto row = rows->step();
    if (!row) return base::fail(row.error());
    if (!*row) return {};
    // Whatever the row says it is, since SQLite looks at the number alone.
    const std::int64_t root = rows->number(2);
    if (root != 0) roots_.push_back(static_cast<std::uint32_t>(root));
    const std::string_view type = rows->text(0);
    if (type != "table" && type != "view") continue;
    if (type == "table" && root == 0) {
      return malformed("the database has a virtual table, " + std::string(rows->text(1)));
    }
    if (tables_.size() == kMostTables) return malformed("the database has too many tables");
    tables_.emplace(rows->text(1));
  }
}

// Generated columns compute what they please whenever they are read.
Result<void> Sqlite::check_columns() {
  constexpr int kHidden = 6;
  for (const std::string& table : tables_) {
    auto columns = prepare("PRAGMA table_xinfo(" + quoted(table) + ")");
    if (!columns) return base::fail(std::move(columns.error()));
    for (;;) {
      const auto row = columns->step();
      if (!row) return base::fail(row.error());
      if (!*row) break;
      if (columns->number(kHidden) == 0) continue;
      return malformed("table " + table + " has a generated column, " +
                       std::string(columns->text(1)));
    }
  }
  return {};
}

bool Sqlite::is_short_of_memory() noexcept { return sqlite3_memory_used() > kHeapBytes / 2; }

void Sqlite::allow(std::uint64_t steps, base::StopToken stop) noexcept {
  steps_left_ = steps;
  stop_ = std::move(stop);
}

int Sqlite::on_progress(void* self) noexcept {
  auto& connection = *static_cast<Sqlite*>(self);
  if (connection.stop_.requested()) return 1;
  if (connection.steps_left_ < kLookEvery) {
    connection.steps_left_ = 0;
    return 1;
  }
  connection.steps_left_ -= kLookEvery;
  return 0;
}

int Sqlite::authorize(void* self, int action, const char* first, const char* second, const char*,
                      const char*) noexcept {
  const auto& connection = *static_cast<const Sqlite*>(self);
  switch (action) {
    case SQLITE_SELECT:
      return SQLITE_OK;
    case SQLITE_READ: {
      // Tables that come with SQLite and are in no schema are not for views.
      const std::string_view table = first;
      const bool known = !connection.schema_is_read_ || connection.tables_.contains(table);
      return known || table.starts_with("sqlite_") ? SQLITE_OK : SQLITE_DENY;
    }
    case SQLITE_FUNCTION:
      return std::ranges::find(kFunctions, std::string_view(second)) != kFunctions.end()
                 ? SQLITE_OK
                 : SQLITE_DENY;
    case SQLITE_PRAGMA: {
      const std::string_view name = first;
      const bool ours =
          name == "quick_check" || (!connection.schema_is_read_ && name == "table_xinfo");
      return ours ? SQLITE_OK : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

base::Error Sqlite::why(int code) const {
  if (files_ && files_->failure) return *files_->failure;
  switch (code & 0xff) {
    case SQLITE_INTERRUPT:
      if (!is_spent()) return stop_.error();
      return {Code::Malformed, "the database makes us work too long"};
    case SQLITE_NOMEM:
      return {Code::Busy, "the database needs more memory than is allowed"};
    case SQLITE_TOOBIG:
      return {Code::Malformed, "a value of the database is longer than the limit"};
    case SQLITE_NOTADB:
      return {Code::Malformed, "it begins as SQLite and is no database"};
    default:
      break;
  }
  // What SQLite says names tables and columns of the file, and nothing else.
  const std::string said = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  return {Code::Malformed, "the database: " + said};
}

Result<Sqlite::Statement> Sqlite::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_NO_VTAB, &statement, nullptr);
  if (code != SQLITE_OK) return base::fail(why(code));
  return Statement(*this, statement);
}

Sqlite::Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}

Sqlite::Statement::~Statement() { sqlite3_finalize(statement_); }

void Sqlite::Statement::bind(int parameter, std::int64_t value) noexcept {
  sqlite3_bind_int64(statement_, parameter, value);
}

Result<bool> Sqlite::Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return base::fail(connection_->why(code));
}

void Sqlite::Statement::reset() noexcept { sqlite3_reset(statement_); }

std::int64_t Sqlite::Statement::number(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

base::ByteView Sqlite::Statement::bytes(int column) const noexcept {
  const void* const data = sqlite3_column_blob(statement_, column);
  const int bytes = sqlite3_column_bytes(statement_, column);
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
}

std::string_view Sqlite::Statement::text(int column) const noexcept {
  const auto* const data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Sqlite::Statement::is_null(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

}  // namespace ron::pack
