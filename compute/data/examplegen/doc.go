// Package examplegen turns tables into Examples as TFX's ExampleGen does. Start with Convert.
//
// A CSV file becomes what CsvExampleGen makes of it, record for record. The first row holds the
// names of the columns. The type of a column is decided by all of its cells: INT where each is an
// integer of 64 bits, else FLOAT where each is a number, which becomes a 32-bit float, else BYTES.
// Cells are read as Python reads them: space around a number and underscores between digits are
// allowed, nan and inf are numbers, and an integer beyond 64 bits is BYTES. An empty cell becomes
// an empty list of the column's type, and a column of empty cells a feature without a type. Empty
// lines are passed over.
//
// A record goes to a split by hash: SHA-256 of the serialized tf.Example, as an integer, modulo the
// number of all buckets. Without other Options two of three buckets are train and one is eval. The
// same row is always in the same split.
//
// A Parquet file becomes what TFX's ParquetExampleGen makes of it, record for record, but for
// values that Python takes for false (0, "" and False), which are missing values there and values
// here. Null is a missing value, a feature without a type. Beyond ParquetExampleGen, which raises
// an exception:
//
//   - DECIMAL without a scale is INT, any other one FLOAT.
//   - TIMESTAMP, and INT96 of Spark and Impala, is INT: microseconds since 1970, in UTC or local as
//     the file has it. TIME is INT: microseconds since midnight. Both are rounded down. DATE is
//     INT: days since 1970.
//   - Strings and bytes need not be UTF-8.
//
// A list of primitives is a feature of as many values; an empty one is a missing value, and one
// with a null in it is refused. Structs, maps, other lists, UUIDs, run-length encoded booleans, and
// integers beyond 64 bits are refused by name. So is a file that has more than 100 rows a byte, or
// columns nested deeper than 20 levels. A damaged one may cost any memory: see Unbounded.
//
// What a file is allowed to hold is bounded: 10,000 columns, 16 MiB a row, 2^31 rows, and 1 GiB of
// Examples or a thousand times its size. Rows are streamed; a CSV file is read twice.
package examplegen
