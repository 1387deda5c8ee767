// Package examplegen converts tables to Examples as TFX's ExampleGen does. Start with Convert.
//
// A CSV file is converted as by CsvExampleGen, record for record. The first row has the names of
// the columns. All cells of a column determine its type: INT if each is an integer of 64 bits, else
// FLOAT if each is a number, which becomes a 32-bit float, else BYTES. Cells are read as Python
// reads them: space around a number and underscores between digits are allowed, nan and inf are
// numbers, and an integer beyond 64 bits is BYTES. An empty cell becomes an empty list of the
// column's type, and a column of empty cells a feature without a type. Empty lines are skipped.
//
// A record goes to a split by hash: SHA-256 of the serialized tf.Example, as an integer, modulo the
// number of all buckets. Without other Options two of three buckets are train and one is eval. The
// same row is always in the same split.
//
// A Parquet file is converted as by TFX's ParquetExampleGen, record for record, except for values
// that are false in Python (0, "" and False), which are missing values there and values here. Null
// is a missing value, a feature without a type. Types for which ParquetExampleGen raises an
// exception:
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
// columns nested deeper than 20 levels. A damaged file may need any amount of memory: see
// Unbounded.
//
// The limits of a file are 10,000 columns, 16 MiB a row, 2^31 rows, and 1 GiB of Examples or a
// thousand times its size. Rows are streamed; a CSV file is read twice.
package examplegen
